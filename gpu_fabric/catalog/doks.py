"""DigitalOcean's GPU sizes, which follow from `shapes/doks.yaml` and the grammar of their names, and its clusters.

`gpu-<model>x<count>-<total memory>gb[-lc][-fabric][-contracted|-spot]`; the memory is that of all GPUs together, in GB
(source: DOKS guide). Published dates, lowest versions and limits of clusters are in `doks_clusters.yaml`.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gpu_fabric.catalog.shape import DoksSize, FrontEndNic, Gpus, Nic, NicModel, Shape, Vendor
from gpu_fabric.model import FrozenModel

Offer = Literal["on-demand", "contracted", "spot"]

_SLUG = re.compile(
    r"gpu-(?P<model>[a-z0-9]+?)x(?P<count>[1-9][0-9]*)-(?P<total>[1-9][0-9]*)gb"
    r"(?P<liquid>-lc)?(?P<fabric>-fabric)?(?:-(?P<offer>contracted|spot))?"
)

# Multi-node GPUs come in multiples of eight: whole nodes (source: DOKS guide, limits).
_GPUS_OF_A_FABRIC_NODE = 8

# eth0 is the public interface, eth1 the VPC's (source: DOKS guide).
_FRONT_END = (FrontEndNic(interface="eth0"), FrontEndNic(interface="eth1"))

_UNLISTED = "grammar of DigitalOcean's GPU size names; no published list has this size"


class SizeName(FrozenModel):
    """The parts of a size's name. `memory_gb` is the memory of one GPU; `model` is the name's word, such as mi300."""

    model: str
    gpus: int
    memory_gb: int
    liquid_cooled: bool
    fabric: bool
    offer: Offer


class Machine(FrozenModel):
    """The host around the GPUs."""

    vcpus: int
    memory_gib: int


class GpuModel(FrozenModel):
    """Facts that all sizes of a GPU model share; keys of `machines` are numbers of GPUs, `advice` is for the fabric."""

    vendor: Vendor
    model: str
    memory_gb: int
    fabric_nics_per_gpu: int = Field(default=1, ge=1)
    machines: dict[int, Machine] = {}
    advice: tuple[str, ...] = ()


class SizeRow(FrozenModel):
    """Facts that a size's name does not contain. `multi_node` is set only where the name misleads."""

    multi_node: bool | None = None
    fabric: Literal["rail-only", "rail-optimized"] | None = None
    regions: tuple[str, ...] = ()
    mtu: int | None = None
    nic_speed_gbps: int | None = None
    nic_model: NicModel = NicModel(link_type="ether")
    notes: tuple[str, ...] = ()
    source: str = Field(min_length=1)


class DoksTable(FrozenModel):
    """The content of `shapes/doks.yaml`."""

    models: dict[str, GpuModel]
    sizes: dict[str, SizeRow]

    def shapes(self) -> dict[str, Shape]:
        """The shapes of all rows, by slug."""
        return {slug: shape for slug in self.sizes if (shape := size_shape(slug, self)) is not None}


def read_size_name(slug: str) -> SizeName | None:
    """The parts of a slug; None if the text is not a slug, or the memory is not divisible by the number of GPUs."""
    match = _SLUG.fullmatch(slug)
    if match is None or int(match["total"]) % int(match["count"]):
        return None
    return SizeName(
        model=match["model"],
        gpus=int(match["count"]),
        memory_gb=int(match["total"]) // int(match["count"]),
        liquid_cooled=match["liquid"] is not None,
        fabric=match["fabric"] is not None,
        offer=match["offer"] or "on-demand",
    )


def size_shape(slug: str, table: DoksTable) -> Shape | None:
    """The shape of a size: its row, or the facts that the grammar alone gives (then `known` is False).

    None if the text does not fit the grammar, the GPU model is unknown or has another memory, or a multi-node size is
    not a whole node.
    """
    name = read_size_name(slug)
    model = table.models.get(name.model) if name else None
    if name is None or model is None or model.memory_gb != name.memory_gb:
        return None
    row = table.sizes.get(slug)
    facts = row or SizeRow(source=_UNLISTED)
    multi_node = name.fabric if facts.multi_node is None else facts.multi_node
    if multi_node and name.gpus != _GPUS_OF_A_FABRIC_NODE:
        return None
    machine = model.machines.get(name.gpus)
    return Shape(
        name=slug,
        provider="doks",
        gpus=Gpus(vendor=model.vendor, model=model.model, count=name.gpus, memory_gb=model.memory_gb),
        nic_model=facts.nic_model if multi_node else None,
        mtu=facts.mtu,
        nic_speed_gbps=facts.nic_speed_gbps,
        nics=_fabric_nics(name.gpus, model.fabric_nics_per_gpu) if multi_node else (),
        front_end_nics=_FRONT_END,
        doks=DoksSize(
            offer=name.offer,
            multi_node=multi_node,
            liquid_cooled=name.liquid_cooled,
            fabric=facts.fabric,
            regions=facts.regions,
            vcpus=machine and machine.vcpus,
            memory_gib=machine and machine.memory_gib,
        ),
        known=row is not None,
        notes=facts.notes,
        advice=model.advice if multi_node else (),
        source=facts.source,
    )


def _fabric_nics(gpus: int, per_gpu: int) -> tuple[Nic, ...]:
    # fabric0, fabric1, … next to the GPUs in their order (source: DOKS guide, and DigitalOcean's NCCL topology file)
    return tuple(Nic(interface=f"fabric{rail}", nearest_gpu=rail // per_gpu) for rail in range(gpus * per_gpu))


Day = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
"""A published day, as year-month-day; the program never compares it with today."""


class DoksMinor(FrozenModel):
    """One minor version of Kubernetes. `forced_upgrades_from` is None if no date is published."""

    support_ends: Day
    forced_upgrades_from: Day | None = None


class DoksLimits(FrozenModel):
    """Limits of one cluster.

    `multi_node_nodes` limits the nodes of one multi-node size. `wide_nodes` replaces `nodes` if the pod range has the
    prefix length `wide_pod_prefix` or less; every node uses a prefix of length `node_pod_prefix` of that range.
    """

    multi_node_nodes: int = Field(ge=1)
    nodes: int = Field(ge=1)
    wide_pod_prefix: int
    wide_nodes: int = Field(ge=1)
    node_pod_prefix: int
    shortest_vpc_prefix: int
    longest_vpc_prefix: int
    vpc_addresses_taken: int = Field(ge=0)


class UsedRange(FrozenModel):
    """A range that DigitalOcean uses; `default_of` is the key of the cluster's range for which it is the default."""

    range: IPv4Network
    use: str
    default_of: Literal["pods", "services"] | None = None
    verified: bool
    source: str


class DoksClusterFacts(FrozenModel):
    """Versions and limits of DigitalOcean's clusters.

    Keys of `versions` are the minor versions with published dates. `fabric_from` is the lowest version with a fabric,
    `fabric_from_by_gpu` that of single GPU models.
    """

    versions: dict[str, DoksMinor]
    fabric_from: str
    fabric_from_by_gpu: dict[str, str]
    high_availability_from: str
    limits: DoksLimits
    used_ranges: tuple[UsedRange, ...]
