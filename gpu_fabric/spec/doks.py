"""`gpu-fabric:cluster` with provider `doks`: a DigitalOcean Kubernetes cluster."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from gpu_fabric.base.grammar import DnsLabel, HttpsAddress, LineText, Spelled
from gpu_fabric.catalog.shape import Vendor
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.cluster import DISTINCT_POOL_NAMES, AutoScaleSpec, ClusterBase, OtherPoolSpec, PoolSpec, TaintSpec
from gpu_fabric.spec.network_types import Network

Tag = Annotated[str, Spelled(r"[A-Za-z0-9:_-]{1,255}", "tag", "letters, digits, ':', '_' and '-', such as team:vision")]
DoksVersion = Annotated[
    str,
    Spelled(
        r"latest|1\.[0-9]{1,2}(\.[0-9]{1,3}(-do\.[0-9]{1,3})?)?",
        "version at DigitalOcean",
        "an exact slug such as 1.35.1-do.6, or 1.35 in quotes",
    ),
]


CpuSize = Annotated[
    str,
    Spelled(
        r"[a-z][a-z0-9_]*(-[a-z0-9_]+)+", "size of DigitalOcean", "a slug as `doctl compute size list`: s-4vcpu-8gb"
    ),
]


class SystemPoolSpec(FrozenModel):
    """The CPU pool that is created with the cluster and runs its system pods."""

    size: CpuSize = Field(default="s-4vcpu-8gb", description="a CPU size; changing it replaces the cluster")
    nodes: int = Field(default=2, ge=0, le=512, description="number of CPU nodes")
    auto_scale_to_zero: bool = Field(default=False, description="whether the pool may shrink to no node at all")


class DoksPoolSpec(PoolSpec):
    """A pool of GPU Droplets. DOKS sets the vendor's taint; `taints` lists only further ones."""

    auto_scale: AutoScaleSpec | None = Field(
        default=None, description="bounds for automatic scaling; fixed size without"
    )
    contracted_nodes: int | None = Field(default=None, ge=1, description="nodes that the contract provides")
    gpu_partition_mode: Literal["AMD_PARTITION_MODE_SPX_NPS1", "AMD_PARTITION_MODE_DPX_NPS2"] | None = Field(
        default=None, description="partitioning of AMD GPUs; DPX doubles the GPUs that a node shows"
    )
    tags: tuple[Tag, ...] = Field(default=(), description="tags of the pool")

    def taints_with(self, vendor: Vendor) -> tuple[TaintSpec, ...]:
        """The vendor's taint, which DOKS always sets, and the stated taints."""
        automatic = self.model_copy(update={"taints": None})
        return (*PoolSpec.taints_with(automatic, vendor), *(self.taints or ()))


class DoksOtherPoolSpec(OtherPoolSpec):
    """A pool outside the fabric. A spot pool is one of a spot size: DigitalOcean has no other spot nodes."""

    absent_keys: ClassVar[dict[str, str]] = dict.fromkeys(
        ("spot", "preemptible"),
        "DigitalOcean has no spot or preemptible pools; leave it out, or write a GPU size that ends in -spot, which "
        "`gpu-fabric shapes` lists",
    )

    size: CpuSize = Field(
        description="a CPU size such as s-8vcpu-16gb, or a GPU size without a fabric; `gpu-fabric shapes` lists those "
        "with GPUs. Changing it replaces the pool"
    )
    tags: tuple[Tag, ...] = Field(default=(), description="tags of the pool")

    @property
    def machine(self) -> str:
        return self.size

    @property
    def is_reclaimable(self) -> bool:
        return self.size.endswith("-spot")


CloudId = Annotated[
    str,
    Spelled(
        "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        "id of DigitalOcean",
        "a UUID in lower case, as `doctl` and the console show it, such as 5a4981aa-9653-4bd1-bef5-d6bff52042e4; "
        "a name is none",
    ),
]
"""The id of a VPC, project, cluster or node pool; source: DigitalOcean's API documentation (format uuid)."""


class VpcSpec(FrozenModel):
    """The cluster's VPC: a new one with the range `ranges.nodes`, or an existing one by id."""

    id: CloudId | None = Field(default=None, description="id of a VPC that exists, and stays on destroy")
    nat_gateway: bool = Field(default=False, description="whether the VPC has a NAT gateway")


class MaintenanceWindowSpec(FrozenModel):
    """When DigitalOcean may work on the cluster; the window is four hours long."""

    day: Literal["any", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = Field(
        default="any", description="day of the week"
    )
    start: Annotated[
        str, Spelled(r"([01][0-9]|2[0-3]):[0-5][0-9]", "time of day", 'hours and minutes in quotes, such as "04:00"')
    ] = Field(description="start of the window in UTC, such as 04:00")


class ProjectSpec(FrozenModel):
    """The project of the cluster: an existing one by id, or a new one by name."""

    id: CloudId | None = Field(default=None, description="id of a project that exists")
    name: LineText | None = Field(
        default=None, max_length=175, validate_default=True, description="name of a new project"
    )
    environment: Literal["Development", "Staging", "Production"] | None = Field(
        default=None, description="environment of the new project"
    )

    @field_validator("name")
    @classmethod
    def _one_project(cls, value: str | None, info: ValidationInfo) -> str | None:
        if "id" in info.data and (value is None) == (info.data["id"] is None):
            given = "neither is given" if value is None else "both are given"
            raise ValueError(f"{given}; write id (of a project that exists) or name (of a new one)")
        return value


class AdoptionSpec(FrozenModel):
    """Ids of existing resources that the stack adopts, and then changes and destroys as its own.

    An `up` that timed out can leave resources at DigitalOcean that are not in the state; adopt those too.
    """

    vpc: CloudId | None = Field(default=None, description="id of the VPC")
    cluster: CloudId | None = Field(default=None, description="id of the cluster")
    pools: dict[str, CloudId] = Field(default={}, description="ids of pools and otherPools, by the pools' names")


class ManagedPluginsSpec(FrozenModel):
    """Which component installs each plug-in: DigitalOcean (`managed`) or this stack's operators (`operator`)."""

    gpu: Literal["managed", "operator", "dra"] = Field(default="managed", description="who advertises the GPUs")
    rdma: Literal["managed", "off"] = Field(default="managed", description="the RDMA shared device plug-in")
    metrics_exporter: bool = Field(default=False, description="AMD's managed metrics exporter")


class ControlPlaneFirewallSpec(FrozenModel):
    """Ranges that may reach the API server."""

    allowed: tuple[Network, ...] = Field(min_length=1, description="ranges that may; must hold the deployer's own")


class SingleSignOnSpec(FrozenModel):
    """Sign-on through an identity provider."""

    required: bool = Field(default=False, description="whether tokens stop working")
    issuer_url: HttpsAddress = Field(description="the identity provider")
    client_id: LineText = Field(description="id of the client there")


class DoksKubeconfigSpec(FrozenModel):
    """Authentication of the stack at the cluster that it creates."""

    mode: Literal["token", "exec", "raw"] = Field(
        default="token",
        description="`token`: the API token, which does not expire; `exec`: doctl; `raw`: DOKS' own, good for 7 days",
    )
    expire_seconds: int = Field(default=0, ge=0, description="lifetime of a `raw` kubeconfig; 0: the provider's 7 days")


class DoksClusterSpec(ClusterBase):
    """A DigitalOcean Kubernetes cluster with GPU pools on a fabric."""

    provider: Literal["doks"] = Field(description="where the cluster comes from: DigitalOcean creates it")
    region: Annotated[
        str, Spelled(r"[a-z]{3}[0-9]", "region of DigitalOcean's", "its slug in lower case, such as atl1")
    ] = Field(description="region, such as atl1")
    version: DoksVersion = Field(description="Kubernetes version: an exact slug such as 1.35.1-do.6, or 1.35")
    version_applies: Literal["at-creation", "always"] = Field(
        default="at-creation",
        description="`at-creation`: later the cluster keeps the version it has, even if it was raised elsewhere; "
        "`always`: a higher version in this file upgrades the cluster, and one lower than the cluster's replaces it",
    )
    name: DnsLabel | None = Field(default=None, description="name of the cluster and its VPC; by default the stack's")
    vpc: VpcSpec = VpcSpec()
    project: ProjectSpec | None = None
    adopt: AdoptionSpec = AdoptionSpec()
    high_availability: bool | None = Field(
        default=None, description="several control-plane nodes; cannot be undone; by default the version's own"
    )
    auto_upgrade: bool = Field(default=False, description="whether DigitalOcean upgrades the cluster by itself")
    surge_upgrade: bool = Field(default=False, description="whether upgrades add nodes before they remove any")
    maintenance: MaintenanceWindowSpec | None = None
    registry: bool = Field(default=False, description="whether nodes may pull from the account's container registry")
    isolated_workers: bool = Field(default=False, description="workers without public addresses; needs a NAT gateway")
    system_pool: SystemPoolSpec = SystemPoolSpec()
    pools: Annotated[tuple[DoksPoolSpec, ...], DISTINCT_POOL_NAMES] = Field(min_length=1, description="the GPU pools")
    other_pools: Annotated[tuple[DoksOtherPoolSpec, ...], DISTINCT_POOL_NAMES] = Field(
        default=(), description="pools outside the fabric: CPU nodes, and GPU nodes for inference"
    )
    plugins: ManagedPluginsSpec = ManagedPluginsSpec()
    kubeconfig: DoksKubeconfigSpec = DoksKubeconfigSpec()
    control_plane_firewall: ControlPlaneFirewallSpec | None = None
    single_sign_on: SingleSignOnSpec | None = None
    droplet_quota: int = Field(default=25, ge=1, description="Droplets that the team may have; 25 unless raised")
    create_minutes: int = Field(
        default=90,
        ge=10,
        le=720,
        description="time limit for creating the cluster, and for each pool; that of a change is 30 minutes",
    )
    destroy_associated_resources: bool = Field(
        default=False, description="whether destroy also removes load balancers and volumes that the cluster created"
    )
    protect: bool = Field(
        default=False, description="refuse to delete or replace VPC, cluster and GPU pools; set it in production"
    )
    tags: tuple[Tag, ...] = Field(default=(), description="tags of the cluster")

    @property
    def every_pool(self) -> tuple[DoksPoolSpec | DoksOtherPoolSpec, ...]:
        """The pools of the fabric, and those outside it."""
        return (*self.pools, *self.other_pools)
