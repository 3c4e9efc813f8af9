"""Kinds of nodes: machines that make no one fabric, or that nothing can tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake

_POOLS = "cluster.pools"


def _shapes(base: Base) -> list[str]:
    return list(dict.fromkeys(pool["shape"] for pool in base.at(_POOLS)))


def _has_kinds(base: Base) -> bool:
    """Stacks whose pools have different shapes in one fabric, which the file describes itself."""
    return len(_shapes(base)) > 1 and not base.has("fabrics")


def _with_pools_of(*shapes: str, base: Base) -> Iterator[Mistake]:
    if base.has("fabrics"):
        # A further fabric names the second pool.
        return
    for shape in shapes:
        more = {**base.pool, "name": "more", "shape": shape}
        yield Mistake({_POOLS: [base.pool, more]}, f"{_POOLS}[1].shape")
        third = {**base.pool, "name": "third"}
        yield Mistake({_POOLS: [base.pool, third, more]}, f"{_POOLS}[2].shape")


def _other_machines(base: Base) -> Iterator[Mistake]:
    """Machines with other rails, another link layer or other GPUs than the stack's."""
    if base.manager == "network-operator":
        others = ("BM.GPU.B4.8",) if base.provider == "oke" else ("BM.GPU.GB200.4", "BM.GPU.L40S.4", "BM.GPU.T1.2")
        yield from _with_pools_of(*others, base=base)


def _machines_that_differ_in_one_fact(base: Base) -> Iterator[Mistake]:
    if not _has_kinds(base):
        return
    name = _shapes(base)[1]
    shape, path = f"cluster.shapes.{name}", f"{_POOLS}[1].shape"
    nics: list[Any] = base.at(f"{shape}.nics")
    yield Mistake({f"{shape}.nics": nics[:-1]}, path)
    yield Mistake({f"{shape}.gpus.vendor": "amd"}, path)
    yield Mistake({f"{shape}.gpus.count": 2 * len(nics) + 2}, path)
    yield Mistake({f"{shape}.nicModel.linkType": "infiniband"}, path)
    yield Mistake({f"{shape}.mtu": 4200}, path)
    yield Mistake({f"{shape}.vfsPerNic": 3}, path)


def _kinds_by_another_manager(base: Base) -> Iterator[Mistake]:
    others = {"doks": "gpu-mi350x8-2304gb-fabric-contracted", "existing": "server.dgx-h200.8", "oke": "BM.GPU.H200.8"}
    if base.manager != "network-operator":
        yield from _with_pools_of(others[base.provider], base=base)


def _labels_that_do_not_tell(base: Base) -> Iterator[Mistake]:
    if _has_kinds(base):
        first = base.at(f"{_POOLS}[0].labels")
        yield Mistake({f"{_POOLS}[1].labels": first}, f"{_POOLS}[0].labels")
        yield Mistake({f"{_POOLS}[1].labels": {**first, "rack": "a"}}, f"{_POOLS}[0].labels")
        yield Mistake({f"{_POOLS}[1].labels": {}}, f"{_POOLS}[1].labels")
        yield Mistake({f"{_POOLS}[1].labels": None}, f"{_POOLS}[1].labels")


KINDS = (
    Kind("the pools' machines make no one fabric", "CLU002", _other_machines),
    Kind("the pools' machines differ in one fact", "CLU002", _machines_that_differ_in_one_fact),
    Kind("the manager has one configuration for all nodes", "CLU006", _kinds_by_another_manager),
    Kind("nothing tells the kinds of nodes apart", "CLU008", _labels_that_do_not_tell),
)  # fmt: skip
