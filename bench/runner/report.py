"""What is printed and written."""

import json
import statistics

import chart
import goals
import measure
from servers import OUT
from workloads import VARIANTS

RANK = {"cpu": "server_cpu_us", "rate": "rate", "p99": "p99"}
OURS = ("floor", "threads", "stepwell", *VARIANTS)


def print_workload(workload, rounds, noise, labels):
    """The table of one workload, best first."""
    shown = {name: measure.medians(found) for name, found in rounds.items() if found}
    if not shown:
        return
    key = RANK[workload.measure]
    names = sorted(shown, key=lambda name: shown[name][key], reverse=workload.measure == "rate")
    best = next((name for name in names if name not in OURS), None)
    columns = ["", "CPU µs/req", "to floor", "to best peer", "requests/s", "p50 µs", "p99 µs"]
    columns += ["p99.9 µs", "spread"]
    rows = []
    for name in names:
        found = shown[name]
        errors = f"  {found['errors']} ERRORS" if found["errors"] else ""
        row = [labels[name], f"{found['server_cpu_us']:.3f}"]
        row += [against(rounds, name, "floor"), against(rounds, name, best)]
        row += [f"{found[figure]:,.0f}" for figure in ("rate", "p50", "p99", "p999")]
        rows.append([*row, f"{found['spread']:.0%}{errors}"])
    print(f"\n{workload.title}")
    print_table(columns, rows)
    print_noise(noise)


def against(rounds, name, reference):
    """The ratio of CPU times, from pairs within the same round."""
    found = measure.ratio(rounds[name], rounds.get(reference))
    return "–" if found is None else f"{found:.2f} ×"


def print_table(columns, rows):
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "  ".join([row[0].ljust(widths[0]), *cells]).rstrip())


def print_noise(noise):
    if not noise:
        return
    others = [item["others"] for item in noise]
    steal = statistics.median(item["steal"] for item in noise)
    print(f"  noise: others took {statistics.median(others):.0%} of the cores ", end="")
    print(f"(worst round {max(others):.0%}), the hypervisor {steal:.0%}")


def print_memory(memory, labels):
    rows = []
    for name, found in memory.items():
        rows.append([labels[name], f"{found['idle'] / 1024:.1f}", f"{found['after'] / 1024:.1f}"])
    if rows:
        millions = next(iter(memory.values())).get("millions")
        after = f"after {millions:g} M requests" if millions else "after the run"
        print("\nresident memory, MiB")
        print_table(["", "idle", after], rows)


def print_goals(lines):
    if not lines:
        return
    print("\nStepwell's goals")
    rows = [[what, found, goal, "yes" if ok else "NO"] for what, found, goal, ok in lines]
    print_table(["", "measured", "goal", "reached"], rows)


def finish(results, labels):
    """Prints the goals; writes figures and chart."""
    rounds = {name: found["rounds"] for name, found in results["workloads"].items()}
    lines = goals.goals(rounds, results.get("memory", {}))
    print_goals(lines)
    results["goals"] = [dict(zip(("what", "found", "goal", "reached"), line)) for line in lines]
    for found in results["workloads"].values():
        found["medians"] = {
            name: measure.medians(rounds) for name, rounds in found["rounds"].items() if rounds
        }
    (OUT / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    (OUT / "chart.svg").write_text(chart.draw(results, labels), encoding="utf-8")
    print(f"\nwritten: {OUT / 'results.json'} and {OUT / 'chart.svg'}")
