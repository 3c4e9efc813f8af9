"""What a verification measures by UCX between two nodes: each rail alone, as servers of models use it; and its bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_fabric.contract import FabricContract
from gpu_fabric.nccl.busbw import Bar, point_to_point_bar
from gpu_fabric.plan import records
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.rail import Rail

if TYPE_CHECKING:
    from gpu_fabric.workloads.verification import UcxRun

# UCX's names of the memory of a vendor's GPUs (source: openucx/ucx v1.22.0, src/ucs/memory/memory_type.c).
_GPU_MEMORY = {"nvidia": "cuda", "amd": "rocm"}
# Transports inside a node or, by NVLink, inside a rack (source: as above, src/ucp/core/ucp_context.c).
_NOT_THE_FABRIC = {"sm", "shm", "mm", "posix", "sysv", "xpmem", "cma", "knem", "self", "cuda_ipc", "rocm_ipc"}


def bar_between_nodes(case: Case) -> Bar | None:
    """The bar of one rail between two nodes, that of the weakest shape; None where none is measured so.

    Raises:
        BarUnknownError: a line rate is not known.
    """
    wanted = case.spec.verification.point_to_point
    if wanted is None:
        return None
    return min((point_to_point_bar(shape, wanted.percent) for shape in case.shapes), key=lambda bar: bar.value)


def plan_point_to_point(case: Case, planned: tuple[Rail, ...]) -> records.PlannedPointToPoint | None:
    """What the verdict compares; None unless asked."""
    wanted, bar = case.spec.verification.point_to_point, bar_between_nodes(case)
    if wanted is None or bar is None:
        return None
    networks = tuple(rail.network for rail in planned)
    return records.PlannedPointToPoint(program=wanted.program, bar=bar, networks=networks)


def run_by_ucx(case: Case, contract: FabricContract) -> UcxRun | None:
    """What the script runs, with the variables that jobs of the stack have; None unless asked."""
    from gpu_fabric.workloads.verification import UcxRun

    wanted, bar = case.spec.verification.point_to_point, bar_between_nodes(case)
    if wanted is None or bar is None:
        return None
    own = {name: value for name, value in contract.environment.items() if name.startswith("UCX_")}
    settings = {"UCX_TLS": "rc", **contract.libraries.get("ucx", {}), **own}
    # The script names the device of the rail that it measures.
    settings.pop("UCX_NET_DEVICES", None)
    if not settings["UCX_TLS"].startswith("^"):
        names = settings["UCX_TLS"].split(",")
        settings["UCX_TLS"] = ",".join(name for name in names if name not in _NOT_THE_FABRIC)
    memory = _GPU_MEMORY[case.shape.gpus.vendor] if wanted.memory == "gpu" else "host"
    pods = case.spec.cluster.ranges.pods
    ipv6 = pods is not None and pods.version == 6
    return UcxRun(wanted.program, memory, bar.limit or bar.value, ipv6, settings)
