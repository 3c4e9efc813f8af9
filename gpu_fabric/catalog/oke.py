"""Oracle Kubernetes Engine clusters: constructs, versions, ranges, regions, rules, policies, advice: `oke_*.yaml`."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpu_fabric.model import FrozenModel


def _is_expression(value: str) -> str:
    re.compile(value)
    return value


class Refusal(FrozenModel):
    """One error of Oracle's, recognized by its text (`says`), with its meaning (`means`) and remedy (`do`)."""

    name: str
    says: Annotated[str, AfterValidator(_is_expression)] = Field(min_length=1)
    kinds: tuple[str, ...] = ()
    tries: int = Field(default=0, ge=0)
    means: str = Field(min_length=1)
    do: tuple[str, ...] = Field(min_length=1)
    statements: bool = False

    def fits(self, kind: str, said: str) -> bool:
        """Whether an error about a resource of this kind, such as core.Vcn, is this one."""
        of_kind = not self.kinds or kind.startswith(self.kinds)
        return of_kind and re.search(self.says, said, re.IGNORECASE) is not None


class JoiningAdvice(FrozenModel):
    """Reasons why machines do not join the cluster, by the way in which they are managed."""

    self_managed: tuple[str, ...] = Field(min_length=1)
    managed: tuple[str, ...] = Field(min_length=1)


class OkeAdvice(FrozenModel):
    """Errors of Oracle's, of which the first match applies, and advice for machines that do not join."""

    refusals: tuple[Refusal, ...]
    joining: JoiningAdvice


PolicyName = Literal["join", "nodes", "services", "operator", "autoscaler"]
PolicyNeed = Literal[
    "always",
    "self-managed",
    "registry",
    "vcn-native-self-managed",
    "compute-cluster-pool",
    "host-group-pool",
    "gpu-memory-cluster",
    "file-storage",
    "operator-host",
    "autoscaler",
]


class PolicyRow(FrozenModel):
    """One policy statement with its purpose and reason; `{cluster}` in it is known only once the cluster exists."""

    name: str
    policy: PolicyName
    needs: PolicyNeed
    statement: str = Field(min_length=1)
    why: str = Field(min_length=1)


SecurityGroup = Literal[
    "control-plane", "workers", "pods", "internal-lb", "public-lb", "operator", "bastion", "file-storage"
]
Peer = Literal[
    "control-plane",
    "workers",
    "pods",
    "internal-lb",
    "public-lb",
    "operator",
    "bastion",
    "file-storage",
    "bastion-service",
    "services",
    "anywhere",
    "vcn",
    "api-clients",
    "bastion-clients",
]
PortRange = tuple[int, int]


class SecurityRuleRow(FrozenModel):
    """One rule of one group; None means no restriction. `ports` are first and last, `icmp` type and code."""

    group: SecurityGroup
    direction: Literal["ingress", "egress"]
    peer: Peer
    protocol: Literal["all", "tcp", "udp", "icmp"]
    ports: PortRange | None = None
    source_ports: PortRange | None = None
    icmp: tuple[int, int] | None = None
    needs: Literal["internet"] | None = None
    why: str


Placement = Literal[
    "cluster-network", "compute-cluster", "compute-cluster-instances", "instance-pool", "gpu-memory-cluster"
]
PodNetwork = Literal["flannel", "vcn-native"]
Cycling = Literal["boot-volume-replace", "instance-replace"]
SubnetName = Literal[
    "control-plane",
    "bastion",
    "operator",
    "internal-lb",
    "public-lb",
    "file-storage",
    "bastion-service",
    "workers",
    "pods",
]


class PlacementFacts(FrozenModel):
    """One OCI construct: whether its machines join by themselves, and whether they share an RDMA network."""

    self_managed: bool
    rdma: bool
    growth: str
    replacement: str


class CyclingFacts(FrozenModel):
    """Replacement of nodes: Oracle's name of the mode, and the limits of surge and unavailable machines.

    The limits are numbers of machines, or shares of the pool such as `25%`.
    """

    mode: str
    surge: str
    unavailable: str


class Region(FrozenModel):
    """A region: the key that ids may contain instead of its name, and its realm."""

    key: str
    realm: str


class InstanceFacts(FrozenModel):
    """Settings and limits of self-managed machines. Volumes in GiB, metadata in bytes."""

    agent_plugins: dict[str, Literal["ENABLED", "DISABLED"]]
    metadata_limit: int
    metadata_reserve: int
    smallest_boot_volume: int
    node_pool_vpus: int
    memory_fabric_nodes: int
    addons: dict[str, str]
    amd_gpu_plugin: str
    gpu_plugin_off_label: str
    virtual_function_regions: dict[str, tuple[str, ...]]


class SubnetPlan(FrozenModel):
    """A subnet as a part of the VCN's range: the `number`-th with `new_bits` more bits of prefix."""

    new_bits: int = Field(ge=1)
    number: int = Field(ge=0)

    def within(self, network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network | None:
        """The subnet's range; None if the VCN is too small."""
        prefix = network.prefixlen + self.new_bits
        if prefix > network.max_prefixlen:
            return None
        first = int(network.network_address) + (self.number << (network.max_prefixlen - prefix))
        return type(network)((first, prefix))


class FlexibleMemory(FrozenModel):
    """Memory of a flexible shape per OCPU."""

    least_gib: int
    most_gib: int


class FlexibleMachine(FrozenModel):
    """The largest machine of a flexible shape."""

    most_ocpus: int = Field(ge=1)
    most_gib: int = Field(ge=1)


class OkeClusterFacts(FrozenModel):
    """Constructs, versions and ranges of Oracle's clusters.

    `self_managed_from` is the lowest Kubernetes version for nodes that join by themselves, by pod network. `rdma_range`
    is the range of the hosts' RDMA interfaces, `flannel_node_prefix` the prefix length of a node's part of the pod
    range with flannel.
    """

    placements: dict[Placement, PlacementFacts]
    placement_keys: dict[str, tuple[Placement, ...]]
    cycling: dict[Cycling, CyclingFacts]
    memory_fabric_gpus: tuple[str, ...]
    self_managed_from: dict[PodNetwork, str]
    rdma_range: IPv4Network
    shortest_vcn_prefix: int
    longest_vcn_prefix: int
    flexible_memory: FlexibleMemory
    flexible_machines: dict[str, FlexibleMachine]
    flannel_node_prefix: int = Field(ge=1, le=32)
    system_max_pods: int = Field(ge=1)
    subnets: dict[SubnetName, SubnetPlan]
    regions: dict[str, Region]
    security_rules: tuple[SecurityRuleRow, ...]
    policies: tuple[PolicyRow, ...]
    instances: InstanceFacts
    advice: OkeAdvice
