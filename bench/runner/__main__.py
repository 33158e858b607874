"""Measures Stepwell beside its peers. `bench/run --help` says how."""

import argparse
import contextlib
import os
import pathlib
import platform
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

# A round is run again when others took more than this share of the two cores.
DISTURBED = 0.1


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
    parser.add_argument("--seconds", type=float, help="seconds a round (default 0.8)")
    parser.add_argument("--cores", metavar="SERVER,LOAD", help="the cores to pin to")
    parser.add_argument(
        "--memory",
        type=float,
        default=0,
        metavar="MILLIONS",
        help="at the end start each server anew and weigh it before and after so many requests",
    )
    parser.add_argument(
        "--ahead",
        action="store_true",
        help="run ahead of the machine's other sessions (needs root and autogroups)",
    )
    parser.add_argument("--list", action="store_true", help="list workloads and servers")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 5)
    options.seconds = options.seconds or (0.4 if options.quick else 0.8)
    options.warmup = 0.2
    return options


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
    """The cores of the server and of the load generator."""
    usable = sorted(os.sched_getaffinity(0))
    if text:
        server, load = map(int, text.split(","))
        return server, load
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
        print(f"{server.version} ready ({time.monotonic() - began:.1f} s)")
        running.append(server)
    return running


class Run:
    """All that the rounds need: the load generator, the cores, the servers that run."""

    def __init__(self, options, load):
        self.options = options
        self.load = load
        self.server_core, self.load_core = cores(options.cores)
        self.machine = measure.Machine((self.server_core, self.load_core))
        self.servers = []
        self.again = 0

    def round(self, workload, server):
        """One round; returns its figures and the machine's noise, or None when it failed. A
        disturbed one is run again and the calmer of the two counts."""
        outcome = self.try_round(workload, server)
        if outcome and outcome[1]["others"] > DISTURBED and self.again > 0:
            self.again -= 1
            second = self.try_round(workload, server)
            if second and second[1]["others"] < outcome[1]["others"]:
                return second
        return outcome

    def try_round(self, workload, server):
        options = self.options
        self.machine.mark()
        try:
            found = measure.one_round(
                self.load, self.load_core, server, workload, options.seconds, options.warmup
            )
        except measure.Failed as reason:
            progress("")
            print(f"  {server.label} failed in {workload.name}: {reason}")
            return None
        warmup = max(options.warmup, workload.warmup)
        busy = found["server_busy"] + found["load_busy"]
        return found, self.machine.noise(busy * (options.seconds + warmup))

    def group(self, workloads):
        """All rounds of workloads that take turns; yields each with its rounds and noise."""
        turns = [
            (workload, server)
            for workload in workloads
            for server in self.servers
            if catalogue.takes_part(workload, server)
        ]
        rounds = {workload.name: {} for workload in workloads}
        noise = {workload.name: [] for workload in workloads}
        # On a machine that is always busy, repeating helps nobody: at most every other round.
        self.again = self.options.rounds * len(turns) // 2
        for number in range(self.options.rounds):
            # Each round begins with another server, so that nobody always follows the same one.
            shift = number % max(len(turns), 1)
            for workload, server in turns[shift:] + turns[:shift]:
                count = f"round {number + 1}/{self.options.rounds}"
                progress(f"{workload.title}: {count}", server.label)
                outcome = self.round(workload, server)
                if outcome:
                    rounds[workload.name].setdefault(server.name, []).append(outcome[0])
                    noise[workload.name].append(outcome[1])
        progress("")
        return [(workload, rounds[workload.name], noise[workload.name]) for workload in workloads]

    def memory(self):
        """Resident memory of fresh servers before and after many requests, in KiB."""
        found = {}
        workload = catalogue.memory(self.options.memory)
        for server in self.servers:
            progress(f"memory: {self.options.memory:g} million requests", server.label)
            server.stop()
            server.start(self.server_core)
            time.sleep(0.3)
            idle = server.rss()
            measure.one_round(self.load, self.load_core, server, workload, 300, 0)
            found[server.name] = {
                "idle": idle,
                "after": server.rss(),
                "millions": self.options.memory,
            }
        progress("")
        return found


@contextlib.contextmanager
def ahead(wanted):
    """Gives this session the most weight among the sessions of the machine, for a while. A
    process's own nice value counts only within its session."""
    group = pathlib.Path("/proc/self/autogroup")
    if not wanted:
        yield
        return
    try:
        before = group.read_text(encoding="ascii").split()[-1]
        group.write_text("-19", encoding="ascii")
    except OSError as error:
        sys.exit(f"bench: --ahead is not possible here: {error}")
    try:
        yield
    finally:
        group.write_text(before, encoding="ascii")


def progress(text, server=None):
    """A line that overwrites itself on a terminal; elsewhere a line whenever `text` changes."""
    if sys.stdout.isatty():
        print(f"\r\033[K{text}{', ' + server if server else ''}", end="", flush=True)
    elif text and text != progress.last:
        print(f"  {text}", flush=True)
    progress.last = text


progress.last = None


def machine_name():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        models = [line.partition(":")[2].strip() for line in info if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{model}, {os.cpu_count()} CPUs, Linux {platform.release().split('-')[0]}"


def measure_all(run, workloads, labels, results):
    """Runs the workloads on the servers that are up and prints each as it is done."""
    time.sleep(0.3)
    memory = {server.name: {"idle": server.rss()} for server in run.servers}
    for group in catalogue.groups(workloads):
        for workload, rounds, noise in run.group(group):
            results["workloads"][workload.name] = {
                "title": workload.title,
                "measure": workload.measure,
                "rounds": rounds,
                "noise": noise,
            }
            report.print_workload(workload, rounds, noise, labels)
    for server in run.servers:
        memory[server.name]["after"] = server.rss()
    results["memory"] = run.memory() if run.options.memory else memory
    report.print_memory(results["memory"], labels)


def main():
    options = arguments()
    workloads, servers = chosen(options.only)
    if options.list:
        print("workloads:", *(f"  {w.name:10} {w.title}" for w in workloads), sep="\n")
        print("servers:", *(f"  {s.name:10} {s.label}" for s in servers), sep="\n")
        return
    OUT.mkdir(exist_ok=True)
    print("Preparing (the first time builds the peers, which takes a few minutes):", flush=True)
    try:
        run = Run(options, cargo("bench-load"))
    except Unavailable as reason:
        sys.exit(f"bench: the load generator is needed: {reason}")
    wanted = [s for s in servers if any(catalogue.takes_part(w, s) for w in workloads)]
    labels = {server.name: server.label for server in servers}
    results = {"machine": machine_name(), "rounds": options.rounds, "workloads": {}}
    try:
        with ahead(options.ahead):
            run.servers = start(wanted, run.server_core)
            results["servers"] = {server.name: server.version for server in run.servers}
            measure_all(run, workloads, labels, results)
    finally:
        for server in run.servers:
            server.stop()
    report.finish(results, labels)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nbench: interrupted")
