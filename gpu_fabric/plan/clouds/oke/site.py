"""The common facts of all parts of a cluster at Oracle: its names, its ids and its subnets."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_fabric.catalog.oke import OkeClusterFacts, SubnetName
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds.record import Id, Ref
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.oke import OkeClusterSpec, OkeOtherPoolSpec, OkePoolSpec

CLUSTER = "cluster"
NETWORK = "network"
TENANCY = "tenancy"
DOMAINS = "availability-domains"
KUBECONFIG = "cluster-kubeconfig"
SERVICES = "oracle-services"
NODE_IMAGES = "node-images"
NODE_POOLS = "node-pools"
JOIN_POLICY = "policy-join"
AUTOSCALER_POLICY = "policy-autoscaler"

AUTOSCALER = "ClusterAutoscaler"
"""The name of Oracle's add-on that changes the sizes of managed node pools."""

_FIRST_DOMAIN = "AD-1"


@dataclass(frozen=True)
class Site:
    """A stack's cluster and the facts about Oracle's."""

    case: Case
    cluster: OkeClusterSpec
    facts: OkeClusterFacts

    @property
    def name(self) -> str:
        """The cluster's name, the prefix of the names of all its resources."""
        return self.cluster.name or self.case.spec.cluster_stack

    @property
    def compartment(self) -> str:
        return self.cluster.compartment_id

    @property
    def tenancy(self) -> Id:
        """The tenancy's id: as stated, of a compartment that is the tenancy itself, or of the provider."""
        if self.cluster.tenancy_id:
            return self.cluster.tenancy_id
        return self.compartment if self.compartment.startswith("ocid1.tenancy.") else Ref(ref=TENANCY)

    @property
    def version(self) -> str:
        """The Kubernetes version as Oracle writes it."""
        return f"v{self.cluster.version}"

    @property
    def vcn(self) -> Id:
        return self.cluster.vcn.id or Ref(ref="vcn")

    @property
    def native_pods(self) -> bool:
        """Whether pods get addresses of the VCN."""
        return self.cluster.cni == "vcn-native"

    @property
    def cni_type(self) -> str:
        return "OCI_VCN_IP_NATIVE" if self.native_pods else "FLANNEL_OVERLAY"

    @property
    def timeout(self) -> str:
        """The time limit for the creation of a cluster or a pool."""
        return f"{self.cluster.create_minutes}m"

    @property
    def subnets(self) -> tuple[SubnetName, ...]:
        """The cluster's subnets, in the order of the published plan."""
        vcn, access = self.cluster.vcn, self.cluster.access.mode
        wanted: dict[SubnetName, bool] = {
            "pods": self.native_pods,
            "public-lb": vcn.public_load_balancers,
            "file-storage": vcn.file_storage,
            "bastion": access == "bastion-host",
            "operator": access == "bastion-host",
            "bastion-service": access == "bastion-service",
        }
        return tuple(name for name in self.facts.subnets if wanted.get(name, True))

    @property
    def public_subnets(self) -> frozenset[SubnetName]:
        """The subnets whose machines may have public addresses."""
        public: set[SubnetName] = {"public-lb", "bastion"}
        if self.cluster.endpoint.public:
            public.add("control-plane")
        return frozenset(public & set(self.subnets))

    def range_of(self, subnet: SubnetName) -> IPNetwork | None:
        """A subnet's range: as stated, or of the published plan; None if the VCN's range is unknown or too small."""
        stated, vcn = self.cluster.vcn.subnets.get(subnet), self.cluster.ranges.nodes
        return stated or (self.facts.subnets[subnet].within(vcn) if vcn is not None else None)

    def subnet(self, name: SubnetName) -> Id:
        return self.cluster.vcn.subnet_ids.get(name) or Ref(ref=f"subnet-{name}")

    def security_group(self, name: str) -> Ref:
        return Ref(ref=f"nsg-{name}")

    def availability_domain(self, stated: str | None) -> Id:
        """A domain's full name, which has a prefix per tenancy: as stated, or looked up by its end."""
        return stated if stated and ":" in stated else Ref(ref=DOMAINS, output=stated or _FIRST_DOMAIN)

    @property
    def own_gpu_plugin(self) -> bool:
        """Whether the stack's GPU Operator advertises the GPUs, not Oracle's add-on; it supports NVIDIA's only."""
        nvidia = all(shape.gpus.vendor == "nvidia" for shape in self.case.shapes)
        return (self.cluster.gpu_plugin or ("operator" if nvidia else "managed")) == "operator"

    def self_managed(self) -> bool:
        """Whether a pool has machines that join by themselves."""
        return any(self.facts.placements[pool.placement].self_managed for pool in self.cluster.pools)

    @property
    def scaled_pools(self) -> tuple[OkePoolSpec | OkeOtherPoolSpec, ...]:
        """The pools whose size Oracle's autoscaler changes."""
        return tuple(pool for pool in self.cluster.every_pool if pool.auto_scale is not None)
