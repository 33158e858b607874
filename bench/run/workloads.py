"""The workloads: what the load generator is told to do, and what to look at afterwards."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    # What a server must answer to take part, see `paths` in servers.py.
    path: str
    load: tuple
    # What ranks the servers: "cpu" (µs a request), "rate" or "p99" (of the fast class).
    measure: str = "cpu"
    # These servers only; empty: all that answer the path.
    servers: tuple = field(default=())
    # The variants of Stepwell that are no peers take part only where they are asked for.
    variants: tuple = field(default=())
    # Seconds of one round against those of the others.
    stretch: float = 1.0


SLOW = "/slow?ms=20"

WORKLOADS = [
    Workload("hello", "hello, 100 connections", "hello", ("--connections", "100")),
    Workload("hello10", "hello, 10 connections", "hello", ("--connections", "10")),
    Workload(
        "pipelined",
        "hello, pipelined ×16, 50 connections",
        "hello",
        ("--connections", "50", "--pipeline", "16"),
    ),
    Workload(
        "json", "JSON record, 100 connections", "json", ("--connections", "100", "--path", "/json")
    ),
    Workload(
        "handoff",
        "hand-off on against off, hello, 100 connections",
        "hello",
        ("--connections", "100"),
        servers=("floor", "stepwell"),
        variants=("inline", "pool"),
    ),
    Workload(
        "sleep",
        "10 ms sleeping handler, 100 connections (ideal: 10,000/s)",
        "slow",
        ("--connections", "100", "--path", "/slow?ms=10"),
        measure="rate",
    ),
    Workload(
        "alone",
        "the fast route alone, 100 connections",
        "mixed",
        ("--connections", "100"),
        measure="p99",
        variants=("pool",),
    ),
    Workload(
        "routes",
        "95 % fast and 5 % 20 ms, two routes, 200 connections",
        "mixed",
        ("--connections", "200", "--path", "/", "--path", SLOW, "--share", "5"),
        measure="p99",
        variants=("pool",),
    ),
    Workload(
        "mixed",
        "95 % fast and 5 % 20 ms, one route, 200 connections",
        "mixed",
        ("--connections", "200", "--path", "/mixed", "--label", "w"),
        measure="p99",
        variants=("pool",),
    ),
]

VARIANTS = ("inline", "pool")


def takes_part(workload, server):
    if workload.path not in server.paths:
        return False
    if server.name in VARIANTS:
        return server.name in workload.variants
    return not workload.servers or server.name in workload.servers
