"""The Plan: everything that can be decided without a cloud, and nothing else."""

from __future__ import annotations

from typing import Literal

from fabric.k8s.device_plugin import SriovDevicePluginConfig
from fabric.k8s.rdma_device_plugin import RdmaSharedDevicePluginConfig
from fabric.model import FrozenModel
from fabric.plan.addresses import AddressPlan
from fabric.plan.choices import Choices
from fabric.plan.clouds.doks import DoksResources
from fabric.plan.clouds.oke import OkeResources
from fabric.plan.cluster_contract import ClusterFacts
from fabric.plan.contract import FabricContract
from fabric.plan.cost import PlannedCost
from fabric.plan.nccl_files import NcclFiles
from fabric.plan.rails import Rail
from fabric.plan.records import (
    HelmRelease,
    PlannedCapacity,
    PlannedGroup,
    PlannedObject,
    PlannedPatch,
    PlannedQueues,
    PlannedReadiness,
    PlannedRollout,
    PlannedWait,
)
from fabric.plan.verification import PlannedVerification
from fabric.rules import Finding
from fabric.spec.guard import Acknowledgement
from fabric.spec.split import Part

_OF_THE_PLATFORM = frozenset(
    {"choices", "rails", "addresses", "sriov_plugin", "shared_plugin", "node_groups", "nccl", "workload"}
)


class PlannedPool(FrozenModel):
    """A pool of GPU nodes as planned."""

    name: str
    shape: str
    nodes: int
    gpus: int
    nics: int


class PlannedCluster(FrozenModel):
    """The cluster the stack lies on. `kubeconfig` is a path, `kubeconfig_secret` the name of a secret key.

    Both are None where the stack makes the cluster, and then the records of that cloud say how.
    """

    provider: str
    kubeconfig: str | None
    kubeconfig_secret: str | None
    context: str | None
    id: str | None
    pools: tuple[PlannedPool, ...]
    doks: DoksResources | None
    oke: OkeResources | None


class PlannedSplit(FrozenModel):
    """Which of two parts the stack is. `cluster` is what both plan with, `organization` whose the cluster stack is."""

    part: Literal["cluster", "platform"]
    cluster_stack: str
    organization: str | None
    cluster: ClusterFacts


class PlannedNodes(FrozenModel):
    """One kind of GPU nodes of several: its labels, its rails' NICs, and its device plug-ins' configurations."""

    name: str
    shape: str
    labels: dict[str, str]
    rails: tuple[Rail, ...]
    sriov_plugin: SriovDevicePluginConfig | None
    shared_plugin: RdmaSharedDevicePluginConfig | None


class Plan(FrozenModel):
    """A frozen plan; the same spec and catalog give the same bytes. Never holds a finding of severity error.

    The fields from `namespaces` to `verification` are what is applied, in that order; None where the stack has no part
    for it. Pools are objects of their own, or where every node has some, of a group per rail. `sriov_plugin` and
    `shared_plugin` are the configurations of the two device plug-ins; both are None where kinds of nodes need their
    own, which are in `node_groups` then. `policy_ready` is waited for where the Network Operator's chart makes its
    policy, `sriov_discovered` before node policies are applied. `split` is None where one stack makes all.
    """

    schema_version: Literal["v1"] = "v1"
    stack: str
    release_line: str
    choices: Choices
    cluster: PlannedCluster
    cost: PlannedCost
    rails: tuple[Rail, ...]
    addresses: AddressPlan
    sriov_plugin: SriovDevicePluginConfig | None
    shared_plugin: RdmaSharedDevicePluginConfig | None
    node_groups: tuple[PlannedNodes, ...]
    nccl: NcclFiles
    namespaces: tuple[PlannedObject, ...]
    gpu_operator: HelmRelease | None
    gpu_operator_ready: PlannedReadiness | None
    network_operator: HelmRelease | None
    network_operator_needs_nfd: bool
    whereabouts: HelmRelease | None
    ofed_driver: HelmRelease | None
    spiderpool: HelmRelease | None
    volcano: HelmRelease | None
    volcano_objects: tuple[PlannedObject, ...]
    kueue: HelmRelease | None
    kueue_queues: PlannedQueues | None
    jobset: HelmRelease | None
    mpi_operator: tuple[PlannedObject, ...]
    coordinator: PlannedPatch | None
    multus: tuple[PlannedObject, ...]
    cni_plugins: tuple[PlannedObject, ...]
    virtual_functions: tuple[PlannedObject, ...]
    host_preparation: tuple[PlannedObject, ...]
    policy: PlannedObject | None
    policy_ready: PlannedReadiness | None
    node_policies: tuple[PlannedObject, ...]
    plugin_rollouts: tuple[PlannedRollout, ...]
    sriov_discovered: PlannedWait | None
    sriov_policies: tuple[PlannedObject, ...]
    sriov_synced: PlannedWait | None
    capacity: PlannedCapacity | None
    reserved_ips: tuple[PlannedObject, ...]
    ip_pools: tuple[PlannedObject, ...]
    node_pools: tuple[PlannedGroup, ...]
    nic_addresses: tuple[PlannedObject, ...]
    networks: tuple[PlannedObject, ...]
    nccl_config_maps: tuple[PlannedObject, ...]
    fabric_check: tuple[PlannedObject, ...]
    verification: PlannedVerification | None = None
    workload: FabricContract
    findings: tuple[Finding, ...]
    acknowledgements: tuple[Acknowledgement, ...] = ()
    split: PlannedSplit | None = None

    @property
    def not_its_own(self) -> frozenset[str]:
        """Fields that say what lies on a cluster, of a stack that makes the cluster alone; nobody is shown them."""
        return _OF_THE_PLATFORM if self.part == "cluster" else frozenset()

    @property
    def part(self) -> Part:
        """What of a whole the stack makes."""
        return "all" if self.split is None else self.split.part

    @property
    def objects(self) -> tuple[PlannedObject, ...]:
        """Every object that is applied beside the charts, in order."""
        policy = () if self.policy is None else (self.policy,)
        return (
            *self.namespaces,
            *self.volcano_objects,
            *(() if self.kueue_queues is None else self.kueue_queues.objects),
            *self.mpi_operator,
            *self.multus,
            *self.cni_plugins,
            *self.virtual_functions,
            *self.host_preparation,
            *policy,
            *self.node_policies,
            *self.sriov_policies,
            *self.reserved_ips,
            *self.pools,
            *self.nic_addresses,
            *self.networks,
            *self.nccl_config_maps,
            *self.fabric_check,
        )

    @property
    def pools(self) -> tuple[PlannedObject, ...]:
        """Every pool object, and what is applied together with a group of them."""
        return (*self.ip_pools, *(entry for group in self.node_pools for entry in group.objects))

    def with_shares(self) -> Plan:
        """The plan with every node's share of every pool listed; see `AddressPlan.with_shares`."""
        return self.model_copy(update={"addresses": self.addresses.with_shares()})

    @property
    def releases(self) -> tuple[HelmRelease, ...]:
        """Every operator's chart that is installed, in order."""
        return tuple(
            release
            for release in (
                self.gpu_operator,
                self.network_operator,
                self.whereabouts,
                self.ofed_driver,
                self.spiderpool,
                self.volcano,
                self.jobset,
                self.kueue,
            )
            if release is not None
        )
