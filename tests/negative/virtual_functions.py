"""Virtual functions: a maker who has none to make, cannot make them, or is told what only another one reads."""

from __future__ import annotations

from collections.abc import Iterator

from program_lists import MAKERS

from negative.base import Base
from negative.mistake import Kind, Mistake, together, written, written_below

_MAKER = "fabric.virtualFunctions"
_VFS = "fabric.vfsPerNic"
_PARTITION_KEYS = "software.networkOperator.partitionKeys"
_BY_OPERATOR = ("sriov-operator", "externally-managed")


def _has_none(base: Base) -> bool:
    return base.model not in ("sriov", "ib-sriov")


def _of_spiderpool(base: Base) -> bool:
    return base.manager == "spiderpool" and not _has_none(base)


def _addresses_unknown(base: Base) -> Iterator[Mistake]:
    """The DaemonSet on machines whose NICs are known by their interfaces only."""
    nics = base.at(f"cluster.shapes.{base.pool['shape']}.nics", []) if "." not in base.pool["shape"] else []
    if base.maker is not None and nics and "pci" not in nics[0]:
        yield Mistake({_MAKER: "daemon-set"}, "fabric.rails")


def _more_than_there_are(base: Base) -> Iterator[Mistake]:
    """Oracle's machines come with one virtual function per NIC."""
    if base.maker is not None and base.pool["shape"].startswith("BM.") and base.line != "23.10":
        for number in (2, 8, 16):
            yield Mistake({_MAKER: "externally-managed", _VFS: number}, _VFS)


def _none_to_make(base: Base) -> Iterator[Mistake]:
    if base.maker is not None and base.line != "23.10":
        for maker in sorted({*MAKERS} - {"node-image"}):
            yield Mistake({_MAKER: maker, _VFS: 0}, _VFS)


def _without_guids(base: Base) -> bool:
    return base.maker is not None and base.model == "ib-sriov" and not base.at(_PARTITION_KEYS, None)


def _image_nobody_takes(base: Base) -> bool:
    return base.maker != "daemon-set" and not base.has("fabric.hostPreparation")


def _nothing_for_the_node_image(base: Base) -> bool:
    """Stacks whose networks call no CNI plug-in that the node image would have to bring."""
    brought = base.model in ("macvlan", "ipoib", "host-network") or base.maker in _BY_OPERATOR
    # Routed rails call DigitalOcean's own.
    by_doks = base.manager == "doks" and "-lc-fabric" not in base.pool["shape"]
    return by_doks or (base.manager == "network-operator" and brought)


KINDS = (
    Kind(
        "a maker of virtual functions has none to make",
        "VFN001",
        written(_MAKER, "node-image", "daemon-set", *_BY_OPERATOR, where=_has_none),
    ),
    Kind(
        "the release line's SR-IOV operator does not work",
        "VFN002",
        written(_MAKER, *_BY_OPERATOR, where=lambda base: base.line == "23.10"),
    ),
    Kind("the script does not know where the NICs are", "VFN003", _addresses_unknown),
    Kind("more virtual functions are counted on than there are", "VFN004", _more_than_there_are),
    Kind(
        "two resources differ in capital letters only",
        "VFN013",
        written_below(
            "fabric.rails",
            "[1].resource",
            [{"rail": 0, "resource": "Left"}, {"rail": 1, "resource": "left"}],
            where=lambda base: base.maker in _BY_OPERATOR or _of_spiderpool(base),
        ),
    ),
    Kind(
        "Spiderpool is to hand out virtual functions that it does not make",
        "VFN012",
        written(_MAKER, "node-image", "daemon-set", where=_of_spiderpool),
    ),
    Kind("InfiniBand functions get no GUIDs", "VFN011", written(_MAKER, "daemon-set", where=_without_guids)),
    Kind("no virtual functions are to be made", "DEV003", _none_to_make),
    Kind(
        "an image is named for a script that does not run",
        "VFN008",
        written("software.hostImage", "mirror.example.com/busybox:1.36.1", where=_image_nobody_takes),
    ),
    Kind(
        "CNI plug-ins that nobody calls are left to the node image",
        "NET013",
        written("software.cniPlugins", "node-image", where=_nothing_for_the_node_image),
    ),
    Kind(
        "a choice about virtual functions is misspelt",
        "SPC002",
        together(
            written(_MAKER, "nodeImage", "daemonset", "operator", "external"),
            written("software.cniPlugins", "installed", "none"),
            written("software.hostImage", ""),
        ),
    ),
)
