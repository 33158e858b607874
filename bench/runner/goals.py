"""What Stepwell is to reach, as ratios within one run."""

import measure


def goals(rounds, memory):
    """Lines of (what, measured, goal, reached) for what this run has measured. `rounds` is by
    workload and server."""

    def cpu(workload, reference):
        found = rounds.get(workload, {})
        return measure.ratio(found.get("stepwell"), found.get(reference))

    lines = [
        at_most("hello, 100 connections, to the bare loop", cpu("hello", "floor"), 1.07),
        at_most("hello, 10 connections, to the bare loop", cpu("hello10", "floor"), 1.07),
        at_most("pipelined ×16, to the bare loop", cpu("pipelined", "floor"), 1.35),
        at_most("hand-off on, to handlers inlined", cpu("handoff", "inline"), 1.05),
        sleeping(rounds),
        at_most("p99 of the fast route beside a slow one, to alone", tail(rounds, "routes"), 2.0),
        at_most("p99 of the fast runs of a mixed route, to alone", tail(rounds, "mixed"), 2.0),
    ]
    if "stepwell" in memory:
        found = memory["stepwell"]
        lines.append(memory_line("idle memory", found["idle"], 4))
        if found.get("millions"):
            what = f"memory after {found['millions']:g} million requests"
            lines.append(memory_line(what, found["after"], 5))
    return [line for line in lines if line]


def at_most(what, found, goal):
    if found is None:
        return None
    return what, f"{found:.2f} ×", f"≤ {goal:.2f} ×", found <= goal


def tail(rounds, workload):
    found, alone = (rounds.get(name, {}).get("stepwell") for name in (workload, "alone"))
    return measure.ratio(found, alone, "p99")


def sleeping(rounds):
    found = rounds.get("sleep", {}).get("stepwell")
    if not found:
        return None
    rate = measure.medians(found)["rate"]
    return "10 ms sleeping handler, 100 connections", f"{rate:,.0f}/s", "≥ 9,800/s", rate >= 9_800


def memory_line(what, kib, goal):
    return what, f"{kib / 1024:.1f} MiB", f"≤ {goal} MiB", kib <= goal * 1024
