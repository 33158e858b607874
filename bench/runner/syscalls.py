"""System calls a request, counted by perf or strace while the load generator runs."""

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
sends requests and prints how many of each system call one request took. Counts by perf's
tracepoints where that is allowed, otherwise by strace, which slows the server down so much that
cheap handlers look expensive and leave the event loop: then look at the server called inline. What
connecting takes (accept4, epoll_ctl …) is counted too and shows as a small fraction.
"""

# What servers call; each further tracepoint costs time at the start.
CALLS = """
accept accept4 brk clock_gettime clock_nanosleep close epoll_ctl epoll_pwait epoll_pwait2 epoll_wait
fcntl futex getrusage ioctl madvise mmap munmap nanosleep openat pread64 preadv2 read readv recvfrom
recvmsg sched_yield sendfile64 sendmsg sendto setsockopt shutdown
splice timerfd_settime write writev
"""
TRACEPOINTS = ",".join(f"syscalls:sys_enter_{name}" for name in CALLS.split())


def arguments():
    parser = argparse.ArgumentParser(prog="bench/syscalls", description=HELP)
    parser.add_argument("server", nargs="?", default="stepwell", help="name (default stepwell)")
    parser.add_argument("--pid", type=int, help="count in this process instead")
    parser.add_argument("--address", default="127.0.0.1:8080", help="where that process listens")
    parser.add_argument("--path", default="/")
    parser.add_argument("--connections", default="100")
    parser.add_argument("--pipeline", default="1")
    parser.add_argument("--requests", type=int, default=200_000)
    return parser.parse_args()


def send(load, options, address, requests, warmup):
    command = [load, address, "--connections", options.connections, "--pipeline", options.pipeline]
    command += ["--path", options.path, "--warmup", str(warmup)]
    command += ["--requests", str(requests), "--seconds", "60"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def perf_works():
    if not shutil.which("perf"):
        return False
    command = ["perf", "stat", "-e", TRACEPOINTS, "--", "true"]
    return subprocess.run(command, capture_output=True).returncode == 0


def count(load, options, address, pid):
    """Calls by name, of all threads, while `options.requests` are answered."""
    # Unwatched first: routes that learn have then learned.
    send(load, options, address, 20_000, 0.2)
    table = OUT / "syscalls.txt"
    table.unlink(missing_ok=True)
    if perf_works():
        command, parse = ["perf", "stat", "-x,", "-e", TRACEPOINTS], parse_perf
    elif shutil.which("strace"):
        command, parse = ["strace", "-c", "-f", "-U", "calls,name"], parse_strace
    else:
        raise Unavailable("neither perf nor strace is usable: apt-get install strace")
    print(f"counted by {command[0]}:")
    command += ["-o", str(table), "-p", str(pid)]
    counter = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # Until it has attached to all threads.
        time.sleep(2)
        send(load, options, address, options.requests, 0)
    finally:
        counter.send_signal(signal.SIGINT)
        counter.wait(10)
    return parse(table.read_text(encoding="utf-8").splitlines())


def parse_perf(lines):
    """Lines of count,unit,event,…"""
    calls = {}
    for line in lines:
        fields = line.split(",")
        if len(fields) > 2 and fields[0].isdigit() and int(fields[0]):
            calls[fields[2].removeprefix("syscalls:sys_enter_")] = int(fields[0])
    return calls


def parse_strace(lines):
    """Lines of count and name, and a total."""
    calls = {}
    for line in lines:
        fields = line.split()
        if len(fields) == 2 and fields[0].isdigit() and fields[1] != "total":
            calls[fields[1]] = int(fields[0])
    return calls


def main():
    options = arguments()
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
