"""Plans one stack with several numbers of nodes, in a process of its own: how long each takes, and its peak memory."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from ipaddress import ip_network
from pathlib import Path

from gpu_fabric.prepare import plan_spec
from gpu_fabric.spec.load import load_stack
from gpu_fabric.spec.stack import StackSpec

ROUNDS = 14
_UNSETTLED = 2  # the first rounds import modules and fill caches
# shared address space (RFC 6598), which no stack here uses for pods, services or nodes
_ROOM = ip_network("100.64.0.0/10")


def with_nodes(spec: StackSpec, nodes: int) -> StackSpec:
    """The stack with so many nodes in its first pool, and with addresses for as many as a plan may have."""
    pool = spec.cluster.pools[0].model_copy(update={"nodes": nodes})
    addressing = spec.fabric.addressing.model_copy(update={"supernet": _ROOM})
    return spec.model_copy(
        update={
            "cluster": spec.cluster.model_copy(update={"pools": (pool,)}),
            "fabric": spec.fabric.model_copy(update={"addressing": addressing}),
        }
    )


def main(stack: str, listed: str, *sizes: str) -> None:
    """Print the median seconds of each size and the peak in MiB; ``listed`` says whether every node's shares count."""
    spec = load_stack(stack, Path.cwd())
    seconds: dict[int, list[float]] = {int(nodes): [] for nodes in sizes}
    # all sizes in turn, so that whatever else the machine does slows all of them
    for _ in range(ROUNDS):
        for nodes, times in seconds.items():
            sized = with_nodes(spec, nodes)
            began = time.perf_counter()
            plan = plan_spec(sized)
            (plan.with_shares() if listed == "listed" else plan).model_dump_json(by_alias=True)
            times.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    medians = [statistics.median(times[_UNSETTLED:]) for times in seconds.values()]
    print(json.dumps({"seconds": medians, "peak_mib": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
