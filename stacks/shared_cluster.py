"""A stack on a cluster that it shares: what the cluster must have, and what is not the stack's, before any change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi

from components.adopted_sections import AdoptionError, apply_sections
from components.cluster.existing import existing_kubeconfig
from components.cluster.referenced import CLUSTER, KUBECONFIG
from components.engine.cluster_api import ClusterApi, PatientClusterApi, RequestError, api_path, find
from components.engine.stack_outputs import StackOutputsError, full_name, last_outputs
from gpu_fabric.changes.shared_cluster import (
    missing_definitions,
    policy_problems,
    sharing_of,
    taken_by_others,
)
from gpu_fabric.k8s.apiextensions import CustomResourceDefinition
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import ExpectedOperator, PlannedAdoption, PlannedObject
from gpu_fabric.resources.dynamic import adoption_resource
from gpu_fabric.spec.places import NAMESPACE

_WAYS = (
    "-> give this stack's objects other names (gpu-fabric:fabric.prefix, other namespaces), or change the stack that "
    "has them. A NicClusterPolicy that exists is used with policy: adopt or theirs, a namespace with create: false. "
    "Nothing was changed"
)


def sharing_refusal(plan: Plan, root: Path) -> str:
    """Why a plan must not be applied to the cluster that it shares; empty if it may, or has a cluster of its own.

    A preview that cannot reach the cluster only warns.

    Raises:
        pulumi.RunError: the cluster cannot be reached by `up`.
    """
    sharing = sharing_of(plan)
    if sharing is None:
        return ""
    try:
        api = _api(plan, root)
        missing = list(missing_definitions(sharing.operators, _served(api, sharing.operators)))
        lacking = [] if sharing.policy is None else list(policy_problems(sharing.policy, _policies(api)))
        taken = list(taken_by_others(sharing.stack, _existing(api, plan), _has_run()))
        found = (
            _refusal("the cluster lacks what this stack relies on:", missing, _INSTALL),
            _refusal("the cluster's policy does not offer what this stack needs:", lacking, _POLICY),
            _refusal("these objects exist on the cluster, and are not of this stack:", taken, _WAYS),
            _conflict(api, plan),
        )
        return "\n".join(filter(None, found))
    except RequestError as error:
        if not pulumi.runtime.is_dry_run():
            raise pulumi.RunError(f"the cluster was not looked at, and so nothing was changed: {error}") from None
        pulumi.log.warn(f"the cluster was not looked at: {error}; `up` compares it with the plan, and may be refused")
        return ""


_INSTALL = (
    "-> install the operators in the versions that `gpu-fabric plan` names, or let the stack install them "
    "(install: true). Nothing was changed"
)
_POLICY = (
    "-> plan with what it offers (gpu-fabric:fabric.rails has `resource`, `pci` and `interface` for each rail), write "
    "policy: adopt, or change the policy. Nothing was changed"
)
_MOST = 20


def _refusal(what: str, lines: list[str], ways: str) -> str:
    """Every problem of one kind, and the ways out; empty if there is none."""
    if not lines:
        return ""
    more = [f"and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    return "\n".join([what, *(f"  {line}" for line in (*lines[:_MOST], *more)), ways])


def _api(plan: Plan, root: Path) -> ClusterApi:
    """The API of the plan's cluster. Raises RequestError where nothing leads to it."""
    if plan.split is None and plan.cluster.provider == "existing":
        return PatientClusterApi(existing_kubeconfig(plan.cluster, root), plan.cluster.context)
    # A cluster of the stack's own is the one of its last run.
    split = plan.split
    stack = full_name(pulumi.get_stack()) if split is None else full_name(split.cluster_stack, split.organization)
    try:
        outputs = last_outputs(stack)
    except StackOutputsError as error:
        raise RequestError(0, f"the outputs of stack {stack} cannot be read: {error}") from None
    if not outputs.get(CLUSTER if split else KUBECONFIG):
        first = "" if split else "; a first `up` with install: true and policy: own makes it and what is shared on it"
        raise RequestError(0, f"stack {stack} has created no cluster yet{first}")
    return PatientClusterApi(str(outputs[KUBECONFIG]), None)


def _served(api: ClusterApi, operators: tuple[ExpectedOperator, ...]) -> dict[str, list[str]]:
    """The served versions of every expected definition that the cluster has."""
    served = {}
    for name in sorted({entry.name for operator in operators for entry in operator.definitions}):
        kind = CustomResourceDefinition
        if (found := find(api, api_path(kind.api_version, kind.plural, name=name))) is not None:
            served[name] = [version["name"] for version in found["spec"]["versions"] if version.get("served")]
    return served


def _policies(api: ClusterApi) -> list[dict[str, Any]]:
    """The sections of the cluster's one policy, and of those of its node groups; none without the first."""
    cluster, nodes = (
        api.items(api_path(kind.api_version, kind.plural), "") for kind in (NicClusterPolicy, NicNodePolicy)
    )
    return [item.get("spec") or {} for item in (*cluster, *(nodes if cluster else ()))]


def _existing(api: ClusterApi, plan: Plan) -> Iterator[tuple[PlannedObject, dict[str, Any]]]:
    """The plan's objects that exist, as they are on the cluster: one request for each kind and namespace."""
    listed: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in plan.objects:
        planned = entry.object
        path = api_path(planned.api_version, planned.plural, planned.metadata.namespace)
        if path not in listed:
            listed[path] = {item["metadata"]["name"]: item for item in api.items(path, "")}
        if (found := listed[path].get(planned.metadata.name)) is not None:
            yield entry, found


def _has_run() -> bool:
    """Whether this stack has a record of an earlier `up`."""
    try:
        return bool(last_outputs(full_name(pulumi.get_stack())).get("applied"))
    except StackOutputsError:
        return False


def _conflict(api: ClusterApi, plan: Plan) -> str:
    """Why the sections that the plan adds cannot be added; empty if they can."""
    for planned in plan.records(PlannedAdoption):
        sent = adoption_resource("", planned, f"{NAMESPACE}/{plan.stack}", None).properties
        try:
            apply_sections(api, sent["path"], sent["manifest"], sent["manager"], dry_run=True)
        except AdoptionError as error:
            return str(error)
    return ""
