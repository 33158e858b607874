// The peer in Node: the http module as its documentation shows it. Usage: node server.js ADDRESS
// RECORD.json.
"use strict";
const http = require("node:http");
const fs = require("node:fs");

const [address, recordFile] = process.argv.slice(2);
const [host, port] = address.split(":");
const record = JSON.parse(fs.readFileSync(recordFile, "utf8"));
let count = 0;

function answer(response, type, body) {
  response.setHeader("Content-Type", type);
  response.end(body);
}

const text = (response, body) => answer(response, "text/plain; charset=utf-8", body);

http
  .createServer((request, response) => {
    const [path, query] = request.url.split("?");
    switch (path) {
      case "/":
        return text(response, "Hello, World!");
      case "/json":
        return answer(response, "application/json", JSON.stringify(record));
      case "/slow": {
        const ms = Number(new URLSearchParams(query).get("ms"));
        return setTimeout(() => text(response, "slow"), ms);
      }
      case "/mixed":
        count += 1;
        if (count % 20 === 0) return setTimeout(() => text(response, "slow"), 20);
        return text(response, "fast");
      default:
        response.statusCode = 404;
        return response.end();
    }
  })
  .listen({ host, port: Number(port), backlog: 1024 });
