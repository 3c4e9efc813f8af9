"""A stack as it is compared with a cluster: its spec and its plan, and what follows from both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.cloud import CloudProfile
from gpu_fabric.k8s.spectrum_x import RAILS_LABEL, SpectrumXRailPoolConfig
from gpu_fabric.k8s.sriov_operator import SriovNetworkNodePolicy
from gpu_fabric.live.cluster import (
    Cluster,
    Json,
    annotations_of,
    field,
    is_by_program,
    labels_of,
    namespace_of,
    release_of,
)
from gpu_fabric.plan import Plan
from gpu_fabric.plan.fabrics import fabric_spec
from gpu_fabric.plan.operators.sharing import STACK_ANNOTATION
from gpu_fabric.plan.records import HelmRelease, PlannedGroup, PlannedObject, PlannedSharing, PlannedWebhookCleanup
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.further_fabric import MAIN
from gpu_fabric.spec.places import Location
from gpu_fabric.spec.stack import StackSpec

POLICY = "NicClusterPolicy"


@dataclass(frozen=True)
class Stack:
    """A stack's spec, and its plan; of several fabrics `fabric` names the one that both are of alone.

    `has_run` is whether there is a record of an earlier `up`; None where that is not known.
    """

    spec: StackSpec
    plan: Plan
    fabric: str = ""
    has_run: bool | None = None

    @cached_property
    def by_fabric(self) -> tuple[Stack, ...]:
        """The stack as each of its fabrics has it."""
        if not self.plan.fabrics:
            return (self,)
        plans = {"" if name == MAIN else name: plan for name, plan in self.plan.by_fabric.items()}
        return tuple(Stack(fabric_spec(self.spec, name), plan, name, self.has_run) for name, plan in plans.items())

    def in_fabric(self, *keys: str | int) -> Location:
        """The place of keys of the fabric's section."""
        return ("fabrics", self.fabric, *keys) if self.fabric else ("fabric", *keys)

    @cached_property
    def sharing(self) -> PlannedSharing | None:
        """What the stack expects of a cluster with operators, or with other stacks; None on a cluster of its own."""
        return next(iter(self.plan.records(PlannedSharing)), None)

    @cached_property
    def present(self) -> frozenset[str]:
        """Software that the stack file says the cluster has."""
        operators = () if self.sharing is None else self.sharing.operators
        return self.spec.present.union(operator.name for operator in operators)

    @cached_property
    def objects(self) -> tuple[PlannedObject, ...]:
        """Every object that the stack applies."""
        return self.plan.objects

    @cached_property
    def kept(self) -> frozenset[tuple[str, str | None, str]]:
        """Kind, namespace and name of what this program's own provider writes, which takes over fields of others."""
        groups = self.plan.records(PlannedGroup)
        return frozenset(
            (entry.object.kind, entry.object.metadata.namespace, entry.name) for one in groups for entry in one.objects
        )

    @cached_property
    def namespaces(self) -> dict[str, dict[str, str]]:
        """The namespaces that the stack creates, with their labels."""
        made = (entry.object.metadata for entry in self.objects if entry.object.kind == "Namespace")
        return {metadata.name: dict(metadata.labels or {}) for metadata in made}

    @cached_property
    def releases(self) -> dict[str, HelmRelease]:
        """The charts that the stack installs, by their release's name."""
        return {release.name: release for release in self.plan.releases}

    @cached_property
    def jobs_namespaces(self) -> tuple[str, ...]:
        """The namespaces in which pods of jobs run."""
        return tuple(dict.fromkeys(name for plan in self._plans for name in plan.workload.namespaces))

    @cached_property
    def every_namespace(self) -> tuple[str, ...]:
        """All namespaces that the stack uses."""
        return tuple(dict.fromkeys((*self.namespaces, *self.jobs_namespaces)))

    @cached_property
    def node_policies(self) -> tuple[SriovNetworkNodePolicy, ...]:
        """The policies for the SR-IOV operator."""
        return tuple(entry.object for entry in self.objects if isinstance(entry.object, SriovNetworkNodePolicy))

    @cached_property
    def cleaned_webhooks(self) -> frozenset[str]:
        """Webhook configurations that the stack deletes where they outlive their operator."""
        return frozenset(record.name for record in self.plan.records(PlannedWebhookCleanup))

    @cached_property
    def resources(self) -> frozenset[str]:
        """The extended resources of the rails that nodes offer; none where a DRA driver publishes the rails' NICs."""
        if self.is_answered_by_claims:
            return frozenset()
        return frozenset(rail.resource_name for plan in self._plans for rail in plan.rails if rail.resource_name)

    @property
    def is_answered_by_claims(self) -> bool:
        """Whether the SR-IOV operator's DRA driver answers what pods request, in all fabrics alike."""
        return self.spec.fabric.devices == "claims" and self.cloud is None

    @cached_property
    def cloud(self) -> CloudProfile | None:
        """The profile of the cloud that runs the cluster; None without one."""
        cluster = self.spec.cluster
        stated = cluster.profile if isinstance(cluster, ExistingClusterSpec) else None
        return None if stated is None else catalog().clouds[stated]

    @cached_property
    def networks(self) -> frozenset[tuple[str, str]]:
        """Namespace and name of the networks that pods get in addition to their first, by Multus."""
        return frozenset(
            (namespace, network.network)
            for plan in self._plans
            for network in plan.workload.networks
            for namespace in ((network.namespace,) if network.namespace else plan.workload.namespaces)
        )

    @property
    def _plans(self) -> tuple[Plan, ...]:
        return tuple(self.plan.by_fabric.values())

    def value(self, release: str, *keys: str) -> Any:
        """A value that a chart of the stack gets; None without the chart or the value."""
        found = self.releases.get(release)
        return None if found is None else field(found.values, *keys)

    @cached_property
    def policy(self) -> dict[str, Any]:
        """The spec of the stack's NicClusterPolicy; of older release lines, the chart's values that make it.

        Empty where the stack does not install the operator: what the policy names then exists in the cluster.
        """
        if "network-operator" not in self.releases:
            return {}
        for entry in self.objects:
            if entry.object.kind == POLICY:
                spec: dict[str, Any] = entry.object.manifest().get("spec") or {}
                return spec
        values = self.releases["network-operator"].values
        return {key: part for key, part in values.items() if _is_deployed(key, part)}

    def owns(self, item: Json) -> bool | None:
        """Whether an object is the stack's: by the mark of a stack, and without one by the managers of its fields.

        What the Spectrum-X operator makes of the stack's rails is the stack's. None where it is not known: on a shared
        cluster a Pulumi program wrote it without a mark, which this stack did only if it was up before it shared the
        cluster.
        """
        if (mark := mark_of(item)) is not None:
            return mark == self.plan.stack
        if (namespace_of(item), labels_of(item).get(RAILS_LABEL)) in self._rails:
            return True
        return is_by_program(item) and (True if self.sharing is None else self.has_run)

    @cached_property
    def _rails(self) -> frozenset[tuple[str | None, str]]:
        """Namespaces and names of the objects of which the Spectrum-X operator makes rails."""
        made = (entry.object for entry in self.objects if isinstance(entry.object, SpectrumXRailPoolConfig))
        return frozenset((each.metadata.namespace, each.metadata.name) for each in made)

    def is_foreign(self, item: Json) -> bool:
        """Whether an object is known not to be the stack's."""
        return self.owns(item) is False

    def has_released(self, item: Json) -> bool:
        """Whether an object is part of a Helm release with the name and namespace of one of the stack's."""
        release = release_of(item)
        return release is not None and any((one.name, one.namespace) == release for one in self.releases.values())

    def installed(self, cluster: Cluster, item: Json) -> bool:
        """Whether an object is part of a release of the stack, in a namespace that the stack created."""
        release = release_of(item)
        return release is not None and self.has_released(item) and self.keeps(cluster, release[1])

    def keeps(self, cluster: Cluster, namespace: str | None) -> bool:
        """Whether a namespace is one that the stack created, so that what is in it is the stack's own."""
        found = cluster.namespaces.get(namespace or "")
        return found is not None and not self.is_foreign(found)

    def has_been_up(self, cluster: Cluster) -> bool:
        """Whether the stack has applied something in the cluster: one of its namespaces is its own."""
        return any(self.keeps(cluster, name) for name in self.namespaces)


def mark_of(item: Json) -> str | None:
    """The stack that has marked an object as its own; None without a mark."""
    return annotations_of(item).get(STACK_ANNOTATION)


def _is_deployed(key: str, part: Any) -> bool:
    if key == "secondaryNetwork":
        return True
    return field(part, "deploy") is True
