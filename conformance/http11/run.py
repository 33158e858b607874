#!/usr/bin/env python3
"""Starts a server, probes it, and fails unless the score is as good as it was.

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
SECOND_CHANCES = 10         # cases that may be tried again
PASS_AT_LEAST = 161         # scored cases: a score that was reached is kept
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
    """The probe's report, None when it could not do its work."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "probe.py"), host, port, "--json", report,
             *arguments], timeout=PROBE_LIMIT, check=False)
        if done.returncode != 0 or not os.path.exists(report):
            return None
        with open(report, encoding="utf-8") as file:
            return json.load(file)


def scored(report):
    """The verdicts of the cases that count."""
    return {r["id"]: r["verdict"] for r in report["results"] if r["scored"]}


def verdicts(host, port, arguments):
    """The verdicts, None when the probe could not do its work.

    A case waits only so long for an answer, and a busy machine may need longer: what has not
    passed gets a second chance, alone and with patience.
    """
    report = probe(host, port, arguments)
    if report is None:
        return None
    found = scored(report)
    again = [case for case, verdict in found.items() if verdict != "pass"]
    if 0 < len(again) <= SECOND_CHANCES:
        chosen = [word for case in again for word in ("--only", case)]
        report = probe(host, port, [*chosen, "--jobs", "1", "--settle", "1000"])
        if report is None:
            return None
        found.update(scored(report))
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    arguments = sys.argv[2:]
    server, lines = start(sys.argv[1])
    try:
        found = verdicts(*address(lines), arguments)
        died = server.poll()
    finally:
        server.kill()
        server.wait()
    if found is None or died is not None:
        sys.exit("conformance: the run did not come to its end"
                 + (f"; the server exited with {died}" if died is not None else ""))
    count = {verdict: list(found.values()).count(verdict) for verdict in ("pass", "warn", "fail")}
    score = f"{count['pass']} pass, {count['warn']} warn, {count['fail']} fail of {len(found)}"
    if count["fail"] or (not arguments and count["pass"] < PASS_AT_LEAST):
        sys.exit(f"conformance: {score}; {PASS_AT_LEAST} passed before")
    print(f"conformance: {score}")


if __name__ == "__main__":
    main()
