"""Spiderpool's software: switches without effect, and values that take away what its networks rely on."""

from __future__ import annotations

from typing import Any

from negative.base import Base
from negative.mistake import Applies, Kind, Mistake, Mistakes, together, written, written_below

_SECTION = "software.spiderpool"
_VALUES = f"{_SECTION}.values"
_OFED = {"os": "ubuntu", "osVersion": "22.04"}


def _with_spiderpool(base: Base) -> bool:
    return base.manager == "spiderpool"


def _without_spiderpool(base: Base) -> bool:
    return base.manager != "spiderpool"


def _with(*models: str) -> Applies:
    return lambda base: _with_spiderpool(base) and base.model in models


def _values(value: dict[str, Any], at: str, where: Applies = _with_spiderpool) -> Mistakes:
    return written_below(_VALUES, f".{at}", value, where=where)


def _given(changes: dict[str, Any], path: str, where: Applies = _with_spiderpool) -> Mistakes:
    return lambda base: iter([Mistake(changes, path)] if where(base) else [])


def _in_section(key: str, *values: Any) -> Mistakes:
    return written(f"{_SECTION}.{key}", *values, where=_with_spiderpool)


KINDS = (
    Kind(
        "values of Spiderpool's chart break its networks",
        "SPI007",
        together(
            _values({"global": {"configName": "fabric"}}, "global.configName"),
            _values({"multus": {"enableMultusConfig": False}}, "multus.enableMultusConfig"),
            _values({"ipam": {"enableIPv4": False}}, "ipam.enableIPv4"),
            _values(
                {"spiderpoolAgent": {"tuneSysctlConfig": False}},
                "spiderpoolAgent.tuneSysctlConfig",
                lambda base: _with_spiderpool(base) and not base.at(f"{_SECTION}.metrics"),
            ),
            _values({"plugins": {"installCNI": False}}, "plugins.installCNI", _with("macvlan", "sriov")),
            _values({"plugins": {"installSriovCNI": False}}, "plugins.installSriovCNI", _with("sriov")),
            _values({"plugins": {"installIpoibCNI": False}}, "plugins.installIpoibCNI", _with("ipoib")),
            _values({"sriov": {"resourcePrefix": "rdma"}}, "sriov.resourcePrefix", _with("sriov", "ib-sriov")),
        ),
    ),
    Kind(
        "values of Spiderpool's chart keep the webhook from the jobs",
        "SPI012",
        together(
            *(
                _given(
                    {
                        f"{_SECTION}.injection": "rdma-network",
                        _VALUES: {"spiderpoolController": {"podResourceInject": {key: value}}},
                    },
                    f"{_VALUES}.spiderpoolController.podResourceInject.{key}",
                )
                for key, value in (
                    ("enabled", False),
                    ("namespacesInclude", ["somewhere-else"]),
                    ("namespacesInclude", ["default", "kube-system"]),
                    ("namespacesExclude", ["default"]),
                )
            )
        ),
    ),
    Kind(
        "a switch of Spiderpool has no effect",
        "SPI014",
        together(
            _in_section("serviceMonitor", True),
            _in_section("grafanaLabels", {"dashboards": "grafana"}),
            _in_section("ibKubernetes", True),
        ),
    ),
    Kind(
        "Spiderpool would clean another operator's definitions up",
        "SPI017",
        together(
            *(
                _given(
                    {
                        "cluster.installed": [other],
                        _VALUES: {"spiderpoolController": {"cleanup": {"enable": True}}},
                    },
                    f"{_VALUES}.spiderpoolController.cleanup.enable",
                )
                for other in ("sriov-operator", "network-operator")
            )
        ),
    ),
    Kind(
        "Spiderpool is told something although another manager drives the fabric",
        "REL005",
        together(
            written(f"{_SECTION}.injection", "rdma-network", where=_without_spiderpool),
            written(f"{_SECTION}.metrics", True, where=_without_spiderpool),
            written(f"{_SECTION}.tls", {"method": "certmanager"}, where=_without_spiderpool),
            written(f"{_SECTION}.coordinator", {"vethMtu": 1400}, where=_without_spiderpool),
            written_below("software.ofedDriver", ".os", _OFED, where=_without_spiderpool),
        ),
    ),
    Kind(
        "Spiderpool's metrics have no Prometheus operator",
        "REL007",
        _given({_SECTION: {"metrics": True, "serviceMonitor": True}}, f"{_SECTION}.serviceMonitor"),
    ),
    Kind(
        "Spiderpool's dashboards have no Grafana operator",
        "REL013",
        together(
            _in_section("grafanaDashboards", True),
            _values({"grafanaDashboard": {"install": True}}, "grafanaDashboard.install"),
        ),
    ),
    Kind(
        "Spiderpool's certificates have no cert-manager",
        "OWN007",
        together(
            _given({f"{_SECTION}.tls": {"method": "certmanager"}}, f"{_SECTION}.tls.method"),
            _values({"spiderpoolController": {"tls": {"method": "certmanager"}}}, "spiderpoolController.tls.method"),
        ),
    ),
    Kind(
        "a setting of Spiderpool has a form that it cannot have",
        "SPC002",
        together(
            _in_section("injection", "rdma network", "-rdma", "r" * 64, "rdma/network"),
            _in_section("tls", {"method": "provided"}, {"issuer": "ca"}, {"method": "auto", "secret": "webhook"}),
            _in_section("imageRegistry", "https://mirror.example.com", "mirror example"),
            written_below(
                f"{_SECTION}.coordinator", ".podMacPrefix", {"podMacPrefix": "0b:1b"}, where=_with_spiderpool
            ),
            written_below(f"{_SECTION}.coordinator", ".vethMtu", {"vethMtu": 0}, where=_with_spiderpool),
            written_below(f"{_SECTION}.tls", ".method", {"method": "letsencrypt"}, where=_with_spiderpool),
            written_below("software.ofedDriver", ".arch", {**_OFED, "arch": "x86"}, where=_with_spiderpool),
            written("fabric.defaultNetwork", "calico", "kube-system/", where=_with_spiderpool),
        ),
    ),
)
