"""Rounds: every server of a workload in turn, again and again, so that the noise of the machine
falls on all of them alike; and what is made of their figures."""

import json
import statistics
import subprocess
import time

FIGURES = ("server_cpu_us", "rate", "p50", "p90", "p99", "p999", "server_busy", "load_busy")


class Failed(Exception):
    """The load generator could not do its work."""


class Machine:
    """How busy the two cores were, and with whom: /proc/stat read around a round."""

    def __init__(self, cores):
        self.names = {f"cpu{core}" for core in cores}
        self.mark()

    def mark(self):
        self.last, self.time = self._read(), time.monotonic()

    def _read(self):
        busy = steal = 0
        with open("/proc/stat", encoding="ascii") as stat:
            for line in stat:
                name, *fields = line.split()
                if name in self.names:
                    user, nice, system, _idle, _wait, irq, softirq, stolen = map(int, fields[:8])
                    busy += user + nice + system + irq + softirq
                    steal += stolen
        return busy / 100, steal / 100

    def noise(self, known):
        """The share of both cores taken since the mark by others than the `known` CPU seconds:
        by other processes, and by the hypervisor."""
        busy, steal = (now - then for now, then in zip(self._read(), self.last))
        room = (time.monotonic() - self.time) * len(self.names)
        return {"others": max(busy - known, 0) / room, "steal": steal / room}


def one_round(load, core, server, workload, seconds, warmup):
    """One run of the load generator; returns what it printed, the fast class's latencies on top."""
    warmup = max(warmup, workload.warmup)
    command = ["taskset", "-c", str(core), load, f"127.0.0.1:{server.port}"]
    command += ["--pid", str(server.process.pid), "--seconds", f"{seconds:.2f}"]
    command += ["--warmup", f"{warmup:.2f}", *workload.load]
    patience = seconds + warmup + 30
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired as error:
        raise Failed("the load generator hangs") from error
    if done.returncode != 0:
        raise Failed((done.stderr.strip() or "the load generator failed").splitlines()[-1])
    found = json.loads(done.stdout)
    found.update({key: found["classes"][0][key] for key in ("p50", "p90", "p99", "p999")})
    if len(found["classes"]) > 1:
        found["slow"] = found["classes"][1]
    return found


def medians(rounds):
    """The median of every figure over the rounds of one server."""
    result = {key: statistics.median(found[key] for found in rounds) for key in FIGURES}
    result["errors"] = sum(found["errors"] for found in rounds)
    cpu = [found["server_cpu_us"] for found in rounds]
    result["spread"] = (max(cpu) - min(cpu)) / result["server_cpu_us"]
    slow = [found["slow"]["p50"] for found in rounds if "slow" in found]
    if slow:
        result["slow_p50"] = statistics.median(slow)
    return result


def ratio(rounds, reference, key="server_cpu_us"):
    """The median over the rounds of this server's figure to the reference's in the same round;
    None when there is no such pair."""
    pairs = [(mine[key], theirs[key]) for mine, theirs in zip(rounds or [], reference or [])]
    ratios = [mine / theirs for mine, theirs in pairs if theirs]
    return statistics.median(ratios) if ratios else None
