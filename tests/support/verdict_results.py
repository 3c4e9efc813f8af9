"""Results of nccl-tests and NCCL's logs as a healthy fabric gives them, for tests to spoil."""

import json
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.nccl.busbw import Operation, bus_factor
from gpu_fabric.nccl.verdict.result import Expectation

GIB = 1 << 30
SIZES = (1 * GIB, 2 * GIB, 4 * GIB, 8 * GIB)


def expectation(shape: str = "BM.GPU.H200.8", **values: Any) -> Expectation:
    """What the fabric of a shape asks of a run."""
    found = catalog().find(shape)
    assert found is not None
    return Expectation(**{"shapes": (found,), "rails": found.rails, **values})


def measurement(size: int, busbw: float, ranks: int, operation: Operation) -> dict[str, Any]:
    """One measurement whose figures fit each other."""
    alg = busbw / bus_factor(operation, ranks)
    return {"time": round(size / alg / 1000, 6), "alg_bw": round(alg, 6), "bus_bw": busbw, "nwrong": 0.0}


def healthy(
    busbw: float = 388.0,
    *,
    nodes: int = 2,
    gpus: int = 8,
    operation: Operation = Operation.ALL_REDUCE,
    env: tuple[str, ...] = ("NCCL_ALGO=RING",),
    host: str = "worker",
) -> dict[str, Any]:
    """A result with rows from 1 to 8 GiB, all with the same bus bandwidth."""
    ranks = nodes * gpus
    devices = [
        {
            "rank": rank,
            "group": 0,
            "pid": 100 + rank,
            "hostname": f"{host}-{rank // gpus}",
            "device": rank % gpus,
            "device_hex": f"0000:{rank % gpus:02x}:00",
            "device_info": "NVIDIA H200",
        }
        for rank in range(ranks)
    ]
    rows = [
        {
            "size": size,
            "count": size // 4,
            "type": "float",
            "redop": "sum",
            "root": "    -1",
            "out_of_place": measurement(size, busbw, ranks, operation),
            "in_place": measurement(size, busbw, ranks, operation),
            "actual_iterations": 20,
            "experiment_name": "",
        }
        for size in SIZES
    ]
    return {
        "version": 1,
        "start_time": "2026-11-21 10:00:00",
        "args": [f"/opt/nccl-tests/build/{operation}_perf", "-b", "1G", "-e", "8G", "-f", "2", "-J", "result.json"],
        "env": ["HOME=/root", "TOKEN=do-not-show-me", *env],
        "nccl_version": 22703,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "minimum_bytes": SIZES[0],
            "maximum_bytes": SIZES[-1],
            "step_factor": 2,
            "validation": 1,
            "devices": devices,
        },
        "results": rows,
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": busbw, "okay": "unchecked"},
        "errors": [""],
        "end_time": "2026-11-21 10:02:00",
    }


def file_of(document: dict[str, Any]) -> bytes:
    """The document as a file."""
    return json.dumps(document).encode()


def log_of(lines: list[str]) -> bytes:
    """The lines as a file."""
    return ("\n".join(lines) + "\n").encode()
