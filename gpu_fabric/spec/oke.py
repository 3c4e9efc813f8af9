"""`gpu-fabric:cluster` with provider `oke`: an Oracle Kubernetes Engine cluster, its network, pools and ids."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator

from gpu_fabric.base.grammar import DnsLabel, HttpsAddress, LineText, Spelled, web_address
from gpu_fabric.catalog.oke import Cycling, Placement, SubnetName
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.cluster import (
    DISTINCT_POOL_NAMES,
    AutoScaleSpec,
    ClusterBase,
    KubernetesVersion,
    OtherPoolSpec,
    PoolSpec,
)
from gpu_fabric.spec.network_types import Network

# ocid1.KIND.REALM.[REGION].UNIQUE; the region may have a further part that Oracle reserves for future use.
_REST = r"\.oc[0-9]{1,3}\.[a-z0-9-]*(\.[a-z0-9-]*)?\.[A-Za-z0-9_-]+"
_KNOWN = (
    *("compartment", "tenancy", "vcn", "subnet", "routetable", "image", "capacityreservation", "dynamicgroup", "key"),
    *("instance", "cluster", "nodepool", "computecluster", "clusternetwork", "user", "group", "networksecuritygroup"),
    *("hpcisland", "computenetworkblock", "computegpumemoryfabric", "computebaremetalhost"),
)


_NO_IPV6 = (
    "clusters with IPv6 are not planned: what Oracle publishes of their routes, security rules and self-managed "
    "machines is not enough to prove a plan; leave it out (docs/oke.md)"
)


def _id(what: str, *kinds: str) -> Spelled:
    """The form of an id of one of these kinds."""
    return Spelled(
        rf"ocid1\.({'|'.join(kinds)})" + _REST, f"id of {what}", f"ocid1.{kinds[0]}.…, as the console shows it"
    )


CompartmentId = Annotated[str, _id("a compartment", "compartment", "tenancy")]
TenancyId = Annotated[str, _id("a tenancy", "tenancy")]
VcnId = Annotated[str, _id("a VCN", "vcn")]
SubnetId = Annotated[str, _id("a subnet", "subnet")]
RouteTableId = Annotated[str, _id("a route table", "routetable")]
ImageId = Annotated[str, _id("an image", "image")]
ReservationId = Annotated[str, _id("a capacity reservation", "capacityreservation")]
DynamicGroupId = Annotated[str, _id("a dynamic group", "dynamicgroup")]
KeyId = Annotated[str, _id("a key", "key")]
AnyId = Annotated[
    str,
    Spelled(r"ocid1\.[a-z0-9-]+" + _REST, "id of a resource at Oracle", "ocid1.…, as the console shows it"),
]
# Source of these kinds' names: the metadata of Oracle's hosts in the OKE quick-start.
IslandId = Annotated[str, _id("an HPC island", "hpcisland", "computehpcisland")]
NetworkBlockId = Annotated[str, _id("a network block", "computenetworkblock", "networkblock")]
MemoryFabricId = Annotated[str, _id("a memory fabric", "computegpumemoryfabric")]
HostGroupId = Annotated[
    str,
    # The name of this kind is not published, so only ids of other known kinds are refused.
    Spelled(
        rf"ocid1\.(?!({'|'.join(_KNOWN)})\.)[a-z0-9-]+" + _REST,
        "id of a host group",
        "ocid1.…, as the console shows it",
    ),
]
CpuShape = Annotated[
    str, Spelled(r"(VM|BM)\.[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", "shape of Oracle", "one such as VM.Standard.E5.Flex")
]


SshPublicKey = Annotated[
    str,
    Spelled(
        r"(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+=*( \S.*)?",
        "public key of SSH",
        "the line of a file that ends in .pub, such as ssh-ed25519 AAAA…",
    ),
]


class RouteTablesSpec(FrozenModel):
    """Route tables of an existing VCN, for subnets that the stack creates in it."""

    private: RouteTableId | None = Field(
        default=None, description="for subnets without public addresses: to the NAT and service gateways"
    )
    public: RouteTableId | None = Field(
        default=None, description="for subnets with public addresses: to the internet gateway"
    )


class VcnSpec(FrozenModel):
    """The network: a new one with the range `ranges.nodes`, or an existing one by its ids."""

    absent_keys: ClassVar[dict[str, str]] = {"ipv6": _NO_IPV6}

    id: VcnId | None = Field(default=None, description="id of a VCN that exists, and stays on destroy")
    subnets: dict[SubnetName, Network] = Field(
        default={}, description="ranges of subnets, where they differ from the published plan"
    )
    subnet_ids: dict[SubnetName, SubnetId] = Field(
        default={}, description="ids of subnets that exist, and stay on destroy, by what they are for"
    )
    route_table_ids: RouteTablesSpec = RouteTablesSpec()
    internet: bool = Field(
        default=True, description="whether nodes and pods may reach the internet, through a NAT gateway"
    )
    public_load_balancers: bool = Field(
        default=False, description="whether Services may have public load balancers: a public subnet for them"
    )
    file_storage: bool = Field(
        default=False, description="whether nodes may mount file systems: a subnet, rules and policies for them"
    )


class ApiEndpointSpec(FrozenModel):
    """Access to the API server, which always has a private address."""

    public: bool = Field(default=False, description="whether it has a public address as well")
    allowed: tuple[Network, ...] = Field(default=(), description="ranges that may reach it from outside")


class AccessHostSpec(FrozenModel):
    """A host through which people reach the cluster."""

    shape: CpuShape = Field(default="VM.Standard.E5.Flex", description="a CPU shape")
    ocpus: int = Field(default=1, ge=1, le=126, description="OCPUs of the host")
    memory_gib: int = Field(default=4, ge=1, le=2098, description="memory in GiB")
    boot_volume_gib: int = Field(default=50, ge=50, le=32768, description="size of the boot volume in GiB")
    image_id: ImageId | None = Field(
        default=None, description="id of the image; the operator host's holds kubectl, Helm and the OCI command line"
    )
    user: Annotated[
        str,
        Spelled(
            r"[a-z_][a-z0-9_-]{0,31}",
            "name of a user",
            "at most 32 lower-case letters, digits, '_' and '-', such as opc",
        ),
    ] = Field(default="opc", description="whom the image lets in by SSH: opc on Oracle Linux, ubuntu on Ubuntu")


class AccessSpec(FrozenModel):
    """Access for people to machines without public addresses."""

    mode: Literal["none", "bastion-host", "bastion-service"] = Field(
        default="none",
        description="`bastion-host`: a host with a public address, and behind it one that reaches the API server; "
        "`bastion-service`: Oracle's, which creates sessions on demand",
    )
    allowed: tuple[Network, ...] = Field(default=(), description="ranges from which people come")
    ssh_public_keys: tuple[SshPublicKey, ...] = Field(
        default=(), description="public keys of people, for the hosts and for GPU nodes that join by themselves"
    )
    bastion: AccessHostSpec = AccessHostSpec()
    operator: AccessHostSpec = AccessHostSpec(memory_gib=8)
    session_seconds: int = Field(
        default=10800, ge=1800, le=10800, description="how long a session of the Bastion service may last"
    )


FaultDomain = Literal["FAULT-DOMAIN-1", "FAULT-DOMAIN-2", "FAULT-DOMAIN-3"]
AvailabilityDomain = Annotated[
    str,
    # Source: Oracle's documentation of regions and availability domains; no region has more than three.
    Spelled(
        r"AD-[1-3]|[A-Za-z0-9]{1,8}:[A-Z0-9]+(-[A-Z0-9]+)*-AD-[1-3]",
        "availability domain",
        "AD-1, AD-2 or AD-3, or the whole name with the tenancy's prefix, such as Uocm:PHX-AD-1",
    ),
]
ImageAddress = Annotated[str, AfterValidator(web_address("https"))]


class FlexPoolSpec(FrozenModel):
    """The CPU pool for system pods; a node pool that Oracle manages."""

    shape: CpuShape = Field(default="VM.Standard.E5.Flex", description="a CPU shape")
    ocpus: int = Field(default=4, ge=1, le=126, description="OCPUs of a node")
    memory_gib: int = Field(default=16, ge=1, le=2098, description="memory of a node in GiB")
    nodes: int = Field(default=3, ge=1, le=1000, description="number of CPU nodes")
    boot_volume_gib: int = Field(default=128, ge=50, le=32768, description="size of the boot volume in GiB")
    image_id: ImageId | None = Field(
        default=None, description="id of the machine image; by default Oracle's newest for the Kubernetes version"
    )


class BootVolumeSpec(FrozenModel):
    """The boot volume of a node."""

    size_gib: int = Field(default=512, ge=50, le=32768, description="size in GiB")
    vpus_per_gib: Literal[0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120] = Field(
        default=10, description="performance units per GiB"
    )


class BootStepsSpec(FrozenModel):
    """Bash that a node runs before and after it joins; a failed step is logged, and the node continues."""

    before_join: str | None = Field(default=None, min_length=1, description="what to run before")
    after_join: str | None = Field(default=None, min_length=1, description="what to run afterwards")


class OkePoolSpec(PoolSpec):
    """A pool of GPU machines."""

    placement: Placement = Field(
        default="cluster-network",
        description="the OCI construct that holds the machines; it decides about RDMA, growth and replacement",
    )
    image_id: ImageId | None = Field(default=None, description="id of the machine image")
    image_uri: ImageAddress | None = Field(
        default=None, description="where to import the machine image from, instead of an id"
    )
    boot_volume: BootVolumeSpec = BootVolumeSpec()
    boot: BootStepsSpec = BootStepsSpec()
    max_pods: int = Field(default=64, ge=1, le=110, description="pods a node may run")
    availability_domain: AvailabilityDomain | None = Field(
        default=None, description="availability domain, such as AD-1; RDMA pools are in one"
    )
    fault_domains: tuple[FaultDomain, ...] = Field(
        default=(), description="fault domains of the machines; by default any"
    )
    capacity_reservation_id: ReservationId | None = Field(default=None, description="id of a capacity reservation")
    host_group_id: HostGroupId | None = Field(default=None, description="id of a group of dedicated hosts")
    hpc_island_id: IslandId | None = Field(default=None, description="id of the machines' HPC island")
    network_block_ids: tuple[NetworkBlockId, ...] = Field(
        default=(), description="ids of the machines' network blocks in the island"
    )
    memory_fabric_ids: tuple[MemoryFabricId, ...] = Field(
        default=(), description="ids of memory fabrics; the nodes are spread evenly over a memory cluster on each"
    )
    cycling: Cycling | None = Field(
        default=None, description="how a managed node pool applies changes to its nodes; by default not at all"
    )
    auto_scale: AutoScaleSpec | None = Field(
        default=None, description="bounds for Oracle's Cluster Autoscaler; fixed size without"
    )


class OkeOtherPoolSpec(OtherPoolSpec):
    """A managed node pool outside the fabric, of any shape without an RDMA network."""

    absent_keys: ClassVar[dict[str, str]] = {"spot": "Oracle calls such machines preemptible; write preemptible: true"}

    shape: CpuShape = Field(description="a CPU shape such as VM.Standard.E5.Flex, or a GPU shape such as VM.GPU.A10.1")
    ocpus: int | None = Field(default=None, ge=1, le=126, description="OCPUs of a node; of flexible shapes only")
    memory_gib: int | None = Field(
        default=None, ge=1, le=2098, description="memory of a node in GiB; of flexible shapes only"
    )
    boot_volume_gib: int | None = Field(
        default=None,
        ge=50,
        le=32768,
        description="size of the boot volume in GiB; by default 128, and 512 of machines with GPUs",
    )
    image_id: ImageId | None = Field(
        default=None, description="id of the machine image; by default Oracle's newest for shape and Kubernetes version"
    )
    max_pods: int = Field(default=110, ge=1, le=110, description="pods a node may run")
    availability_domain: AvailabilityDomain | None = Field(
        default=None, description="availability domain, such as AD-1, which is the default"
    )
    fault_domains: tuple[FaultDomain, ...] = Field(
        default=(), description="fault domains of the machines; by default any"
    )
    capacity_reservation_id: ReservationId | None = Field(default=None, description="id of a capacity reservation")
    preemptible: bool = Field(
        default=False, description="preemptible machines, which cost less and which Oracle takes back at any time"
    )

    @property
    def machine(self) -> str:
        return self.shape

    @property
    def is_reclaimable(self) -> bool:
        return self.preemptible


RegionName = Annotated[
    str, Spelled(r"[a-z]{2,3}(-[a-z]+)+-[0-9]", "region of Oracle's", "its identifier, such as us-ashburn-1")
]


class IdentityDomainSpec(FrozenModel):
    """An identity domain other than the tenancy's default."""

    name: LineText = Field(description="name of the domain, as policies write it")
    endpoint: HttpsAddress = Field(description="address of the domain, as the console shows it")


class IdentitySpec(FrozenModel):
    """Permissions of machines and services in the compartment."""

    create: bool = Field(
        default=True,
        description="whether the stack creates dynamic groups and policies; if not, an administrator must",
    )
    home_region: RegionName | None = Field(
        default=None, description="the tenancy's home region, where they are created; by default the cluster's"
    )
    domain: IdentityDomainSpec | None = None
    dynamic_group_id: DynamicGroupId | None = Field(
        default=None, description="id of an existing dynamic group of the GPU nodes"
    )
    registry: bool = Field(default=False, description="whether nodes may pull from the compartment's own registry")


AddonName = Annotated[
    str, Spelled(r"[A-Za-z][A-Za-z0-9]*", "name of an add-on", "letters and digits, as Oracle's list of add-ons")
]


class ManagedAddonSpec(FrozenModel):
    """An add-on that Oracle installs and maintains."""

    name: AddonName = Field(description="name of the add-on, such as CertManager")
    version: LineText | None = Field(default=None, description="its version; by default Oracle's choice")
    configurations: dict[str, str] = Field(default={}, description="its settings")


class OkeKubeconfigSpec(FrozenModel):
    """Authentication of the stack at the cluster that it creates."""

    mode: Literal["exec", "token"] = Field(
        default="exec",
        description="`exec`: by the OCI command line, which must be installed where the stack runs; `token`: by a "
        "service account's token",
    )
    token_secret: DnsLabel | None = Field(
        default=None, description="mode `token`: name of the secret configuration key that holds the token"
    )
    endpoint: Literal["private", "public"] | None = Field(
        default=None, description="which address to use; by default the public one if there is one"
    )


class OkeClusterSpec(ClusterBase):
    """An Oracle Kubernetes Engine cluster with GPU pools on a cluster network."""

    absent_keys: ClassVar[dict[str, str]] = dict.fromkeys(("ipv6", "ipFamilies"), _NO_IPV6)

    provider: Literal["oke"] = Field(description="where the cluster comes from: Oracle creates it")
    region: RegionName = Field(description="region, such as us-ashburn-1")
    compartment_id: CompartmentId = Field(description="id of the compartment")
    tenancy_id: TenancyId | None = Field(
        default=None, description="id of the tenancy; by default that of the provider's settings, oci:tenancyOcid"
    )
    version: KubernetesVersion = Field(description="Kubernetes version, such as 1.34.1")
    enhanced: bool = Field(default=True, description="an enhanced cluster, which self-managed nodes need")
    cni: Literal["flannel", "vcn-native"] = Field(default="flannel", description="the pod network")
    vcn: VcnSpec = VcnSpec()
    endpoint: ApiEndpointSpec = ApiEndpointSpec()
    system_pool: FlexPoolSpec = FlexPoolSpec()
    pools: Annotated[tuple[OkePoolSpec, ...], DISTINCT_POOL_NAMES] = Field(min_length=1, description="the GPU pools")
    other_pools: Annotated[tuple[OkeOtherPoolSpec, ...], DISTINCT_POOL_NAMES] = Field(
        default=(), description="node pools outside the fabric: CPU nodes, GPU nodes for inference, preemptible nodes"
    )
    identity: IdentitySpec = IdentitySpec()
    gpu_plugin: Literal["managed", "operator"] | None = Field(
        default=None,
        description="who advertises the GPUs: Oracle's add-on (`managed`), or the GPU Operator; by default the GPU "
        "Operator for NVIDIA's GPUs, Oracle's add-on for AMD's",
    )
    addons: tuple[ManagedAddonSpec, ...] = Field(default=(), description="add-ons that Oracle installs and keeps")
    access: AccessSpec = AccessSpec()
    kubeconfig: OkeKubeconfigSpec = OkeKubeconfigSpec()
    adopt: dict[str, AnyId] = Field(
        default={},
        description="ids of existing resources that the stack adopts and later destroys as its own, by the resources' "
        "names in the plan, such as cluster, vcn, subnet-workers, system-pool and pool-NAME; while a name is in the "
        "list, nothing of that resource is changed",
    )
    kms_key_id: KeyId | None = Field(default=None, description="id of a key that encrypts the cluster's secrets")
    name: DnsLabel | None = Field(default=None, description="name of the cluster; by default the stack's")
    create_minutes: int = Field(
        default=180, ge=30, le=720, description="time limit for creating the cluster, and for each pool"
    )
    join_minutes: int = Field(
        default=60, ge=10, le=720, description="time limit for machines to become nodes after Oracle has created them"
    )
    protect: bool = Field(default=False, description="refuse to delete or replace the cluster; set it in production")

    @field_validator("addons")
    @classmethod
    def _each_addon_once(cls, value: tuple[ManagedAddonSpec, ...]) -> tuple[ManagedAddonSpec, ...]:
        names = [addon.name.casefold() for addon in value]
        if repeated := sorted({addon.name for addon in value if names.count(addon.name.casefold()) > 1}):
            raise ValueError(f"{', '.join(repeated)} is there twice; list each add-on once, with all its settings")
        return value

    @property
    def every_pool(self) -> tuple[OkePoolSpec | OkeOtherPoolSpec, ...]:
        """The pools of the fabric, and those outside it."""
        return (*self.pools, *self.other_pools)

    @property
    def pods_of_own_subnet(self) -> bool:
        """Whether pods get addresses of a subnet that the stack creates in the VCN's range."""
        return self.cni == "vcn-native" and "pods" not in self.vcn.subnet_ids

    @property
    def ranges_within(self) -> tuple[str, ...]:
        return ("pods",) if self.pods_of_own_subnet else ()
