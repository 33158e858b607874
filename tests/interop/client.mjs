// Node's clients, fetch and http, against the two examples; see `run`.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import zlib from "node:zlib";

const { ECHO_URL, STREAM_URL, WORK } = process.env;
const large = readFileSync(join(WORK, "10mb"));
const numbers = (upto) => Array.from({ length: upto }, (_, n) => `${n + 1}\n`).join("");
const inTime = () => ({ signal: AbortSignal.timeout(60_000) });

// One request by node:http; answers the response and its body.
function ask(url, options = {}, body = undefined) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { ...inTime(), ...options }, (response) => {
      const pieces = [];
      response.on("data", (piece) => pieces.push(piece));
      response.on("end", () => resolve({ response, body: Buffer.concat(pieces), request }));
      response.on("error", reject);
    });
    request.on("error", reject);
    if (body instanceof Readable) body.pipe(request);
    else request.end(body);
  });
}

const checks = {
  async get() {
    assert.equal(await (await fetch(`${ECHO_URL}/`, inTime())).text(), "OK");
  },
  async head() {
    const answer = await fetch(`${ECHO_URL}/`, { method: "HEAD", ...inTime() });
    assert.equal(answer.headers.get("content-length"), "2");
    assert.equal(await answer.text(), "");
  },
  async post() {
    const answer = await fetch(`${ECHO_URL}/`, { method: "POST", body: large, ...inTime() });
    assert.ok(Buffer.from(await answer.arrayBuffer()).equals(large));
  },
  async "post-chunked"() {
    const pieces = Array.from({ length: 100 }, () => "a line\n".repeat(1000));
    const { body } = await ask(`${STREAM_URL}/count`, { method: "PUT" }, Readable.from(pieces));
    assert.equal(body.toString(), "700000 bytes, 100000 lines\n");
  },
  async "post-expect"() {
    const options = { method: "POST", headers: { Expect: "100-continue", "Content-Length": 5 } };
    const body = await new Promise((resolve, reject) => {
      const request = http.request(`${ECHO_URL}/`, { ...options, ...inTime() });
      request.on("continue", () => request.end("hello"));
      request.on("response", (response) => response.on("data", (piece) => resolve(`${piece}`)));
      request.on("error", reject);
      request.flushHeaders();
    });
    assert.equal(body, "hello");
  },
  async "keep-alive"() {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set();
    for (const text of ["one", "two", "three"]) {
      const { body, request } = await ask(`${ECHO_URL}/`, { method: "POST", agent }, text);
      assert.equal(body.toString(), text);
      ports.add(request.socket.localPort);
    }
    agent.destroy();
    assert.equal(ports.size, 1);
  },
  async "decode-fetch"() {
    const answer = await fetch(`${STREAM_URL}/numbers?upto=50000`, inTime());
    assert.ok(["gzip", "br"].includes(answer.headers.get("content-encoding")));
    assert.equal(await answer.text(), numbers(50000));
  },
  async "decode-br"() {
    const headers = { "Accept-Encoding": "br" };
    const { response, body } = await ask(`${STREAM_URL}/numbers?upto=50000`, { headers });
    assert.equal(response.headers["content-encoding"], "br");
    assert.equal(zlib.brotliDecompressSync(body).toString(), numbers(50000));
  },
  async events() {
    const answer = await fetch(`${STREAM_URL}/clock`, inTime());
    assert.equal(answer.headers.get("content-type"), "text/event-stream");
    const reader = answer.body.getReader();
    const { value } = await reader.read();
    assert.match(Buffer.from(value).toString(), /^event: tick\n/);
    await reader.cancel();
  },
  async "early-close"() {
    for (let round = 0; round < 3; round += 1) {
      const stop = new AbortController();
      const answer = await fetch(`${STREAM_URL}/numbers?upto=1000000000`, { signal: stop.signal });
      await answer.body.getReader().read();
      stop.abort();
    }
    const answer = await fetch(`${STREAM_URL}/numbers?upto=3`, inTime());
    assert.equal(await answer.text(), numbers(3));
  },
  async "many-at-once"() {
    const all = Array.from({ length: 200 }, (_, n) =>
      fetch(`${ECHO_URL}/`, { method: "POST", body: `${n}`, ...inTime() }).then((a) => a.text()));
    assert.deepEqual(await Promise.all(all), Array.from({ length: 200 }, (_, n) => `${n}`));
  },
  async "not-found"() {
    assert.equal((await fetch(`${STREAM_URL}/nowhere`, inTime())).status, 404);
  },
};

for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${String(error).replaceAll("\n", " ").slice(0, 300)}`);
  }
}
process.exit(0);
