"""The pools of a cluster that Oracle runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from fabric.catalog.oke_cluster import Cycling, Placement
from fabric.model import FrozenModel
from fabric.spec.cluster import Pool
from fabric.spec.oke_ids import ImageId, Ocid, ReservationId

FaultDomain = Literal["FAULT-DOMAIN-1", "FAULT-DOMAIN-2", "FAULT-DOMAIN-3"]
AvailabilityDomain = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9:-]+$")]


class FlexPool(FrozenModel):
    """The CPU pool that carries system pods; a node pool that Oracle manages."""

    shape: str = Field(default="VM.Standard.E5.Flex", min_length=1, description="a CPU shape")
    ocpus: int = Field(default=4, ge=1, le=94, description="OCPUs of a node")
    memory_gib: int = Field(default=16, ge=1, le=1049, description="memory of a node in GiB")
    nodes: int = Field(default=3, ge=1, le=1000, description="number of CPU nodes")
    boot_volume_gib: int = Field(default=128, ge=50, le=32768, description="size of the boot volume in GiB")
    image_id: ImageId | None = Field(
        default=None, description="id of the machine image; by default Oracle's newest for the Kubernetes version"
    )


class BootVolume(FrozenModel):
    """The boot volume of a node."""

    size_gib: int = Field(default=512, ge=50, le=32768, description="size in GiB")
    vpus_per_gib: Literal[0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120] = Field(
        default=10, description="performance units per GiB"
    )


class BootSteps(FrozenModel):
    """Bash that a node runs around its joining; a step that fails is logged, and the node goes on."""

    before_join: str | None = Field(default=None, min_length=1, description="what to run before")
    after_join: str | None = Field(default=None, min_length=1, description="what to run afterwards")


class OkePool(Pool):
    """A pool of GPU machines."""

    placement: Placement = Field(
        default="cluster-network",
        description="the OCI construct that holds the machines; it decides about RDMA, growth and replacement",
    )
    image_id: ImageId | None = Field(default=None, description="id of the machine image")
    image_uri: str | None = Field(
        default=None, min_length=1, description="where to import the machine image from, instead of an id"
    )
    boot_volume: BootVolume = BootVolume()
    boot: BootSteps = BootSteps()
    max_pods: int = Field(default=64, ge=1, le=110, description="pods a node may run")
    availability_domain: AvailabilityDomain | None = Field(
        default=None, min_length=1, description="availability domain, such as AD-1; RDMA pools lie in one"
    )
    fault_domains: tuple[FaultDomain, ...] = Field(
        default=(), description="fault domains that the machines may lie in; by default any"
    )
    capacity_reservation_id: ReservationId | None = Field(default=None, description="id of a capacity reservation")
    host_group_id: Ocid | None = Field(default=None, description="id of a group of dedicated hosts")
    hpc_island_id: Ocid | None = Field(default=None, description="id of the HPC island that the machines shall lie in")
    network_block_ids: tuple[Ocid, ...] = Field(
        default=(), description="ids of network blocks of the island that the machines shall lie in"
    )
    memory_fabric_ids: tuple[Ocid, ...] = Field(
        default=(), description="ids of memory fabrics; the nodes are spread evenly over a memory cluster on each"
    )
    cycling: Cycling | None = Field(
        default=None, description="how a managed node pool brings changes to its nodes; by default not at all"
    )
