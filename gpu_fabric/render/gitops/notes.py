"""The page that is written beside the manifests: how to use them, their order, Secrets, and what no manifest does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpu_fabric.plan import Plan
from gpu_fabric.plan.operators.network_operator import CHART as NETWORK_OPERATOR
from gpu_fabric.plan.records import (
    HelmRelease,
    PlannedAdoption,
    PlannedCapacity,
    PlannedConfiguration,
    PlannedGroup,
    PlannedLabelCleanup,
    PlannedObject,
    PlannedPatch,
    PlannedPullSecret,
    PlannedQueues,
    PlannedReadiness,
    PlannedRetention,
    PlannedRollout,
    PlannedSharing,
    PlannedState,
    PlannedVerification,
    PlannedWait,
    PlannedWaves,
    PlannedWebhookCleanup,
)
from gpu_fabric.plan.steps import Item, Step
from gpu_fabric.render.gitops.adoption import fragments
from gpu_fabric.render.gitops.argo import is_judged
from gpu_fabric.render.gitops.conditions import Check
from gpu_fabric.render.gitops.flux import NAMESPACE as FLUX_NAMESPACE
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.render.gitops.units import Tool, Unit
from gpu_fabric.report.template import fill_template

_TEMPLATE = "gitops.md.j2"
# Keys under which a chart or an object names a Secret, or several.
_NAMES_PULL_SECRETS = frozenset({"imagePullSecrets", "pullSecrets", "image_pull_secret"})
_NAMES_SECRETS = _NAMES_PULL_SECRETS | {"secretKeyRef", "secretName", "secretRef", "ufmSecret"}
_FOR_PULLING = "type `kubernetes.io/dockerconfigjson`: a Docker configuration with the registry's login"
_ROLLED_OUT = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
# Longer lists are given by their ends: they count rails.
_MOST_LISTED = 3
_WITH_PODS = "deployments,daemonsets,statefulsets"


class LeftOut(NamedTuple):
    """What `up` does in a step and no manifest can state, and what to do instead."""

    step: str
    does: str
    instead: str


class WantedSecret(NamedTuple):
    """A Secret that the user must create."""

    namespace: str
    name: str
    content: str


def notes(plan: Plan, tool: Tool, place: Place, found: Sequence[Unit], checks: Mapping[str, Sequence[Check]]) -> str:
    """The page as Markdown; `checks` are those of each step."""
    waves = [[unit for unit in found if unit.wave == wave] for wave in range(1 + max(unit.wave for unit in found))]
    return fill_template(
        _TEMPLATE,
        stack=plan.stack,
        tool=tool,
        root=place.name_of(),
        path=place.path,
        waves=waves,
        commands={unit.name: tuple(_commands(unit)) for unit in found} if tool == "kustomize" else {},
        adopted=tuple(fragments(plan)),
        secrets=tuple(wanted_secrets(plan)),
        left_out=tuple(left_out(plan, tool, checks)),
        cloud=len(plan.cluster.cloud.records) if plan.cluster.cloud else 0,
        objects=sum(len(unit.objects) for unit in found),
        releases=[unit.release for unit in found if unit.release is not None],
    )


def _commands(unit: Unit) -> Iterator[str]:
    """What applies a unit, and then waits for it."""
    if unit.is_applied:
        options = "" if unit.release is None else ' --enable-helm --helm-kube-version "$KUBE_VERSION"'
        build = f"kustomize build{options} steps/{unit.name}"
        apply = f"{build} | kubectl apply --server-side --force-conflicts -f -"
        # kubectl refuses objects of a kind that the same chart defines, until its definition is established.
        established = "kubectl wait --for=condition=Established crd --all"
        yield apply if unit.release is None else f"{apply} || {{ {established} && {apply}; }}"
    if unit.release is not None:
        names = f"kubectl get {_WITH_PODS} -n {unit.release.namespace} -o name"
        wait = f"kubectl rollout status -n {unit.release.namespace} --timeout={unit.timeout}s"
        yield f"{names} | xargs -n 1 {wait}"
    for manifest in unit.objects:
        name = manifest["metadata"]["name"]
        if manifest["kind"] == "CustomResourceDefinition":
            yield f"kubectl wait --for=condition=Established crd/{name}"
        elif manifest["kind"] in _ROLLED_OUT and unit.awaited:
            place = f"-n {manifest['metadata'].get('namespace', 'default')}"
            kind = manifest["kind"].lower()
            yield f"kubectl rollout status {place} {kind}/{name} --timeout={unit.timeout}s"
    yield from (check.command for check in unit.checks)


def wanted_secrets(plan: Plan) -> Iterator[WantedSecret]:
    """The Secrets that charts and objects of the plan name, each once."""
    found: dict[WantedSecret, None] = {}
    for release in plan.releases:
        for value in release.secret_values:
            content = f"entry `{value.entry}`: the value of `{value.path}` of the chart {release.name}, in Base64"
            found[WantedSecret(FLUX_NAMESPACE, value.key, content)] = None
        for key, name in _named_secrets(release.values):
            content = _content(key, f"the chart {release.name}")
            found[WantedSecret(release.namespace, name, content)] = None
    for entry in plan.objects:
        for key, name in _named_secrets(entry.object.manifest()):
            namespace = entry.object.metadata.namespace or _namespace_of_operator(plan)
            content = _content(key, f"{entry.object.kind} {entry.name}")
            found[WantedSecret(namespace, name, content)] = None
    for secret in plan.records(PlannedPullSecret):
        found[WantedSecret(secret.namespace, secret.name, _FOR_PULLING)] = None
    return iter(found)


def _namespace_of_operator(plan: Plan) -> str:
    """Where the Network Operator looks for Secrets that its policy, which has no namespace, names."""
    release = plan.release(NETWORK_OPERATOR.name)
    return "the Network Operator's namespace" if release is None else release.namespace


def _content(key: str, wanted_by: str) -> str:
    return _FOR_PULLING if key in _NAMES_PULL_SECRETS else f"as {wanted_by} wants it under `{key}`"


def _named_secrets(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if key in _NAMES_SECRETS:
                yield from ((key, name) for name in _names(entry))
            else:
                yield from _named_secrets(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _named_secrets(entry)


def _names(value: Any) -> Iterator[str]:
    for entry in value if isinstance(value, list | tuple) else (value,):
        name = entry.get("name") if isinstance(entry, Mapping) else entry
        if isinstance(name, str) and name:
            yield name


def left_out(plan: Plan, tool: Tool, checks: Mapping[str, Sequence[Check]]) -> Iterator[LeftOut]:
    """What of the plan is in no manifest, in the order of the plan."""
    for step in plan.steps:
        for item in step.items:
            if (row := _left_out(item, plan)) is not None:
                yield LeftOut(step.name, *row)
        yield from (LeftOut(step.name, *row) for row in _replaced(step))
        for check in checks.get(step.name, ()):
            if tool == "argo" and not is_judged(check):
                does = f"waits until {check.kind} {check.name} is as planned, for {check.timeout} s at most"
                yield LeftOut(step.name, does, f"`{check.command}`")


def _replaced(step: Step) -> Iterator[tuple[str, str]]:
    """The objects of a step in which a change is refused, by what cannot change in them."""
    groups = [item.name for item in step.items if isinstance(item, PlannedGroup)]
    if groups:
        yield (
            f"replaces the objects of {_listed(groups)}, each as one, where a range or a node's share of it changes",
            "delete them by hand before you apply such a change",
        )
    fixed: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for item in step.items:
        for entry in item.objects if isinstance(item, PlannedQueues) else (item,):
            if isinstance(entry, PlannedObject) and entry.replaced_on:
                fixed.setdefault((entry.object.kind, entry.replaced_on), []).append(entry.name)
    for (kind, paths), names in fixed.items():
        yield (
            f"replaces {kind} {_listed(names)} where {_listed(paths)} changes",
            "delete it by hand before you apply such a change: the API server refuses it",
        )


def _left_out(item: Item, plan: Plan) -> tuple[str, str] | None:
    match item:
        case PlannedWait():
            group = item.api_version.rpartition("/")[0]
            return (
                f"waits until `{item.field}` of the {item.plural} of every node is {item.value}",
                f"`kubectl get {item.plural}.{group} -n {item.namespace} -o jsonpath="
                f"'{{range .items[*]}}{{.metadata.name}} {{.{item.field}}}{{\"\\n\"}}{{end}}'`",
            )
        case PlannedCapacity():
            selector = ",".join(f"{key}={value}" for key, value in sorted(item.nodes.items()))
            return (
                f"waits until every GPU node offers {_listed(item.resources)}",
                f"`kubectl describe nodes -l {selector}`: they must be under Allocatable",
            )
        case PlannedWaves():
            return (
                "changes nodes in waves: cordons each, waits for its jobs, restarts what is of an earlier version, and "
                "lets it take jobs again once it offers all that is planned",
                "node by node: `kubectl drain`, delete the pods of the operators' DaemonSets there, wait for its "
                "resources, `kubectl uncordon`",
            )
        case PlannedRetention():
            return (
                f"keeps the {item.kind} {item.name} of an older chart when its release is upgraded",
                f"before the upgrade: `kubectl annotate {item.plural} {item.name} helm.sh/resource-policy=keep`",
            )
        case PlannedConfiguration():
            return (
                f"waits until the operator has restarted DaemonSet {item.daemon_set} with its new configuration",
                f"`kubectl rollout status -n {item.namespace} daemonset/{item.daemon_set}`",
            )
        case PlannedRollout():
            return (
                f"restarts DaemonSet {item.daemon_set} when its configuration changes",
                f"after such a change: `kubectl rollout restart -n {item.namespace} daemonset/{item.daemon_set}`",
            )
        case PlannedWebhookCleanup():
            kinds = "validatingwebhookconfiguration,mutatingwebhookconfiguration"
            return (
                f"deletes webhooks that the operator leaves, before namespace {item.namespace} is created and after it "
                "is deleted",
                f"at both times: `kubectl delete {kinds} {item.name} --ignore-not-found`",
            )
        case PlannedLabelCleanup():
            return (
                "deletes labels and annotations that the operators leave on nodes, after the last namespace is deleted",
                f"then: `kubectl label node --all KEY-` for every key that begins with {', '.join(item.prefixes)}",
            )
        case PlannedQueues():
            names = [one.name for one in item.each]
            return (
                f"empties queue {', '.join(names)} before it is deleted, and stops its controller last",
                "before you delete it: `kubectl patch clusterqueue "
                f'{" ".join(names)} --type merge -p \'{{"spec":{{"stopPolicy":"HoldAndDrain"}}}}\'`, and wait until '
                "its jobs have ended",
            )
        case PlannedVerification():
            return (
                f"runs the verification on {item.nodes} nodes and judges its result",
                f"`gpu-fabric job nccl-test --image IMAGE -s {plan.stack}`, and `gpu-fabric verdict` on its result",
            )
        case PlannedAdoption():
            fragment = next(one for one in fragments(plan) if (one.kind, one.name) == (item.kind, item.name))
            return (
                f"adds {', '.join(item.spec)} to the {item.kind} that exists, and takes them out again on destroy",
                f"at first `{fragment.command}`, which changes nothing where it reports a conflict; to take them out "
                f"again `{fragment.undone}`",
            )
        case PlannedSharing():
            return (
                "looks for the operators that the cluster must have, and for objects of other stacks, at first",
                "compare `gpu-fabric plan` with the cluster yourself",
            )
        case HelmRelease() | PlannedObject() | PlannedPatch() | PlannedGroup():
            # Written whole; `_replaced` has what cannot change in them.
            return None
        case PlannedPullSecret():
            # Among the Secrets that the page asks for.
            return None
        case PlannedReadiness() | PlannedState():
            # A condition of an object by its name.
            return None


def _listed(names: Iterable[str]) -> str:
    found = [f"`{name}`" for name in dict.fromkeys(names)]
    return f"{found[0]} to {found[-1]}" if len(found) > _MOST_LISTED else ", ".join(found)
