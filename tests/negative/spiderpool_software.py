"""Spiderpool's software: switches without effect, and values that take away what its networks rely on."""

from __future__ import annotations

from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistakes, together, written, written_below

_SECTION = "software.spiderpool"
_OFED = {"os": "ubuntu", "osVersion": "22.04"}


def _with_spiderpool(base: Base) -> bool:
    return base.manager == "spiderpool"


def _without_spiderpool(base: Base) -> bool:
    return base.manager != "spiderpool"


def _in_section(key: str, *values: Any) -> Mistakes:
    return written(f"{_SECTION}.{key}", *values, where=_with_spiderpool)


KINDS = (
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
