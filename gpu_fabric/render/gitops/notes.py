"""The page that is written next to the manifests: how to use them, their order, Secrets, and what no manifest does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gpu_fabric.base.tables import read_table
from gpu_fabric.plan import Plan, records
from gpu_fabric.plan.operators.network_operator import CHART as NETWORK_OPERATOR
from gpu_fabric.plan.steps import Step
from gpu_fabric.render.gitops.adoption import fragments
from gpu_fabric.render.gitops.argo import is_judged
from gpu_fabric.render.gitops.conditions import Check
from gpu_fabric.render.gitops.flux import NAMESPACE as FLUX_NAMESPACE
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.render.gitops.units import Tool, Unit
from gpu_fabric.report.template import fill_template

_TEMPLATE = "gitops.md.j2"
_LEFT_OUT = partial(read_table, Path(__file__).with_name("left_out.yaml"))
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
    for secret in plan.records(records.PlannedPullSecret):
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
    groups = [item.name for item in step.items if isinstance(item, records.PlannedGroup)]
    if groups:
        yield (
            f"replaces the objects of {_listed(groups)}, each as one, where a range or a node's share of it changes",
            "delete them by hand before you apply such a change",
        )
    fixed: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for item in step.items:
        for entry in item.objects if isinstance(item, records.PlannedQueues) else (item,):
            if isinstance(entry, records.PlannedObject) and entry.replaced_on:
                fixed.setdefault((entry.object.kind, entry.replaced_on), []).append(entry.name)
    for (kind, paths), names in fixed.items():
        yield (
            f"replaces {kind} {_listed(names)} where {_listed(paths)} changes",
            "delete it by hand before you apply such a change: the API server refuses it",
        )


def _left_out(item: records.Item, plan: Plan) -> tuple[str, str] | None:
    row = _LEFT_OUT()[type(item).__name__]
    if row is None:
        return None
    values: dict[str, Any] = {"item": item, "stack": plan.stack}
    match item:
        case records.PlannedWait():
            values["group"] = item.api_version.rpartition("/")[0]
        case records.PlannedCapacity():
            values["selector"] = ",".join(f"{key}={value}" for key, value in sorted(item.nodes.items()))
            values["resources"] = _listed(item.resources)
        case records.PlannedLabelCleanup():
            values["prefixes"] = ", ".join(item.prefixes)
        case records.PlannedQueues():
            names = [one.name for one in item.each]
            values |= {"queues": ", ".join(names), "named_queues": " ".join(names)}
        case records.PlannedAdoption():
            values["sections"] = ", ".join(item.spec)
            values["fragment"] = next(one for one in fragments(plan) if (one.kind, one.name) == (item.kind, item.name))
    return row["does"].format(**values), row["instead"].format(**values)


def _listed(names: Iterable[str]) -> str:
    found = [f"`{name}`" for name in dict.fromkeys(names)]
    return f"{found[0]} to {found[-1]}" if len(found) > _MOST_LISTED else ", ".join(found)
