"""Oracle Kubernetes Engine clusters: constructs, versions, ranges, regions, rules, policies, advice: `oke_*.yaml`."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Literal

from pydantic import Field

from fabric.catalog.oke_advice import OkeAdvice
from fabric.catalog.oke_policy import PolicyRow
from fabric.catalog.oke_security_rule import SecurityRuleRow
from fabric.model import FrozenModel

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
    """How nodes are renewed: Oracle's name of the mode, and how many machines more and fewer there may be meanwhile.

    Numbers of machines, or shares of the pool such as `25%`; without `surge` there can be none more.
    """

    mode: str
    surge: str | None = None
    unavailable: str


class Region(FrozenModel):
    """A region: the key that ids may carry for its name, and its realm."""

    key: str
    realm: str


class InstanceFacts(FrozenModel):
    """What every self-managed machine is made with. Volumes in GiB, metadata in bytes."""

    agent_plugins: dict[str, Literal["ENABLED", "DISABLED"]]
    metadata_limit: int
    metadata_reserve: int
    smallest_boot_volume: int
    node_pool_vpus: int
    memory_fabric_nodes: int
    addons: dict[str, str]
    gpu_plugin_off_label: str
    virtual_function_regions: dict[str, tuple[str, ...]]


class SubnetPlan(FrozenModel):
    """A subnet as a part of the VCN's range: the `number`-th with `new_bits` more bits of prefix."""

    new_bits: int = Field(ge=1)
    number: int = Field(ge=0)

    def within(self, network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network | None:
        """The subnet's range; None where the VCN is too small for it."""
        prefix = network.prefixlen + self.new_bits
        if prefix > network.max_prefixlen:
            return None
        first = int(network.network_address) + (self.number << (network.max_prefixlen - prefix))
        return type(network)((first, prefix))


class OkeClusterFacts(FrozenModel):
    """Constructs, versions and ranges of Oracle's clusters.

    `self_managed_from` is the lowest Kubernetes version for nodes that join by themselves, by pod network;
    `rdma_range` is where the hosts' RDMA interfaces have their addresses.
    """

    placements: dict[Placement, PlacementFacts]
    placement_keys: dict[str, tuple[Placement, ...]]
    cycling: dict[Cycling, CyclingFacts]
    memory_fabric_gpus: tuple[str, ...]
    self_managed_from: dict[PodNetwork, str]
    rdma_range: IPv4Network
    system_max_pods: int = Field(ge=1)
    subnets: dict[SubnetName, SubnetPlan]
    regions: dict[str, Region]
    security_rules: tuple[SecurityRuleRow, ...]
    policies: tuple[PolicyRow, ...]
    instances: InstanceFacts
    advice: OkeAdvice
