"""`gpu-fabric:cluster` with provider `oke`: a cluster that Oracle runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from fabric.model import FrozenModel
from fabric.spec.cluster import ClusterBase, DnsLabel, KubernetesVersion, Pool, distinct_pool_names
from fabric.spec.network_types import Network

Ocid = Annotated[str, StringConstraints(pattern=r"^ocid1\.[a-z0-9-]+\.[a-z0-9-]*\.[a-z0-9-]*\.[A-Za-z0-9._-]+$")]


class FlexPool(FrozenModel):
    """The CPU pool that carries system pods."""

    shape: str = Field(default="VM.Standard.E5.Flex", min_length=1, description="a CPU shape")
    ocpus: int = Field(default=4, ge=1, le=94, description="OCPUs of a node")
    memory_gib: int = Field(default=16, ge=1, le=1049, description="memory of a node in GiB")
    nodes: int = Field(default=3, ge=1, le=1000, description="number of CPU nodes")


class BootVolume(FrozenModel):
    """The boot volume of a node."""

    size_gib: int = Field(default=512, ge=50, le=32768, description="size in GiB")
    vpus_per_gib: Literal[0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120] = Field(
        default=10, description="performance units per GiB"
    )


class OkePool(Pool):
    """A pool of GPU machines."""

    placement: Literal[
        "cluster-network", "compute-cluster", "compute-cluster-instances", "instance-pool", "gpu-memory-cluster"
    ] = Field(
        default="cluster-network",
        description="the OCI construct that holds the machines; it decides about RDMA, growth and replacement",
    )
    image_id: Ocid | None = Field(default=None, description="id of the machine image")
    image_uri: str | None = Field(
        default=None, min_length=1, description="where to import the machine image from, instead of an id"
    )
    boot_volume: BootVolume = BootVolume()
    max_pods: int = Field(default=64, ge=1, le=110, description="pods a node may run")
    availability_domain: str | None = Field(
        default=None, min_length=1, description="availability domain; RDMA pools lie in one"
    )
    capacity_reservation_id: Ocid | None = Field(default=None, description="id of a capacity reservation")


class Vcn(FrozenModel):
    """The network: a new one by its range, or one that exists by its ids."""

    id: Ocid | None = Field(default=None, description="id of a VCN that exists")
    subnets: dict[
        Literal["control-plane", "bastion", "operator", "internal-lb", "public-lb", "file-storage", "workers", "pods"],
        Network,
    ] = Field(default={}, description="ranges of subnets, where they differ from the published plan")


class ApiEndpoint(FrozenModel):
    """Who may reach the API server."""

    public: bool = Field(default=False, description="whether it has a public address")
    allowed: tuple[Network, ...] = Field(default=(), description="ranges that may reach it from outside")


class OkeCluster(ClusterBase):
    """An Oracle Kubernetes Engine cluster with GPU pools on a cluster network."""

    provider: Literal["oke"] = Field(description="where the cluster comes from: Oracle makes it")
    region: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}-[a-z]+-\d$")] = Field(
        description="region, such as us-ashburn-1"
    )
    compartment_id: Ocid = Field(description="id of the compartment")
    version: KubernetesVersion = Field(description="Kubernetes version, such as 1.34.1")
    enhanced: bool = Field(default=True, description="an enhanced cluster, which self-managed nodes need")
    cni: Literal["flannel", "vcn-native"] = Field(default="flannel", description="the pod network")
    vcn: Vcn = Vcn()
    endpoint: ApiEndpoint = ApiEndpoint()
    system_pool: FlexPool = FlexPool()
    pools: tuple[OkePool, ...] = Field(min_length=1, description="the GPU pools")
    create_policies: bool = Field(default=True, description="whether the stack makes dynamic group and policies")
    access: Literal["none", "bastion-host", "bastion-service"] = Field(
        default="none", description="how people reach machines without public addresses"
    )
    name: DnsLabel | None = Field(default=None, description="name of the cluster; by default the stack's")
    protect: bool = Field(default=False, description="refuse to delete or replace the cluster; set it in production")

    @field_validator("pools")
    @classmethod
    def _pool_names_differ(cls, value: tuple[OkePool, ...]) -> tuple[OkePool, ...]:
        distinct_pool_names(value)
        return value
