"""Measures Stepwell beside its peers. `python3 bench/run --help` says how."""

import argparse
import os
import sys
import time

import measure
import report
import workloads as catalogue
from servers import OUT, Unavailable, all_servers, cargo

HELP = """\
Every server runs on one core and the load generator on another; the servers take turns in every
round, and what counts is the median of the rounds, first of all the server's CPU time a request.
"""


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run", description=HELP)
    parser.add_argument("--quick", action="store_true", help="short rounds, three of them")
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORKLOAD/SERVER",
        help="a workload, a server (/hyper) or both; comma-separated lists, may be repeated",
    )
    parser.add_argument("--rounds", type=int, help="rounds a workload (default 5)")
    parser.add_argument("--seconds", type=float, help="seconds a round (default 1)")
    parser.add_argument("--cores", metavar="SERVER,LOAD", help="the cores to pin to")
    parser.add_argument(
        "--memory", type=float, metavar="MILLIONS", help="also send so many million requests "
        "to each server and report its memory afterwards (default with no --only: off)"
    )
    parser.add_argument("--list", action="store_true", help="list workloads and servers")
    return parser.parse_args()


def chosen(only):
    """The workloads and the servers that --only leaves."""
    workloads, servers = catalogue.WORKLOADS, all_servers()
    for choice in only or []:
        wanted_work, _, wanted_servers = choice.partition("/")
        workloads = keep(workloads, wanted_work, "workload")
        servers = keep(servers, wanted_servers, "server")
    return workloads, servers


def keep(items, names, what):
    if not names:
        return items
    names = names.split(",")
    known = {item.name for item in items}
    for name in names:
        if name not in known:
            sys.exit(f"bench: no {what} {name!r}; there are: {', '.join(sorted(known))}")
    return [item for item in items if item.name in names]


def cores(text):
    if text:
        server, load = map(int, text.split(","))
        return server, load
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        sys.exit("bench: two cores are needed, one for the server and one for the load generator")
    return usable[1], usable[0]


def start(servers, core):
    """Builds and starts the servers; leaves out, with a line, what this machine cannot run."""
    running = []
    for server in servers:
        print(f"  {server.label} …", end=" ", flush=True)
        began = time.monotonic()
        try:
            server.prepare()
            server.start(core)
        except Unavailable as reason:
            print(f"left out: {reason}")
            continue
        print(f"ready ({time.monotonic() - began:.1f} s)")
        running.append(server)
    return running


def run_workload(workload, servers, options, load):
    """All rounds of one workload; returns them by server name."""
    taking_part = [server for server in servers if catalogue.takes_part(workload, server)]
    rounds = {server.name: [] for server in taking_part}
    machine = measure.Machine((options.server_core, options.load_core))
    noise = []
    for number in range(options.rounds):
        shift = number % max(len(taking_part), 1)
        for server in taking_part[shift:] + taking_part[:shift]:
            progress(f"{workload.title}: round {number + 1}/{options.rounds}", server.label)
            began = time.monotonic()
            machine.foreign(0, 1)
            found = measure.one_round(
                load, options.load_core, server, workload, options.seconds, options.warmup
            )
            known = (found["server_busy"] + found["load_busy"]) * found["seconds"]
            known *= (options.seconds + options.warmup) / options.seconds
            noise.append(machine.foreign(known, time.monotonic() - began))
            rounds[server.name].append(found)
    progress("")
    return rounds, noise


def run_memory(servers, options, load):
    """Memory after many requests: the count in slices, so that the limits of a round hold."""
    wanted = int(options.memory * 1_000_000)
    for server in servers:
        progress(f"memory: {options.memory:g} million requests", server.label)
        command = catalogue.Workload(
            "memory", "", "hello",
            ("--connections", "50", "--pipeline", "16", "--requests", str(wanted)),
        )
        measure.one_round(load, options.load_core, server, command, 600, 0)
    progress("")


def progress(text, server=None):
    """A line that overwrites itself on a terminal; elsewhere a line whenever `text` changes."""
    if sys.stdout.isatty():
        print(f"\r\033[K{text}{', ' + server if server else ''}", end="", flush=True)
    elif text and text != progress.last:
        print(f"  {text}", flush=True)
    progress.last = text


progress.last = None


def main():
    options = arguments()
    workloads, servers = chosen(options.only)
    if options.list:
        print("workloads:", *(f"  {w.name:10} {w.title}" for w in workloads), sep="\n")
        print("servers:", *(f"  {s.name:10} {s.label}" for s in servers), sep="\n")
        return
    options.rounds = options.rounds or (3 if options.quick else 5)
    options.seconds = options.seconds or (0.5 if options.quick else 1.0)
    options.warmup = 0.2 if options.quick else 0.3
    options.server_core, options.load_core = cores(options.cores)
    OUT.mkdir(exist_ok=True)
    wanted = [s for s in servers if any(catalogue.takes_part(w, s) for w in workloads)]
    print("Preparing (the first time builds the peers, which takes a minute or two):")
    try:
        load = cargo("bench-load")
    except Unavailable as reason:
        sys.exit(f"bench: the load generator is needed: {reason}")
    running = []
    results = {"started": time.strftime("%Y-%m-%d %H:%M:%S"), "workloads": {}}
    try:
        running = start(wanted, options.server_core)
        time.sleep(0.3)
        idle = {server.name: server.rss() for server in running}
        for workload in workloads:
            rounds, noise = run_workload(workload, running, options, load)
            results["workloads"][workload.name] = {"rounds": rounds, "noise": noise}
            report.print_workload(workload, rounds, noise, running, results)
        if options.memory:
            run_memory(running, options, load)
        after = {server.name: server.rss() for server in running}
        results["memory"] = {"idle": idle, "after": after}
        report.print_memory(idle, after, running)
    finally:
        for server in running:
            server.stop()
    report.write(results, running, workloads, options)


if __name__ == "__main__":
    main()
