"""DigitalOcean's GPU sizes: the grammar of their names, and the shapes that follow from it and `shapes/doks.yaml`.

`gpu-<model>x<count>-<total memory>gb[-lc][-fabric][-contracted|-spot]`; the memory is that of all GPUs together, in GB
(source: DOKS guide).
"""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from fabric.catalog.shape import DoksSize, FrontEndNic, Gpus, Nic, NicModel, Shape, Vendor
from fabric.model import FrozenModel

Offer = Literal["on-demand", "contracted", "spot"]

_SLUG = re.compile(
    r"gpu-(?P<model>[a-z0-9]+?)x(?P<count>[1-9]\d*)-(?P<total>[1-9]\d*)gb"
    r"(?P<liquid>-lc)?(?P<fabric>-fabric)?(?:-(?P<offer>contracted|spot))?"
)

# Multi-node GPUs come in multiples of eight: whole nodes (source: DOKS guide, limits).
_GPUS_OF_A_FABRIC_NODE = 8

# eth0 is the public interface, eth1 the VPC's (source: DOKS guide).
_FRONT_END = (FrontEndNic(interface="eth0"), FrontEndNic(interface="eth1"))

_UNLISTED = "grammar of DigitalOcean's GPU size names; no published list has this size"


class SizeName(FrozenModel):
    """A size's name, read by the grammar. `memory_gb` is that of one GPU; `model` is the name's word, such as mi300."""

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
    """What all sizes of one GPU model share; `machines` is keyed by the number of GPUs, `advice` is for its fabric."""

    vendor: Vendor
    model: str
    memory_gb: int
    fabric_nics_per_gpu: int = Field(default=1, ge=1)
    machines: dict[int, Machine] = {}
    advice: tuple[str, ...] = ()


class SizeRow(FrozenModel):
    """What a size's name does not say. `multi_node` is set only where the name misleads."""

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

    @model_validator(mode="after")
    def _names_agree_with_the_models(self) -> Self:
        if wrong := [slug for slug in self.sizes if size_shape(slug, self) is None]:
            raise ValueError(f"no names of GPU sizes, by their grammar and the models' memory: {', '.join(wrong)}")
        return self

    def shapes(self) -> dict[str, Shape]:
        """The shapes of all rows, by slug."""
        return {slug: shape for slug in self.sizes if (shape := size_shape(slug, self)) is not None}


def read_size_name(slug: str) -> SizeName | None:
    """The parts of a slug; None for text that is no slug, or whose memory does not divide among its GPUs."""
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
    """The shape of a size: its row, or what the grammar alone says (`known` is False then).

    None where the text does not fit the grammar, the GPU model is unknown or has another memory, or a multi-node size
    is not a whole node.
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
    # fabric0, fabric1, … beside the GPUs in their order (source: DOKS guide, and DigitalOcean's NCCL topology file)
    return tuple(Nic(interface=f"fabric{rail}", nearest_gpu=rail // per_gpu) for rail in range(gpus * per_gpu))
