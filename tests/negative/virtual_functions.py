"""Virtual functions: a maker who has none to make, cannot make them, or is told what only another one reads."""

from __future__ import annotations

from collections.abc import Iterator

from program_lists import MAKERS

from negative.base import Base
from negative.mistake import Kind, Mistake, together, written

_MAKER = "fabric.virtualFunctions"
_VFS = "fabric.vfsPerNic"
_PARTITION_KEYS = "software.networkOperator.partitionKeys"
_BY_OPERATOR = ("sriov-operator", "externally-managed")


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


def _nothing_for_the_node_image(base: Base) -> bool:
    """Stacks whose networks call no CNI plug-in that the node image would have to bring."""
    brought = base.model in ("macvlan", "ipoib", "host-network") or base.maker in _BY_OPERATOR
    # Routed rails call DigitalOcean's own.
    by_doks = base.manager == "doks" and "-lc-fabric" not in base.pool["shape"]
    return by_doks or (base.manager == "network-operator" and brought)


KINDS = (
    Kind("more virtual functions are counted on than there are", "VFN004", _more_than_there_are),
    Kind("InfiniBand functions get no GUIDs", "VFN011", written(_MAKER, "daemon-set", where=_without_guids)),
    Kind("no virtual functions are to be made", "DEV003", _none_to_make),
    Kind("CNI plug-ins that nobody calls are left to the node image", "NET013",
        written("software.cniPlugins", "node-image", where=_nothing_for_the_node_image)),
    Kind("a choice about virtual functions is misspelt", "SPC002", together(
        written(_MAKER, "nodeImage", "daemonset", "operator", "external"),
        written("software.cniPlugins", "installed", "none"),
        written("software.hostImage", ""))),
)  # fmt: skip
