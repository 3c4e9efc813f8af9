"""The Plan: everything that can be decided without a cloud, and nothing else."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field, SerializeAsAny

from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.cluster import ClusterFacts, OtherNodes
from gpu_fabric.findings import Finding
from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig, SriovDevicePluginConfig
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.bandwidth import PlannedBandwidth
from gpu_fabric.plan.choices import Choices
from gpu_fabric.plan.cost import PlannedCost
from gpu_fabric.plan.devices import PlannedNodes
from gpu_fabric.plan.nccl_files import NcclFiles
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import Conflict, HelmRelease, PlannedObject, PlannedVerification, objects_of
from gpu_fabric.plan.steps import Step
from gpu_fabric.spec.further_fabric import MAIN, Purpose
from gpu_fabric.spec.guard import AcknowledgementSpec
from gpu_fabric.spec.not_asked_for import OptionalKey
from gpu_fabric.spec.split import Part

if TYPE_CHECKING:
    from gpu_fabric.plan.clouds.doks import DoksResources
    from gpu_fabric.plan.clouds.oke.resources import OkeResources
    from gpu_fabric.plan.clouds.record import CloudResources
else:
    # A cloud's records are imported only for stacks of that cloud.
    DoksResources = OkeResources = SerializeAsAny[FrozenModel]

Record = TypeVar("Record", bound=FrozenModel)

OF_THE_PLATFORM = frozenset(
    {
        *("choices", "bandwidth", "rails", "addresses", "sriov_plugin", "shared_plugin", "node_groups"),
        *("nccl", "workload", "fabrics"),
    }
)


class PlannedPool(FrozenModel):
    """A pool of GPU nodes as planned."""

    name: str
    shape: str
    nodes: int
    gpus: int
    nics: int


class PlannedProfile(FrozenModel):
    """The cloud of an existing cluster: its name and title, why there is no network to attach, and its software.

    `links` is the protocol of its NICs, where that is neither RoCE nor InfiniBand. `has` is what nodes and cluster have
    already, `lacks` what their user installs, with the way.
    """

    name: str
    title: str
    networks: str
    links: str | None
    has: tuple[str, ...]
    lacks: dict[str, str]


class PlannedCluster(FrozenModel):
    """The cluster of the stack. `kubeconfig` is a path, `kubeconfig_secret` the name of a secret key.

    Both are None where the stack creates the cluster; the records of that cloud describe it. `profile` is the cloud of
    an existing cluster. `other_pools` have no part in the fabric.
    """

    provider: str
    kubeconfig: str | None
    kubeconfig_secret: str | None
    context: str | None
    id: str | None
    profile: PlannedProfile | None = Field(default=None, exclude_if=operator.not_)
    pools: tuple[PlannedPool, ...]
    other_pools: tuple[OtherNodes, ...] = Field(default=(), exclude_if=operator.not_)
    doks: DoksResources | None
    oke: OkeResources | None

    @property
    def cloud(self) -> CloudResources | None:
        """The cloud resources; None where the cluster exists."""
        return self.doks or self.oke


class PlannedFabric(FrozenModel):
    """A further fabric of a stack, with the fields that a plan has of its first one; `pools` are their names."""

    name: str
    purpose: Purpose
    pools: tuple[str, ...]
    choices: Choices
    bandwidth: PlannedBandwidth
    rails: tuple[Rail, ...]
    addresses: AddressPlan
    sriov_plugin: SriovDevicePluginConfig | None
    shared_plugin: RdmaSharedDevicePluginConfig | None
    node_groups: tuple[PlannedNodes, ...]
    nccl: NcclFiles
    workload: FabricContract


class PlannedSplit(FrozenModel):
    """Which of two parts the stack is. `cluster` is what both plan with, `organization` whose the cluster stack is."""

    part: Literal["cluster", "platform"]
    cluster_stack: str
    organization: str | None
    cluster: ClusterFacts


class Plan(FrozenModel):
    """A frozen plan; the same spec and catalog give the same bytes. Never holds a finding of severity error.

    `steps` are what is applied, each after all that it comes after. `sriov_plugin` and `shared_plugin` are the
    configurations of the two device plug-ins; both are None where node groups need their own, which are in
    `node_groups` then. `split` is None where one stack makes all. `fabrics` are further fabrics, whose steps are among
    `steps`; all other fields about a fabric are those of the section `fabric`. `not_asked_for` are keys that the stack
    file could have.
    """

    schema_version: Literal["v1"] = "v1"
    stack: str
    release_line: str
    choices: Choices
    cluster: PlannedCluster
    cost: PlannedCost
    bandwidth: PlannedBandwidth
    rails: tuple[Rail, ...]
    addresses: AddressPlan
    sriov_plugin: SriovDevicePluginConfig | None
    shared_plugin: RdmaSharedDevicePluginConfig | None
    node_groups: tuple[PlannedNodes, ...]
    nccl: NcclFiles
    steps: tuple[Step, ...]
    workload: FabricContract
    findings: tuple[Finding, ...]
    acknowledgements: tuple[AcknowledgementSpec, ...] = ()
    split: PlannedSplit | None = None
    fabrics: tuple[PlannedFabric, ...] = Field(default=(), exclude_if=lambda value: not value)
    # What the file could have is nothing that is planned, and no difference between two plans.
    not_asked_for: tuple[OptionalKey, ...] = Field(default=(), exclude=True)
    # Empty in every plan that the rules have passed.
    conflicts: tuple[Conflict, ...] = Field(default=(), exclude=True)

    @property
    def by_fabric(self) -> dict[str, Plan]:
        """The plan as each fabric has it, by the fabric's name: its own pools and fields, and all steps.

        One fabric alone has no name.
        """
        if not self.fabrics:
            return {"": self}
        taken = {pool for fabric in self.fabrics if fabric.purpose == "compute" for pool in fabric.pools}
        first = self._narrowed(tuple(pool.name for pool in self.cluster.pools if pool.name not in taken), {})
        return {MAIN: first} | {
            fabric.name: self._narrowed(
                fabric.pools,
                {field: getattr(fabric, field) for field in PlannedFabric.model_fields if field in Plan.model_fields},
            )
            for fabric in self.fabrics
        }

    def _narrowed(self, pools: tuple[str, ...], changes: dict[str, Any]) -> Plan:
        own = tuple(pool for pool in self.cluster.pools if pool.name in pools)
        cluster = self.cluster.model_copy(update={"pools": own})
        return self.model_copy(update={**changes, "cluster": cluster, "fabrics": ()})

    @property
    def not_its_own(self) -> frozenset[str]:
        """Fields about a cluster's software, which a stack that creates the cluster alone does not show."""
        return OF_THE_PLATFORM if self.part == "cluster" else frozenset()

    @property
    def part(self) -> Part:
        """What of a whole the stack makes."""
        return "all" if self.split is None else self.split.part

    def step(self, name: str) -> Step | None:
        """A step by its name; None where the plan has none that is called so."""
        return next((step for step in self.steps if step.name == name), None)

    def records(self, kind: type[Record], *names: str) -> tuple[Record, ...]:
        """Every item of a kind in the order of the steps; only of the steps of these names where some are given."""
        steps = (step for step in self.steps if not names or step.name in names)
        return tuple(item for step in steps for item in step.items if isinstance(item, kind))

    def record(self, kind: type[Record], name: str) -> Record | None:
        """The first item of a kind in a step; None where there is none."""
        return next(iter(self.records(kind, name)), None)

    def applied(self, *names: str) -> tuple[PlannedObject, ...]:
        """Every object of these steps that is applied in addition to the charts, with those of groups and queues."""
        steps = (step for step in self.steps if step.name in names)
        return tuple(entry for step in steps for item in step.items for entry in objects_of(item))

    def release(self, name: str) -> HelmRelease | None:
        """An operator's release by its name; None where the stack installs none."""
        return next((release for release in self.releases if release.name == name), None)

    @property
    def releases(self) -> tuple[HelmRelease, ...]:
        """Every operator's chart that is installed, in order."""
        return self.records(HelmRelease)

    @property
    def objects(self) -> tuple[PlannedObject, ...]:
        """Every object that is applied in addition to the charts, in order, with those of groups and queues."""
        return self.applied(*(step.name for step in self.steps))

    @property
    def verification(self) -> PlannedVerification | None:
        """The run of the verification; None where the stack has none."""
        return next(iter(self.records(PlannedVerification)), None)

    def with_shares(self) -> Plan:
        """The plan with every node's share of every pool of every fabric listed; see `AddressPlan.with_shares`."""
        further = (one.model_copy(update={"addresses": one.addresses.with_shares()}) for one in self.fabrics)
        return self.model_copy(update={"addresses": self.addresses.with_shares(), "fabrics": tuple(further)})
