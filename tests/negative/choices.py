"""Choices that do not go together: manager, model, RDMA mode, link layer, layout, IPAM, provider, release line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from program_lists import MODELS

from negative.base import Base
from negative.mistake import Kind, Mistake, written

_AT = "fabric.addressing"

# From the vendors' guides, manager by manager.
_OFFERED = {
    "network-operator": MODELS,
    "spiderpool": ("macvlan", "sriov", "ib-sriov", "ipoib"),
    "doks": ("host-device",),
}


def _manager_without_the_model(base: Base) -> Iterator[Mistake]:
    """Another manager, which does not offer the model that the file names."""
    for manager, models in _OFFERED.items():
        if base.has("fabric.model") and base.model not in models:
            yield Mistake({"fabric.manager": manager}, "fabric.model")


def _model_for_ethernet(base: Base) -> Iterator[Mistake]:
    if base.at("fabric.linkType") == "infiniband":
        for model in ("sriov", "macvlan"):
            yield Mistake({"fabric.model": model}, "fabric.linkType")


def _model_for_infiniband(base: Base) -> Iterator[Mistake]:
    if base.manager != "doks" and not base.has("fabric.linkType"):
        for model in ("ib-sriov", "ipoib"):
            yield Mistake({"fabric.model": model}, "fabric.model")


def _whereabouts_by_node(base: Base) -> Iterator[Mistake]:
    if base.ipam == "whereabouts":
        yield Mistake({f"{_AT}.layout": "per-node"}, f"{_AT}.layout")
    if base.ipam == "nv-ipam" and base.layout == "per-node":
        yield Mistake({f"{_AT}.ipam": "whereabouts"}, f"{_AT}.layout")


def _line_without_a_chart(base: Base) -> Iterator[Mistake]:
    if base.manager == "spiderpool":
        yield Mistake({"software.releaseLine": "23.10"}, "software.releaseLine")
    if base.line == "23.10":
        moved: dict[str, Any] = {"fabric.manager": "spiderpool", "fabric.addressing.layout": "per-rail"}
        if base.has("fabric.virtualFunctions"):
            moved["fabric.virtualFunctions"] = None
        yield Mistake(moved, "software.releaseLine")


def _old_nv_ipam(base: Base) -> Iterator[Mistake]:
    """A release line whose nv-ipam takes no pool without a gateway."""
    if base.ipam == "nv-ipam" and base.layout != "none" and not base.has(f"{_AT}.gateway"):
        yield Mistake({"software.releaseLine": "23.10"}, f"{_AT}.gateway")
    if base.line == "23.10":
        yield Mistake({f"{_AT}.gateway": "none"}, f"{_AT}.gateway")


def _old_nv_ipam_by_node(base: Base) -> Iterator[Mistake]:
    """A release line whose nv-ipam gives no node a prefix of its own."""
    if base.ipam == "nv-ipam" and base.layout == "per-node":
        yield Mistake({"software.releaseLine": "23.10"}, f"{_AT}.layout")


def _old_nv_ipam_with_exclusions(base: Base) -> Iterator[Mistake]:
    """A release line whose nv-ipam keeps no addresses free."""
    if base.ipam == "nv-ipam" and base.line == "23.10":
        for key, value in (("reservedFirst", 2), ("reservedLast", 1), ("exclude", [f"{base.supernet}".split("/")[0]])):
            yield Mistake({f"{_AT}.{key}": value}, f"{_AT}.{key}")


KINDS = (
    Kind("the model is not one of the manager's", "SUP001", _manager_without_the_model),
    Kind("a model for Ethernet is asked for on InfiniBand", "SUP003", _model_for_ethernet),
    Kind("a model for InfiniBand is asked for on Ethernet", "SUP003", _model_for_infiniband),
    Kind("the release line has no chart of the manager", "SUP008", _line_without_a_chart),
    Kind("Whereabouts is to give each node a prefix", "SUP009", _whereabouts_by_node),
    Kind("an old nv-ipam is to give each node a prefix", "SUP009", _old_nv_ipam_by_node),
    Kind("an old nv-ipam has no gateway", "IPM003", _old_nv_ipam),
    Kind("an old nv-ipam is to keep addresses free", "IPM005", _old_nv_ipam_with_exclusions),
    Kind("the release line is unknown", "SPC002",
        written("software.releaseLine", "26", "26.4.1", "v26.4", "24.10", "latest", "")),
    Kind("the charts come from nowhere", "SPC002",
        written("software.charts", "ftp://mirror", "mirror", "Upstream", "http://mirror/charts", "./charts")),
)  # fmt: skip
