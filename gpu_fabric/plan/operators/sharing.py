"""A cluster that a stack shares: operators that are there, and what the stack expects of each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_fabric.catalog import OperatorFacts
from gpu_fabric.catalog.version import Version, VersionRange
from gpu_fabric.k8s.mellanox import NicClusterPolicy
from gpu_fabric.plan import records
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.devices import rails_by_resource
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.network_operator import CHART as NETWORK_OPERATOR
from gpu_fabric.plan.operators.policy import nic_cluster_policy
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.plan.steps import Context, Step, Words
from gpu_fabric.spec.software import PolicyOwner

SHARED = "shared-cluster"
"""The name of the step."""

STACK_ANNOTATION = "gpu-fabric/stack"
"""The annotation of every object of a stack that shares its cluster, with the stack's name."""


# Longer lists are given by their ends: they count rails.
_LISTED = 3


def present_operators(case: Case) -> tuple[str, ...]:
    """The operators that a switch `install: false` says the cluster has, as far as this stack uses them."""
    stated = set(case.spec.software.present)
    others = {"amd-network-operator", "dranet", "network-operator", "spiderpool"} - {manager_of(case).chart}
    if case.choices.ipam != "whereabouts":
        others.add("whereabouts")
    if not case.choices.by_sriov_operator:
        others.add("sriov-operator")
    elif manager_of(case).is_present:
        stated.add("sriov-operator")
    return tuple(name for name in case.known.operators if name in stated - others)


def is_shared(case: Case) -> bool:
    """Whether the cluster has software, or another stack's objects, that this stack builds on."""
    return bool(present_operators(case)) or case.spec.fabric.prefix is not None


def marked(case: Case, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, in which every object carries the stack's mark where the cluster is shared."""
    shared = is_shared(case)
    for step in steps:
        items = tuple(_marked(case, item) for item in step.items) if shared else step.items
        yield step.model_copy(update={"items": items})


def _marked(case: Case, item: records.Item) -> records.Item:
    def mark(planned: records.PlannedObject) -> records.PlannedObject:
        metadata = planned.object.metadata
        annotations = {**(metadata.annotations or {}), STACK_ANNOTATION: case.spec.name}
        named = metadata.model_copy(update={"annotations": dict(sorted(annotations.items()))})
        return planned.model_copy(update={"object": planned.object.model_copy(update={"metadata": named})})

    if isinstance(item, records.PlannedObject):
        return mark(item)
    if isinstance(item, records.PlannedGroup):
        return item.model_copy(update={"objects": tuple(map(mark, item.objects))})
    if isinstance(item, records.PlannedQueues):
        changed = {"queue": mark(item.queue)}
        lists = {name: tuple(map(mark, getattr(item, name))) for name in ("flavors", "local_queues")}
        return item.model_copy(update={**changed, **lists})
    return item


def shared_cluster(context: Context, steps: tuple[Step, ...]) -> Iterator[Step]:
    """What is checked before anything is registered, by the other `steps`; nothing on a cluster of the stack's own."""
    case = context.case
    if not is_shared(case):
        return
    used = tuple(_definitions(steps))
    operators = tuple(_expected(case, name, used) for name in present_operators(case))
    policy = _expected_policy(context) if policy_of_present(case) == "theirs" else None
    sharing = records.PlannedSharing(stack=case.spec.name, operators=operators, policy=policy)
    words = tuple(
        Words(
            title=entry.title,
            what=f"not installed, must be there: {_what(entry)}",
            waits="nothing: checked before anything is created" if entry.definitions else "",
        )
        for entry in operators
    )
    if policy is not None:
        names = tuple(dict.fromkeys(entry.name for entry in policy.resources))
        resources = names if len(names) < _LISTED else (f"{names[0]} to {names[-1]}",)
        needs = ", ".join((*policy.sections, *resources)) or "nothing"
        what = f"{NicClusterPolicy.kind}: nothing is written, and it must have {needs}"
        words = (*words, Words(title="policy", what=what, waits="nothing: compared before anything is created"))
    yield Step(
        name=SHARED,
        component=SHARED,
        kind="cluster:SharedCluster",
        items=(sharing,),
        words=words,
    )


def policy_of_present(case: Case) -> PolicyOwner | None:
    """How the NicClusterPolicy of a Network Operator that the cluster has is used; None where there is none."""
    return case.spec.software.network_operator.policy if NETWORK_OPERATOR.is_present(case) else None


def _expected_policy(context: Context) -> records.ExpectedPolicy:
    """The sections and resources that the stack would have written."""
    case = context.case
    policy = nic_cluster_policy(context).object.manifest()["spec"]
    plugins = {"sriovDevicePlugin", "rdmaSharedDevicePlugin", "tolerations"}
    at_nodes = {"secondaryNetwork.cniPlugins"} if case.spec.software.cni_plugins == "node-image" else set()
    nested = {f"secondaryNetwork.{key}" for key in policy.get("secondaryNetwork", {})} - at_nodes
    resources = dict.fromkeys(found for group in case.groups for found in _resources(case, group))
    return records.ExpectedPolicy(
        sections=tuple(sorted((policy.keys() - plugins - {"secondaryNetwork"}) | nested)),
        resources=tuple(resources) if manager_of(case).runs_policy_plugins else (),
    )


def _resources(case: Case, group: NodeGroup) -> Iterator[records.ExpectedResource]:
    rails = group_rails(case, group)
    for members in rails_by_resource(rails).values():
        if (name := members[0].resource_name) is not None:
            yield records.ExpectedResource(
                name=name,
                shared=case.choices.access == "shared",
                addresses=tuple(rail.pci for rail in members),
                interfaces=tuple(rail.interface for rail in members),
                all_rails=len(members) == len(rails),
                pods=case.pods_per_nic,
            )


def _what(entry: records.ExpectedOperator) -> str:
    kinds = ", ".join(f"{found.name}/{found.version}" for found in entry.definitions)
    parts = (
        f"{entry.versions}, tested with {entry.tested}" if entry.versions else "",
        f"in namespace {entry.namespace}" if entry.namespace else "",
        f"with {kinds}" if kinds else "",
    )
    return "; ".join(filter(None, parts)) or "in a version that works with the others"


def _expected(case: Case, name: str, used: tuple[records.ExpectedDefinition, ...]) -> records.ExpectedOperator:
    # What a policy of the stack's installs comes later.
    later = {"nv-ipam.nvidia.com"} if policy_of_present(case) in ("own", "adopt") else set()
    known, manager = case.known.operators[name], manager_of(case)
    tested = _tested(case, known)
    namespaces = {manager.chart: manager.namespace, "sriov-operator": manager.sriov_namespace}
    return records.ExpectedOperator(
        name=name,
        title=known.heading,
        tested=tested,
        versions=None if tested is None else _same_minor(Version.parse(tested)),
        namespace=namespaces.get(name),
        definitions=tuple(found for found in used if found.name.partition(".")[2] in set(known.groups) - later),
    )


def _tested(case: Case, known: OperatorFacts) -> str | None:
    """The version of the release line; None for a part of other charts."""
    if known.release in case.line.charts:
        return case.line.charts[known.release].version
    alone = {str(name): row.version for name, row in case.line.standalone.items()}
    return alone.get(known.part)


def _same_minor(tested: Version) -> VersionRange:
    """The versions of the same minor release."""
    major, minor = (*tested.release, 0)[:2]
    return VersionRange(lowest=Version(release=(major, minor)), below=Version(release=(major, minor + 1)))


def _definitions(steps: Iterable[Step]) -> Iterator[records.ExpectedDefinition]:
    """The kinds of everything that is applied and that is not of Kubernetes itself, each once."""
    found: dict[str, records.ExpectedDefinition] = {}
    defined = set()
    for step in steps:
        for item in step.items:
            if isinstance(item, records.PlannedAdoption):
                group, _, version = item.api_version.partition("/")
                found.setdefault(
                    f"{item.plural}.{group}", records.ExpectedDefinition(name=f"{item.plural}.{group}", version=version)
                )
            for entry in records.objects_of(item):
                group, _, version = entry.object.api_version.rpartition("/")
                if entry.object.kind == "CustomResourceDefinition":
                    defined.add(entry.name)
                name = f"{entry.object.plural}.{group}"
                found.setdefault(name, records.ExpectedDefinition(name=name, version=version))
    return (entry for name, entry in sorted(found.items()) if name not in defined)
