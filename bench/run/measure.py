"""Rounds: every server of a workload in turn, again and again, so that the noise of the machine
falls on all of them alike."""

import json
import statistics
import subprocess


class Machine:
    """How busy the two cores were, and with whom: /proc/stat read around a round."""

    def __init__(self, cores):
        self.names = {f"cpu{core}" for core in cores}
        self.last = self._read()

    def _read(self):
        busy = steal = 0
        with open("/proc/stat", encoding="ascii") as stat:
            for line in stat:
                name, *fields = line.split()
                if name in self.names:
                    user, nice, system, _idle, _wait, irq, softirq, stolen = map(int, fields[:8])
                    busy += user + nice + system + irq + softirq
                    steal += stolen
        return busy, steal

    def foreign(self, known_seconds, seconds):
        """The share of the cores taken by others since the last call: (processes, hypervisor)."""
        before, self.last = self.last, self._read()
        busy = (self.last[0] - before[0]) / 100 - known_seconds
        steal = (self.last[1] - before[1]) / 100
        room = seconds * len(self.names)
        return max(busy, 0) / room, steal / room


def one_round(load, core, server, workload, seconds, warmup):
    """One run of the load generator; returns what it printed, flattened."""
    command = ["taskset", "-c", str(core), load, f"127.0.0.1:{server.port}"]
    command += ["--pid", str(server.process.pid), "--seconds", f"{seconds:.2f}"]
    command += ["--warmup", f"{warmup:.2f}", *workload.load]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + warmup + 30)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else "load failed")
    found = json.loads(done.stdout)
    fast = found["classes"][0]
    found.update({key: fast[key] for key in ("p50", "p90", "p99", "p999")})
    if len(found["classes"]) > 1:
        found["slow"] = found["classes"][1]
    return found


def medians(rounds):
    """The median of every figure over the rounds of one server."""
    keys = ("server_cpu_us", "rate", "p50", "p90", "p99", "p999", "server_busy", "load_busy")
    result = {key: statistics.median(found[key] for found in rounds) for key in keys}
    result["errors"] = sum(found["errors"] for found in rounds)
    slow = [found["slow"] for found in rounds if "slow" in found]
    if slow:
        result["slow_p50"] = statistics.median(found["p50"] for found in slow)
        result["slow_p99"] = statistics.median(found["p99"] for found in slow)
    cpu = [found["server_cpu_us"] for found in rounds]
    result["spread"] = (max(cpu) - min(cpu)) / result["server_cpu_us"]
    return result


def ratio(rounds, reference, key="server_cpu_us"):
    """The median over the rounds of this server's figure to the reference's in the same round."""
    pairs = [(mine[key], theirs[key]) for mine, theirs in zip(rounds, reference)]
    return statistics.median(mine / theirs for mine, theirs in pairs if theirs)
