"""Spiderpool: which node and rail a pool belongs to, switches without effect, and values that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, Mistakes, together, written, written_below

_AT = "fabric.addressing"


def _nameless_nodes(base: Base) -> Iterator[Mistake]:
    """A prefix for each node of a model whose nodes Spiderpool can tell apart by name only."""
    if base.manager == "spiderpool" and base.model == "macvlan":
        names = "cluster.pools[0].nodeNames"
        changes = {f"{_AT}.layout": "per-node", f"{_AT}.nodePrefixLength": 25}
        yield Mistake({**changes, names: None} if base.has(names) else changes, names)


def _out_of_order(base: Base) -> Iterator[Mistake]:
    """Names by which Spiderpool's webhook adds the rails in another order."""
    if base.manager != "spiderpool":
        return
    word, path = {"software.spiderpool.injection": "all-rails"}, "software.spiderpool.injection"
    if base.model in ("ib-sriov", "ipoib"):
        yield Mistake({**word, "fabric.rails": [{"rail": 0, "network": "storage"}]}, path)
        yield Mistake({**word, "fabric.rails": [{"rail": 7, "network": "a"}]}, path)
    if base.model == "sriov":
        resources = [{"rail": rail, "resource": f"gpu{rail + 4}"} for rail in range(base.rails)]
        yield Mistake({**word, "fabric.rails": resources}, path)
    nics = f"cluster.shapes.{base.pool['shape']}.nics"
    if base.model == "macvlan" and base.has(nics):
        yield Mistake({**word, nics: list(reversed(base.at(nics)))}, path)


_SECTION = "software.spiderpool"
_OFED = {"os": "ubuntu", "osVersion": "22.04"}


def _with_spiderpool(base: Base) -> bool:
    return base.manager == "spiderpool"


def _without_spiderpool(base: Base) -> bool:
    return base.manager != "spiderpool"


def _in_section(key: str, *values: Any) -> Mistakes:
    return written(f"{_SECTION}.{key}", *values, where=_with_spiderpool)


KINDS = (
    Kind("the webhook adds networks in another order than the rails'", "SPI011", _out_of_order),
    Kind("a node's prefix is bound to no node", "SPI001", _nameless_nodes),
    Kind("a switch of Spiderpool has no effect", "SPI014", together(
        _in_section("serviceMonitor", True),
        _in_section("grafanaLabels", {"dashboards": "grafana"}),
        _in_section("ibKubernetes", True))),
    Kind("Spiderpool is told something although another manager drives the fabric", "REL005", together(
        written(f"{_SECTION}.injection", "rdma-network", where=_without_spiderpool),
        written(f"{_SECTION}.metrics", True, where=_without_spiderpool),
        written(f"{_SECTION}.tls", {"method": "certmanager"}, where=_without_spiderpool),
        written(f"{_SECTION}.coordinator", {"vethMtu": 1400}, where=_without_spiderpool),
        written_below("software.ofedDriver", ".os", _OFED, where=_without_spiderpool))),
    Kind("a setting of Spiderpool has a form that it cannot have", "SPC002", together(
        _in_section("injection", "rdma network", "-rdma", "r" * 64, "rdma/network"),
        _in_section("tls", {"method": "provided"}, {"issuer": "ca"}, {"method": "auto", "secret": "webhook"}),
        _in_section("imageRegistry", "https://mirror.example.com", "mirror example"),
        written_below(f"{_SECTION}.coordinator", ".podMacPrefix", {"podMacPrefix": "0b:1b"}, where=_with_spiderpool),
        written_below(f"{_SECTION}.coordinator", ".vethMtu", {"vethMtu": 0}, where=_with_spiderpool),
        written_below(f"{_SECTION}.tls", ".method", {"method": "letsencrypt"}, where=_with_spiderpool),
        written_below("software.ofedDriver", ".arch", {**_OFED, "arch": "x86"}, where=_with_spiderpool),
        written("fabric.defaultNetwork", "calico", "kube-system/", where=_with_spiderpool))),
)  # fmt: skip
