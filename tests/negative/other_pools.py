"""Pools beside the fabric that a cloud would refuse, or that the fabric would take for its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, Mistakes, provided_by, together

_OTHERS = "cluster.otherPools"
_CPU = {"name": "serving", "size": "s-8vcpu-16gb", "nodes": 2}
_FLEX = {"name": "serving", "shape": "VM.Standard.E5.Flex", "ocpus": 4, "memoryGib": 32, "nodes": 2}
_GOOD = {"doks": _CPU, "oke": _FLEX}


def _pool(below: str, provider: str | None = None, **wrong: Any) -> Mistakes:
    """A pool beside the fabric with something wrong in it, on one of the clouds or on both."""
    clouds = provided_by(*(("doks", "oke") if provider is None else (provider,)))

    def made(base: Base) -> Iterator[Mistake]:
        # A platform stack's cluster is another stack's.
        if clouds(base) and base.has("cluster"):
            pool = {key: value for key, value in {**_GOOD[base.provider], **wrong}.items() if value is not None}
            yield Mistake({_OTHERS: [pool]}, f"{_OTHERS}[0]{below}")

    return made


def _two(base: Base) -> Iterator[Mistake]:
    if provided_by("doks", "oke")(base) and base.has("cluster"):
        good = _GOOD[base.provider]
        yield Mistake({_OTHERS: [good, {**good, "nodes": 1}]}, _OTHERS)


KINDS = (
    Kind("two pools beside the fabric have one name", "SPC002", _two),
    Kind("a key of a pool beside the fabric is another cloud's, or misspelt", "SPC001", together(
        _pool(".preemptible", "doks", preemptible=True),
        _pool(".spot", spot=True),
        _pool(".autoscale", autoscale={"minNodes": 1, "maxNodes": 2}),
        _pool(".placement", "oke", placement="compute-cluster"))),
    Kind("machines with RDMA NICs are beside the fabric", "OTH002", together(
        _pool(".size", "doks", size="gpu-h100x8-640gb-contracted"),
        _pool(".shape", "oke", shape="BM.GPU.B4.8", ocpus=None, memoryGib=None))),
    Kind("the nodes of a pool beside the fabric are not within its bounds", "OTH004", together(
        _pool(".autoScale", autoScale={"minNodes": 3, "maxNodes": 4}),
        _pool(".autoScale", autoScale={"minNodes": 0, "maxNodes": 1}),
        _pool(".autoScale", autoScale={"minNodes": 4, "maxNodes": 1}))),
    Kind("a machine beside the fabric is none that there is", "OTH005", together(
        _pool(".size", "doks", size="gpu-of-tomorrow"),
        _pool(".shape", "oke", shape="VM.GPU.X99.1", ocpus=None, memoryGib=None),
        _pool(".memoryGib", "oke", memoryGib=2000),
        _pool("", "oke", memoryGib=None),
        _pool(".ocpus", "oke", shape="VM.GPU.A10.1", memoryGib=None))),
)  # fmt: skip
