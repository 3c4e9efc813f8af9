"""The catalog's shapes as a table, as a page on one shape, and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pydantic import computed_field
from rich.console import Group, RenderableType
from rich.text import Text

from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.shape import Nic
from gpu_fabric.report.console import FittingTable, Pairs

_LINKS = {"ether": "RoCE", "infiniband": "IB"}
_VIRTUAL_FUNCTIONS = {
    "preview": "its vendor ships them as a preview, off by default",
    "experimental": "experimental: on a branch of its vendor's only",
    "none": "its vendor has none",
    "host": "the machine's administrator creates them",
}
_UNKNOWN = "not published"
# Columns that a narrow screen leaves out; the page on a shape shows them.
_SPARE = ("link", "MTU", "VFs", "provider", "notes", "topo")


def matching_shapes(
    shapes: Iterable[Shape],
    *,
    provider: str | None = None,
    vendor: str | None = None,
    gpu: str | None = None,
    rdma: bool | None = None,
) -> list[Shape]:
    """The shapes that match all given filters; `gpu` is a prefix of a model's name, in any case."""
    return [
        shape
        for shape in shapes
        if provider in (None, shape.provider)
        and vendor in (None, shape.gpus.vendor)
        and (gpu is None or (shape.gpus.model or "").lower().startswith(gpu.lower()))
        and rdma in (None, shape.rails > 0)
    ]


class ListedShape(Shape):
    """A shape for scripts: its row and derived values, and whether it has a topology file."""

    topology_published: bool

    @computed_field  # type: ignore[prop-decorator]
    @property
    def rails(self) -> int:
        """As of every shape."""
        return super().rails

    @computed_field  # type: ignore[prop-decorator]
    @property
    def hca_list(self) -> str | None:
        """As of every shape."""
        return super().hca_list


def listed_shape(shape: Shape, published: Collection[str]) -> ListedShape:
    """A shape for scripts. `published` names the shapes with a topology file."""
    return ListedShape.model_construct(**dict(shape), topology_published=shape.name in published)


def shape_table(shapes: Iterable[Shape], published: Collection[str]) -> RenderableType:
    """One line per shape, with fewer columns on a narrow screen; `published` names the shapes with a topology file."""
    columns = ("shape", "provider", "GPUs", "rails", "NIC", "link", "MTU", "VFs", "topo", "notes")
    table = FittingTable(columns, (_row(shape, published) for shape in shapes), right=("rails",), spare=_SPARE)
    legend = (
        "-: none, or not published; VFs: how virtual functions are offered; topo: an NCCL topology file is published;\n"
        "*: has notes, which `gpu-fabric shapes NAME` shows"
    )
    return Group(table, Text(f"\n{legend}", style="dim"))


def _row(shape: Shape, published: Collection[str]) -> tuple[str, ...]:
    nic = shape.nic_model
    return (
        shape.name,
        shape.provider,
        f"{shape.gpus.count} {shape.gpus.model or shape.gpus.vendor}",
        str(shape.rails or "-"),
        (nic and (nic.model or nic.driver)) or "-",
        _LINKS[nic.link_type] if nic else "-",
        str(shape.mtu or "-"),
        "-" if shape.vf_support == "none" else shape.vf_support,
        "yes" if shape.name in published else "-",
        "*" if shape.notes else "",
    )


def shape_page(shape: Shape, published: Collection[str]) -> RenderableType:
    """Everything known about one shape; `published` names the shapes with a topology file."""
    facts = Pairs(_facts(shape, published))
    nics: list[RenderableType] = [Text(), _nics(shape)] if shape.nics else []
    unlisted = "" if shape.known else ", not in the catalog: read from its name"
    return Group(
        Text.assemble((shape.name, "bold"), f" ({shape.provider}{unlisted})"),
        facts,
        *nics,
        *(
            Text(f"{'       ' if position else 'Notes: '}{note}", overflow="ignore")
            for position, note in enumerate(shape.notes)
        ),
        Text(f"Source: {shape.source}", style="dim", overflow="ignore"),
    )


def _facts(shape: Shape, published: Collection[str]) -> dict[str, str]:
    gpus, nic = shape.gpus, shape.nic_model
    memory = f" of {gpus.memory_gb} GB" if gpus.memory_gb else ""
    facts = {"GPUs": f"{gpus.count} {gpus.vendor} {gpus.model or '(model not published)'}{memory}, {gpus.resource}"}
    if nic is None:
        facts["RDMA"] = "no RDMA NICs"
    else:
        speed = f", {shape.nic_speed_gbps} Gb/s each" if shape.nic_speed_gbps else ""
        facts |= {
            "RDMA NICs": f"{shape.rails} {nic.model or '(model not published)'}, {_LINKS[nic.link_type]}{speed}",
            "PCI ids": f"{_id(nic.vendor_id, nic.device_id)}, virtual functions {_id(nic.vendor_id, nic.vf_device_id)}"
            f", driver {nic.driver or _UNKNOWN}",
            "MTU": str(shape.mtu or _UNKNOWN),
            "VFs": f"{shape.vfs_per_nic} a NIC on a fresh node; {_VIRTUAL_FUNCTIONS[shape.vf_support]}",
            "NCCL_IB_HCA": shape.hca_list or f"none: the RDMA devices' names are {_UNKNOWN}",
        }
    facts |= {
        "front end": _front_end(shape),
        "topology file": "published" if shape.name in published else _UNKNOWN,
    }
    if size := shape.doks:
        host = f", {size.vcpus} vCPUs, {size.memory_gib} GiB" if size.vcpus else ""
        facts["size"] = (
            f"{size.offer}, {'multi-node' if size.multi_node else 'single-node'}"
            f"{', liquid-cooled' if size.liquid_cooled else ''}{f', {size.fabric} fabric' if size.fabric else ''}{host}"
        )
        facts["regions"] = ", ".join(size.regions) or _UNKNOWN
    return facts


def _id(vendor: str | None, device: str | None) -> str:
    return f"{vendor or '?'}:{device or '?'}"


def _front_end(shape: Shape) -> str:
    if shape.front_end_nics is None:
        return _UNKNOWN
    named = (
        " ".join(part for part in (nic.interface, nic.rdma_device, nic.pci) if part) for nic in shape.front_end_nics
    )
    return ", ".join(text or "unnamed" for text in named)


def _nics(shape: Shape) -> FittingTable:
    columns = ("rail", "PCI", "RDMA device", "interface", "nearest GPU", "that GPU's PCI")
    return FittingTable(columns, (_nic_row(shape, rail, nic) for rail, nic in enumerate(shape.nics)))


def _nic_row(shape: Shape, rail: int, nic: Nic) -> tuple[str, ...]:
    gpu = nic.nearest_gpu
    return (
        str(rail),
        nic.pci or "-",
        nic.rdma_device or "-",
        nic.interface or "-",
        "-" if gpu is None else str(gpu),
        "-" if gpu is None or not shape.gpus.pci else shape.gpus.pci[gpu],
    )
