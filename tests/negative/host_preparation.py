"""Host preparation: jobs that cannot be done, do not fit the fabric, or are somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Applies, Kind, Mistake, Mistakes, together, written, written_below

_AT = "fabric.hostPreparation"
_ADDRESSING = "fabric.addressing"


def _jobs(where: Applies, path: str, *jobs: dict[str, Any]) -> Mistakes:
    """Each set of jobs in turn, faulty at a path."""
    return lambda base: iter([Mistake({_AT: job}, path) for job in jobs] if where(base) else [])


def _doks(base: Base) -> bool:
    return base.manager == "doks"


def _infiniband(base: Base) -> bool:
    return base.at("fabric.linkType") == "infiniband"


def _ethernet(base: Base) -> bool:
    return not _infiniband(base) and base.pool["shape"].startswith("BM.")


def _without_addresses(base: Base) -> bool:
    return base.layout == "none" and not _doks(base)


def _whole_nics(base: Base) -> bool:
    return base.model == "host-device" and not _doks(base)


def _mode_set_by_others(base: Base) -> bool:
    exclusive = base.at("fabric.rdmaMode", "exclusive") == "exclusive"
    return base.maker == "daemon-set" or (base.maker == "sriov-operator" and exclusive)


def _nics(base: Base) -> list[dict[str, Any]]:
    """The NICs as the stack file describes them; none where the catalog does."""
    return list(base.at(f"cluster.shapes.{base.pool['shape']}.nics", [])) if "." not in base.pool["shape"] else []


def _by_interface_only(base: Base) -> bool:
    nics = _nics(base)
    return bool(nics) and "pci" not in nics[0]


def _nameless_nodes(base: Base) -> Iterator[Mistake]:
    if base.layout != "none" and not base.one_pool and not base.pool.get("nodeNames"):
        yield Mistake({_AT: {"addresses": True}}, "cluster.pools[0].nodeNames")
    if base.at(f"{_AT}.addresses"):
        yield Mistake({"cluster.pools[0].nodeNames": None}, "cluster.pools[0].nodeNames")


def _too_few_addresses(base: Base) -> Iterator[Mistake]:
    if not base.at(f"{_AT}.addresses"):
        return
    for key in ("reservedFirst", "reservedLast"):
        if base.addressing(key):
            yield Mistake({f"{_ADDRESSING}.{key}": None}, f"{_ADDRESSING}.reservedFirst")
    if base.layout != "per-node":
        end = "reservedLast" if base.addressing("reservedLast") else "reservedFirst"
        yield Mistake({f"{_ADDRESSING}.spareNodes": 60, "fabric.podsPerNic": 2}, f"{_ADDRESSING}.{end}")


def _unknown_nics(base: Base) -> Iterator[Mistake]:
    """A board whose NICs' names differ from server to server."""
    named = any("interface" in rail for rail in base.at("fabric.rails", []))
    if base.provider == "existing" and base.pool["shape"].startswith("server.") and not named:
        job: dict[str, Any] = {"ipoib": True} if _infiniband(base) else {"lossless": {}}
        yield Mistake({"cluster.pools[0].shape": "server.hgx-h100.8", _AT: job}, "fabric.rails")


def _lossless(**values: int) -> dict[str, Any]:
    return {"lossless": values}


KINDS = (
    Kind(
        "hosts of DigitalOcean are prepared",
        "HPR001",
        _jobs(_doks, _AT, {"disableAcs": True}, {"lossless": {}}, {"rdmaMode": True, "dryRun": True}),
    ),
    Kind("addresses are for nodes without names", "HPR003", _nameless_nodes),
    Kind(
        "addresses of hosts have no subnet a rail",
        "HPR004",
        together(
            _jobs(_without_addresses, f"{_AT}.addresses", {"addresses": True}),
            _jobs(lambda base: base.one_pool, f"{_AT}.addresses", {"addresses": True}),
        ),
    ),
    Kind("a job does not know the interfaces", "HPR005", _unknown_nics),
    Kind("too few addresses are kept for hosts", "HPR006", _too_few_addresses),
    Kind(
        "a job is for the other link layer",
        "HPR008",
        together(
            _jobs(_infiniband, f"{_AT}.lossless", {"lossless": {}}, {"lossless": {"priority": 3}, "rdmaMode": True}),
            _jobs(_ethernet, f"{_AT}.ipoib", {"ipoib": True}),
        ),
    ),
    Kind(
        "a rule about the fabric's range has no range",
        "HPR010",
        _jobs(_without_addresses, f"{_AT}.fabricRule", {"fabricRule": True}),
    ),
    Kind(
        "a link layer is asked of NICs without PCI addresses",
        "HPR012",
        _jobs(_by_interface_only, "fabric.rails", {"linkType": "report"}, {"linkType": "change"}),
    ),
    Kind("the RDMA mode has two owners", "HPR015", _jobs(_mode_set_by_others, f"{_AT}.rdmaMode", {"rdmaMode": True})),
    Kind(
        "a job prepares NICs that pods take away",
        "HPR017",
        together(
            _jobs(_whole_nics, f"{_AT}.addresses", {"addresses": True}),
            _jobs(_whole_nics, f"{_AT}.lossless", {"lossless": {}}),
        ),
    ),
    Kind(
        "a job is misspelt",
        "SPC001",
        together(
            written_below(_AT, ".disableACS", {"disableACS": True}), written_below(_AT, ".losless", {"losless": {}})
        ),
    ),
    Kind(
        "a job has settings that it cannot have",
        "SPC002",
        together(
            written_below(_AT, ".lossless.priority", _lossless(priority=8)),
            written_below(
                _AT,
                ".lossless",
                _lossless(priority=3, cnpPriority=3),
                _lossless(dscp=26),
                _lossless(priority=3, cnpDscp=40),
            ),
            written_below(_AT, ".linkType", {"linkType": "switch"}, {"linkType": True}),
            written(_AT, ["lossless"], True),
        ),
    ),
)
