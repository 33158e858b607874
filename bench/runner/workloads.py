"""The workloads: what the load generator is told to do, and what to look at afterwards."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    # What a server must answer to take part, see `paths` in servers.py.
    path: str
    # Arguments of the load generator.
    load: tuple
    # What ranks the servers: "cpu" (µs a request), "rate" or "p99" (of the fast class).
    measure: str = "cpu"
    # These servers only; empty: all that answer the path.
    servers: tuple = ()
    # Of VARIANTS these take part, elsewhere none.
    variants: tuple = ()
    # Workloads of one group take turns within a round, so that they can be compared.
    group: str = ""
    # At least so many seconds before measuring: pools have to grow first.
    warmup: float = 0.0


# Variants of Stepwell: no peers.
VARIANTS = ("inline", "pool", "reactor")

CONNECTIONS_100 = ("--connections", "100")
PIPELINED = ("--connections", "50", "--pipeline", "16")
TWO_ROUTES = ("--path", "/", "--path", "/slow?ms=20", "--share", "5")
MIXED = {"measure": "p99", "variants": ("pool",), "group": "mixed", "warmup": 0.5}

WORKLOADS = [
    Workload("hello", "hello, 100 connections", "hello", CONNECTIONS_100),
    Workload("hello10", "hello, 10 connections", "hello", ("--connections", "10")),
    Workload(
        "pipelined",
        "hello, pipelined ×16, 50 connections",
        "hello",
        PIPELINED,
    ),
    Workload("json", "JSON record, 100 connections", "json", (*CONNECTIONS_100, "--path", "/json")),
    Workload(
        "handoff",
        "hand-off on, off (handlers inlined) and pool only",
        "hello",
        CONNECTIONS_100,
        servers=("floor", "stepwell"),
        variants=VARIANTS,
    ),
    Workload(
        "handoff16",
        "the same, pipelined ×16, 50 connections",
        "hello",
        PIPELINED,
        servers=("floor", "stepwell"),
        variants=VARIANTS,
    ),
    Workload(
        "sleep",
        "10 ms sleeping handler, 100 connections",
        "slow",
        (*CONNECTIONS_100, "--path", "/slow?ms=10"),
        measure="rate",
        warmup=1.0,
    ),
    Workload("alone", "fast route alone, 100 connections", "mixed", CONNECTIONS_100, **MIXED),
    Workload(
        "routes",
        "95 % fast, 5 % 20 ms: two routes, 200 connections",
        "mixed",
        ("--connections", "200", *TWO_ROUTES),
        **MIXED,
    ),
    Workload(
        "mixed",
        "95 % fast, 5 % 20 ms: one route, 200 connections",
        "mixed",
        # Slow replies end in "slow", fast ones in "fast".
        ("--connections", "200", "--path", "/mixed", "--label", "w"),
        **MIXED,
    ),
]


def takes_part(workload, server):
    if workload.path not in server.paths:
        return False
    if server.name in VARIANTS:
        return server.name in workload.variants
    return not workload.servers or server.name in workload.servers


def groups(workloads):
    """The workloads in their order, those of one group together."""
    found = {}
    for workload in workloads:
        found.setdefault(workload.group or workload.name, []).append(workload)
    return list(found.values())


def memory(millions):
    """So many pipelined requests at one go; a server that is too slow is stopped after a while."""
    count = str(int(millions * 1_000_000))
    load = (*PIPELINED, "--requests", count)
    return Workload("memory", "memory", "hello", load)
