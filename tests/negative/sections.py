"""Sections that few stacks have: proofs of nodes, checks, measurements, waves, alarms, mirrors, acknowledgements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, together, written, written_below

_READINESS = "fabric.readiness"
_CHECK = "fabric.check"
_SLOT = "fabric.addressing.firstRailSlot"


def _beyond_the_supernet(base: Base) -> Iterator[Mistake]:
    if base.layout not in ("none", "flat") and base.supernet is not None:
        cut_by = "prefixLength" if base.addressing("prefixLength") else "railSlots"
        yield Mistake({_SLOT: 4095, "fabric.addressing.supernet": "172.20.0.0/16"}, f"fabric.addressing.{cut_by}")


_SECTION = "verification"


def _on(**more: Any) -> dict[str, Any]:
    return {"enabled": True, "image": "registry.example/nccl-tests:1", **more}


def _has_no_section(base: Base) -> bool:
    return not base.has("upgrade")


def _has_no_managed_pool(base: Base) -> bool:
    return _has_no_section(base) and base.provider != "oke"


_CABLES = "monitoring.cables"


def _without_prometheus(base: Base) -> bool:
    return "prometheus-operator" not in (base.at("cluster.installed") or ())


_REGISTRIES, _PRICES, _SIZE = "software.registries", "cluster.prices", "some-size"


def _priced(**price: Any) -> dict[str, Any]:
    return {_SIZE: {"hourly": 20.5, **price}}


_ENTRY = {"resource": "cluster-vpc", "expires": "2026-12-01", "reason": "the pool moves"}


def _without(key: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in _ENTRY.items() if name != key}]


def _with(**values: Any) -> list[dict[str, Any]]:
    return [{**_ENTRY, **values}]


KINDS = (
    Kind("what proves nodes has a form that it cannot have", "SPC002", together(
        written(_READINESS, True),
        written_below(_READINESS, ".taint", {"taint": "nobody"}),
        written_below(_READINESS, ".seconds", {"seconds": 1}),
        written_below(_READINESS, ".image", {"image": ""}),
        written_below(_READINESS, ".pair.when", {"pair": {"when": "never"}}),
        written_below(_READINESS, ".pair.percent", {"pair": {"percent": 101}}),
        written_below(_READINESS, ".pair.seconds", {"pair": {"seconds": 4}}),
        written_below(_READINESS, ".lostNics", {"lostNics": "if you like"}))),
    Kind("the first rail's slot has no effect", "ADR011",
        written(_SLOT, 1, 11, where=lambda base: base.one_pool or base.layout == "none")),
    Kind("the first rail's slot lies beyond the supernet", "ADR007", _beyond_the_supernet),
    Kind("the check or the first rail's slot has a form that it cannot have", "SPC002", together(
        written(_SLOT, -1, "eleven"),
        written(_CHECK, True),
        written_below(_CHECK, ".image", {"image": ""}))),
    Kind("a measurement has a value that it cannot have", "SPC002", together(
        written_below(_SECTION, ".nodes", _on(nodes=1), _on(nodes="two")),
        written_below(_SECTION, ".launcher", _on(launcher="slurm")),
        written_below(_SECTION, ".bar", _on(bar=0), _on(bar=-1), _on(bar="368")),
        written_below(_SECTION, ".minutes", _on(minutes=1)),
        written(_SECTION, True))),
    Kind("a wave has no node, or more than all", "SPC002", together(
        written_below("upgrade", ".nodes", {"nodes": 0}, {"nodes": "25%"}, where=_has_no_section),
        written_below("upgrade", ".percent", {"percent": 0}, {"percent": 120}, where=_has_no_section))),
    Kind("a wave's word or time is none that there is", "SPC002", together(
        written_below("upgrade", ".action", {"action": "back"}, where=_has_no_section),
        written_below("upgrade", ".whenJobsRemain", {"whenJobsRemain": "kill"}, where=_has_no_section),
        written_below("upgrade", ".jobMinutes", {"jobMinutes": -1}, where=_has_no_section))),
    Kind("waves are to replace machines on a cluster without managed pools at Oracle", "UPG004",
        written_below("upgrade", ".machines", {"machines": True}, where=_has_no_managed_pool)),
    Kind("a hook has no command", "SPC003",
        written_below("upgrade", ".hook.command", {"hook": {"image": "tools:1"}}, where=_has_no_section)),
    Kind("alarms for a Prometheus operator that is not there", "MON001",
        written("monitoring.prometheusRules", True, where=_without_prometheus)),
    Kind("a cable is named by a template, or at no place", "SPC002", together(
        *(written_below(_CABLES, ".gpu-1", {"gpu-1": text}) for text in ("{{ $labels.node }}", "port {port}", "{rail",
            "", 3)),
        *(written_below(_CABLES, f".{place}", {place: "leaf"}) for place in ("gpu-1/a", "gpu 1", "gpu-1/100")),
        written(_CABLES, ["leaf"], "leaf"))),
    Kind("a label of node_exporter's series is none", "SPC002",
        written("monitoring.nodeLabel", "k8s-node", "1node", "", "node name")),
    Kind("a mirror is no registry", "SPC002", together(
        written_below(_REGISTRIES, ".*", {"*": "https://mirror.example"}, {"*": "mirror"}, {"*": "mirror.example/"},
            {"*": "mirror.example/Upper"}, {"*": ""}),
        written(_REGISTRIES, "mirror.example", ["mirror.example"]))),
    Kind("a pull secret is no Secret's name, or is there twice", "SPC002", together(
        written_below("software.imagePullSecrets", "[0].name", [{"name": "Mirror"}], [{"name": ""}]),
        written("software.imagePullSecrets", [{"name": "mirror"}, {"name": "mirror"}]))),
    Kind("a proxy has a login, or is none", "SPC002", together(
        written_below("software.proxy", ".https", {"https": "http://me:word@proxy.example:3128"},
            {"https": "proxy.example:3128"}, {"https": "socks5://proxy.example:1080"}),
        written("software.proxy", {"noProxy": [".example.com"]}))),
    Kind("a price is no price", "SPC002", together(
        written_below(_PRICES, f".{_SIZE}.hourly", _priced(hourly=0), _priced(hourly=-1), _priced(hourly="20.5")),
        written_below(_PRICES, f".{_SIZE}.currency", _priced(currency="dollars")),
        written_below(_PRICES, f".{_SIZE}.asOf", _priced(asOf="last week")),
        written_below(_PRICES, f".{_SIZE}", _priced(hourlyMost=1)))),
    Kind("a key of the guard is misspelt", "SPC001", together(
        written("guard.acknowlege", [_ENTRY]),
        written("guard.acknowledgements", [_ENTRY]),
        written_below("guard.acknowledge", "[0].until", _with(until="2026-12-01")))),
    Kind("an acknowledgement lacks what it needs", "SPC003",
        together(*(written_below("guard.acknowledge", f"[0].{key}", _without(key))
            for key in ("resource", "expires", "reason")))),
    Kind("an acknowledgement says nothing", "SPC002", together(
        written_below("guard.acknowledge", "[0].reason", _with(reason=""), _with(reason="  "), _with(reason=None)),
        written_below("guard.acknowledge", "[0].resource", _with(resource=""), _with(resource=["cluster-vpc"])))),
    Kind("an acknowledgement has no day", "SPC002",
        together(written_below("guard.acknowledge", "[0].expires",
            *(_with(expires=value) for value in ("never", "2026-13-01", "01.12.2026", "2026-12-01T12:00:00Z", 20261201,
            True, None))))),
    Kind("a resource is acknowledged twice", "SPC002",
        written("guard.acknowledge", [_ENTRY, {**_ENTRY, "expires": "2026-12-09"}])),
)  # fmt: skip
