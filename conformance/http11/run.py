#!/usr/bin/env python3
"""Starts a server, probes it, and fails unless no case fails.

    python3 run.py PROGRAM [ARGUMENT OF probe.py]...

PROGRAM is started with `--bind 127.0.0.1:0` and has to print the URL it listens on. It gets a
memory limit: some cases announce bodies of huge size, and a server that believed them would
otherwise take the whole machine's memory.
"""
import json
import os
import queue
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
START_LIMIT = 30            # seconds until the server has to have printed its URL
PROBE_LIMIT = 300           # seconds for all cases; they take about 40
MEMORY_LIMIT = 4 << 30      # bytes of address space, not of memory in use
URL = re.compile(r"http://([0-9.]+):([0-9]+)")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def start(program):
    """The running server and what it prints, line by line; None at the end."""
    server = subprocess.Popen(
        [program, "--bind", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", preexec_fn=limit_memory)
    lines = queue.Queue()

    def read():
        for line in server.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return server, lines


def address(lines):
    """Host and port of the first URL that the server prints."""
    end = time.monotonic() + START_LIMIT
    seen = []
    while True:
        try:
            line = lines.get(timeout=max(0, end - time.monotonic()))
        except queue.Empty:
            line = None
        if line is None:
            sys.exit("conformance: the server printed no URL, only:\n" + "".join(seen))
        found = URL.search(line)
        if found:
            return found.group(1), found.group(2)
        seen.append(line)


def probe(host, port, arguments):
    """The probe's summary, None when it could not do its work."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "probe.py"), host, port, "--json", report,
             *arguments], timeout=PROBE_LIMIT, check=False)
        if done.returncode != 0 or not os.path.exists(report):
            return None
        with open(report, encoding="utf-8") as file:
            return json.load(file)["summary"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    server, lines = start(sys.argv[1])
    try:
        summary = probe(*address(lines), sys.argv[2:])
        died = server.poll()
    finally:
        server.kill()
        server.wait()
    if summary is None or died is not None:
        sys.exit("conformance: the run did not come to its end"
                 + (f"; the server exited with {died}" if died is not None else ""))
    scored = summary["scored"]
    if scored["fail"] or scored["error"]:
        sys.exit(f"conformance: {scored['fail']} of {scored['of']} cases fail")
    print(f"conformance: {scored['pass']} pass, {scored['warn']} warn, 0 fail"
          f" of {scored['of']} scored cases")


if __name__ == "__main__":
    main()
