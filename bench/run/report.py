"""What is printed and written."""

import json
import statistics

import measure
from servers import OUT


def print_workload(workload, rounds, noise, servers, results):
    """The table of one workload, best first."""
    shown = {name: measure.medians(found) for name, found in rounds.items() if found}
    if not shown:
        return
    labels = {server.name: server.label for server in servers}
    names = rank(workload, shown)
    peers = [name for name in names if name not in ("floor", "stepwell", "inline", "pool")]
    best = peers[0] if peers else None
    print(f"\n{workload.title}")
    columns = ["", "CPU µs/req", "to floor", "to best peer", "requests/s", "p50 µs", "p99 µs"]
    columns += ["p99.9 µs", "spread"]
    rows = []
    for name in names:
        found = shown[name]
        rows.append(
            [
                labels[name],
                f"{found['server_cpu_us']:.3f}",
                against(rounds, name, "floor"),
                against(rounds, name, best),
                f"{found['rate']:,.0f}",
                f"{found['p50']:,.0f}",
                f"{found['p99']:,.0f}",
                f"{found['p999']:,.0f}",
                f"{found['spread']:.0%}" + (f"  {found['errors']} ERRORS" if found["errors"] else ""),
            ]
        )
    print_table(columns, rows)
    print_noise(noise)


def rank(workload, shown):
    key = {"cpu": "server_cpu_us", "rate": "rate", "p99": "p99"}[workload.measure]
    return sorted(shown, key=lambda name: shown[name][key], reverse=workload.measure == "rate")


def against(rounds, name, reference):
    """The ratio of CPU times, from pairs within the same round."""
    if reference is None or not rounds.get(reference):
        return "–"
    return f"{measure.ratio(rounds[name], rounds[reference]):.2f}×"


def print_table(columns, rows):
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "  ".join([row[0].ljust(widths[0]), *cells]).rstrip())


def print_noise(noise):
    if not noise:
        return
    others = statistics.median(item[0] for item in noise)
    worst = max(item[0] for item in noise)
    steal = statistics.median(item[1] for item in noise)
    print(f"  noise: others used {others:.0%} of the cores (worst round {worst:.0%}), ", end="")
    print(f"the hypervisor {steal:.0%}")


def print_memory(idle, after, servers):
    print("\nresident memory, MiB")
    rows = []
    for server in servers:
        rows.append(
            [server.label, f"{idle[server.name] / 1024:.1f}", f"{after[server.name] / 1024:.1f}"]
        )
    print_table(["", "idle", "after the run"], rows)


def write(results, servers, workloads, options):
    path = OUT / "results.json"
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(f"\nfigures: {path}")
