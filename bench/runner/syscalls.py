"""System calls a request, counted by strace while the load generator runs."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time

from servers import OUT, Unavailable, all_servers, cargo

HELP = """\
Starts a server of the benchmark by its name (see bench/run --list), or looks at a running process,
sends requests and prints how many of each system call one request took. strace slows the server
down, so that more requests wait for each epoll_wait than usual; recv and send are as ever. What
connecting takes (accept4, epoll_ctl …) is counted too and shows as a small fraction.
"""


def arguments():
    parser = argparse.ArgumentParser(prog="bench/syscalls", description=HELP)
    parser.add_argument("server", nargs="?", default="stepwell", help="name (default stepwell)")
    parser.add_argument("--pid", type=int, help="count in this process instead")
    parser.add_argument("--address", default="127.0.0.1:8080", help="where that process listens")
    parser.add_argument("--path", default="/")
    parser.add_argument("--connections", default="100")
    parser.add_argument("--pipeline", default="1")
    parser.add_argument("--requests", type=int, default=50_000)
    return parser.parse_args()


def send(load, options, address, requests, warmup):
    command = [load, address, "--connections", options.connections, "--pipeline", options.pipeline]
    command += ["--path", options.path, "--warmup", str(warmup)]
    command += ["--requests", str(requests), "--seconds", "60"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def count(load, options, address, pid):
    """Calls by name, of all threads, while `options.requests` are answered."""
    # Unwatched first: routes that learn have then learned.
    send(load, options, address, 20_000, 0.2)
    table = OUT / "syscalls.txt"
    table.unlink(missing_ok=True)
    command = ["strace", "-c", "-f", "-U", "calls,name", "-o", str(table), "-p", str(pid)]
    strace = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        send(load, options, address, options.requests, 0)
    finally:
        strace.send_signal(signal.SIGINT)
        strace.wait(10)
    calls = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[0].isdigit() and fields[1] != "total":
            calls[fields[1]] = int(fields[0])
    return calls


def main():
    options = arguments()
    if not shutil.which("strace"):
        sys.exit("bench: strace is missing: apt-get install strace")
    OUT.mkdir(exist_ok=True)
    server = None
    try:
        load = cargo("bench-load")
        address, pid = options.address, options.pid
        if pid is None:
            server = next((s for s in all_servers() if s.name == options.server), None)
            if server is None:
                sys.exit(f"bench: no server {options.server!r}")
            server.prepare()
            server.start(max(os.sched_getaffinity(0)))
            address, pid = f"127.0.0.1:{server.port}", server.process.pid
        calls = count(load, options, address, pid)
    except Unavailable as reason:
        sys.exit(f"bench: {reason}")
    finally:
        if server:
            server.stop()
    for name, number in sorted(calls.items(), key=lambda item: -item[1]):
        print(f"{number / options.requests:9.4f}  {name}")
    print(f"{sum(calls.values()) / options.requests:9.4f}  calls a request")


if __name__ == "__main__":
    main()
