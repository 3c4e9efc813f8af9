"""`gpu-fabric:cluster` with provider `oke`: a cluster that Oracle runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from fabric.model import FrozenModel
from fabric.spec.cluster import ClusterBase, DnsLabel, KubernetesVersion, distinct_pool_names
from fabric.spec.oke_ids import CompartmentId, DynamicGroupId, Ocid, TenancyId
from fabric.spec.oke_network import Access, ApiEndpoint, Vcn
from fabric.spec.oke_pools import FlexPool, OkePool

RegionName = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[a-z]+)+-\d$")]


class IdentityDomain(FrozenModel):
    """An identity domain other than the tenancy's default."""

    name: str = Field(min_length=1, description="name of the domain, as policies write it")
    endpoint: Annotated[str, StringConstraints(pattern=r"^https://[^\s/]+(:\d+)?/?$")] = Field(
        description="address of the domain, as the console shows it"
    )


class Identity(FrozenModel):
    """What lets machines and services act in the compartment."""

    create: bool = Field(
        default=True, description="whether the stack makes dynamic groups and policies; else an administrator does"
    )
    home_region: RegionName | None = Field(
        default=None, description="the tenancy's home region, where they are made; by default the cluster's"
    )
    domain: IdentityDomain | None = None
    dynamic_group_id: DynamicGroupId | None = Field(
        default=None, description="id of a dynamic group that holds the GPU nodes already"
    )
    registry: bool = Field(default=False, description="whether nodes may pull from the compartment's own registry")


class ManagedAddon(FrozenModel):
    """An add-on that Oracle installs and keeps."""

    name: str = Field(min_length=1, description="name of the add-on, such as CertManager")
    version: str | None = Field(default=None, min_length=1, description="its version; by default Oracle's choice")
    configurations: dict[str, str] = Field(default={}, description="its settings")


class OkeKubeconfig(FrozenModel):
    """How the stack reaches the cluster it made."""

    mode: Literal["exec", "token"] = Field(
        default="exec",
        description="`exec`: the OCI command line, which must be where the stack runs; `token`: a service account's",
    )
    token_secret: DnsLabel | None = Field(
        default=None, description="mode `token`: name of the secret configuration key that holds the token"
    )
    endpoint: Literal["private", "public"] | None = Field(
        default=None, description="which address to use; by default the public one where there is one"
    )


class OkeCluster(ClusterBase):
    """An Oracle Kubernetes Engine cluster with GPU pools on a cluster network."""

    provider: Literal["oke"] = Field(description="where the cluster comes from: Oracle makes it")
    region: RegionName = Field(description="region, such as us-ashburn-1")
    compartment_id: CompartmentId = Field(description="id of the compartment")
    tenancy_id: TenancyId | None = Field(
        default=None, description="id of the tenancy; by default that of the provider's settings, oci:tenancyOcid"
    )
    version: KubernetesVersion = Field(description="Kubernetes version, such as 1.34.1")
    enhanced: bool = Field(default=True, description="an enhanced cluster, which self-managed nodes need")
    cni: Literal["flannel", "vcn-native"] = Field(default="flannel", description="the pod network")
    vcn: Vcn = Vcn()
    endpoint: ApiEndpoint = ApiEndpoint()
    system_pool: FlexPool = FlexPool()
    pools: tuple[OkePool, ...] = Field(min_length=1, description="the GPU pools")
    identity: Identity = Identity()
    gpu_plugin: Literal["managed", "operator"] | None = Field(
        default=None,
        description="who advertises the GPUs: Oracle's add-on (`managed`), or the GPU Operator; by default the GPU "
        "Operator for NVIDIA's GPUs, Oracle's add-on for AMD's",
    )
    addons: tuple[ManagedAddon, ...] = Field(default=(), description="add-ons that Oracle installs and keeps")
    access: Access = Access()
    kubeconfig: OkeKubeconfig = OkeKubeconfig()
    kms_key_id: Ocid | None = Field(default=None, description="id of a key that encrypts the cluster's secrets")
    name: DnsLabel | None = Field(default=None, description="name of the cluster; by default the stack's")
    create_minutes: int = Field(
        default=180, ge=30, le=720, description="how long making the cluster, and each pool, may take"
    )
    join_minutes: int = Field(
        default=60, ge=10, le=720, description="how long machines may take to become nodes once Oracle has made them"
    )
    protect: bool = Field(default=False, description="refuse to delete or replace the cluster; set it in production")

    @field_validator("pools")
    @classmethod
    def _pool_names_differ(cls, value: tuple[OkePool, ...]) -> tuple[OkePool, ...]:
        distinct_pool_names(value)
        return value

    @property
    def pods_of_own_subnet(self) -> bool:
        """Whether pods have addresses of a subnet that the stack cuts out of the VCN's range."""
        return self.cni == "vcn-native" and "pods" not in self.vcn.subnet_ids

    @property
    def ranges_within(self) -> tuple[str, ...]:
        return ("pods",) if self.pods_of_own_subnet else ()
