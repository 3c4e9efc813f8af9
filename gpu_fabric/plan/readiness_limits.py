"""What the account of the pods that prove nodes may write, as policies of the API server.

Kubernetes limits no right to one node or to one form of a pod. A policy here names what may change and refuses all
else, so that a field which a later Kubernetes adds is refused, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from gpu_fabric.base.cel import differing, literal
from gpu_fabric.k8s.admission import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.names import FABRIC_READY
from gpu_fabric.k8s.rbac import Subject
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.cluster import TaintSpec

_OWN_ANNOTATIONS = "gpu-fabric.dev/"
# Those that waves write (components/engine/waves/marks.py): by them a node that a user has cordoned is uncordoned.
_OF_WAVES = tuple(f"{_OWN_ANNOTATIONS}{mark}" for mark in ("wave", "upgraded", "hooked", "prove"))
_CANDIDATE, _NEIGHBOUR = "gpu-fabric.dev/candidate", "gpu-fabric.dev/neighbour"
# The node that the token's pod runs on (source: Kubernetes documentation, Managing Service Accounts).
_NODE_CLAIM = "authentication.kubernetes.io/node-name"
_WHO = "the pods that prove nodes"


def node_limits(metadata: ObjectMeta, account: Subject, taint: TaintSpec | None) -> Iterator[PlannedObject]:
    """Of its own node a pod writes our condition, our annotations and our taint; without a taint, no taint."""
    may_change = {
        "metadata": ("annotations", "managedFields"),
        "spec": () if taint is None else ("taints",),
        "status": ("conditions",),
    }
    variables = {"new": "dyn(object)", "old": "dyn(oldObject)"}
    changed = [differing("variables.new", "variables.old", "", _is_in(may_change))]
    for section, fields in may_change.items():
        for side in ("new", "old"):
            variables[f"{side}_{section}"] = f"variables.{side}.?{section}.orValue({{}})"
        both = f"variables.new_{section}", f"variables.old_{section}"
        changed.append(differing(*both, f"{section}.", _is_in(fields)))
    new, old = (f"variables.{side}_metadata.?annotations.orValue({{}})" for side in ("new", "old"))
    is_ours = f"key.startsWith({literal(_OWN_ANNOTATIONS)}) && !({_is_in(_OF_WAVES)})"
    changed.append(differing(new, old, "metadata.annotations of others: ", is_ours))
    of_others = {("status", "conditions"): f"entry.type != {literal(FABRIC_READY)}"}
    if taint is not None:
        ours = f"entry.key == {literal(taint.key)} && entry.effect == {literal(taint.effect)}"
        of_others["spec", "taints"] = f"!({ours})"
    for (section, field), is_of_others in of_others.items():
        new, old = (
            f"variables.{side}_{section}.?{field}.orValue([]).filter(entry, {is_of_others})" for side in ("new", "old")
        )
        changed.append(f"({new} == {old} ? [] : [{literal(f'{section}.{field} of others')}])")
    variables["changed"] = " + ".join(changed)
    claim, extra = literal(_NODE_CLAIM), "request.userInfo.extra"
    checks = {
        f"has({extra}) && {claim} in {extra} && object.metadata.name in {extra}[{claim}]": literal(
            f"{_WHO} write to their own node alone"
        ),
        "variables.changed.size() == 0": f"{literal(f'{_WHO} may not change ')} + variables.changed.join(', ')",
    }
    return _policy(metadata, account, ("UPDATE",), ("nodes", "nodes/status"), variables, checks)


def pair_limits(
    metadata: ObjectMeta, account: Subject, pod: Mapping[str, Any], node_selectors: list[dict[str, str]]
) -> Iterator[PlannedObject]:
    """The account creates this pod alone, to measure its own node with another one of these, and deletes no others.

    In addition to the planned fields are those that differ by pair, and those that the API server fills in.
    """
    metadata_of_pod, spec, (container,) = pod["metadata"], pod["spec"], pod["spec"]["containers"]
    name, labels = metadata_of_pod["name"], metadata_of_pod["labels"]
    # Of each part: its path, what is planned, and the fields that are not compared with it, but looked at below if
    # they could do harm. A default of the API server that the plan does not state would be refused.
    parts: dict[str, tuple[str, Mapping[str, Any], tuple[str, ...]]] = {
        "object": ("", {}, ("apiVersion", "kind", "metadata", "spec", "status")),
        "metadata": (
            "metadata.",
            {"labels": labels},
            ("annotations", "creationTimestamp", "generation", "managedFields", "name", "namespace", "uid"),
        ),
        # The last is of the admission plug-in LimitRanger.
        "annotations": (
            "metadata.annotations: ",
            metadata_of_pod["annotations"],
            (_CANDIDATE, _NEIGHBOUR, "kubernetes.io/limit-ranger"),
        ),
        # The class of priority, which is planned, sets the priority. Secrets for pulling are those of the account
        # where none is planned, and the image is the planned one.
        "spec": (
            "spec.",
            spec,
            (
                *("activeDeadlineSeconds", "affinity", "containers", "hostname", "nodeSelector", "preemptionPolicy"),
                *("priority", "serviceAccount", "tolerations"),
                *(() if "imagePullSecrets" in spec else ("imagePullSecrets",)),
            ),
        ),
        "container": ("spec.containers[0].", container, ("env", "imagePullPolicy", "resources")),
    }
    variables = {
        "object": "dyn(object)",
        "metadata": "variables.object.metadata",
        "annotations": "dyn(variables.metadata.?annotations.orValue({}))",
        "spec": "variables.object.spec",
        "container": "variables.spec.containers[0]",
        "devices": literal(container["resources"]["limits"]),
    }
    changed = []
    for part, (path, planned, free) in parts.items():
        kept = {key: value for key, value in planned.items() if key not in free}
        variables[f"planned_{part}"] = f"dyn({literal(kept)})"
        changed.append(differing(f"variables.{part}", f"variables.planned_{part}", path, _is_in(free)))
    place, of_pair = "variables.spec", "entry.name in ['MODE', 'PEER']"
    on_nodes = " || ".join(
        f"{place}.affinity == {_on_node(f'variables.annotations[{literal(key)}]')}" for key in (_CANDIDATE, _NEIGHBOUR)
    )
    has_labels = f"wanted.all(key, {place}.?nodeSelector[?key].orValue('') == wanted[key])"
    env, texts = "variables.container.?env.orValue([])", literal(f"^(measure|serve|{name}-[0-9a-f]{{12}}\\.{name})?$")
    asked, devices = "variables.container.resources", "variables.devices"
    # What a LimitRange of the namespace adds.
    of_a_range = literal(["cpu", "ephemeral-storage", "memory"])
    rows = {
        "metadata.name": f"variables.metadata.?name.orValue('').startsWith({literal(f'{name}-')})",
        "spec.affinity": f"!has({place}.affinity) || {on_nodes}",
        "spec.containers": f"{place}.containers.size() == 1",
        "spec.containers[0].env": f"{env}.filter(entry, !({of_pair})) == {literal(container['env'])} && {env}.all("
        f"entry, !({of_pair}) || !has(entry.valueFrom) && entry.?value.orValue('').matches({texts}))",
        "spec.containers[0].resources": f"{devices}.all(key, {asked}.?limits[?key].orValue('') == {devices}[key]) && "
        f"{asked}.all(part, part in ['limits', 'requests'] && {asked}[part].all(key, key in {of_a_range} || "
        f"key in {devices} && {asked}[part][key] == {devices}[key]))",
        "spec.hostname": f"!has({place}.hostname) || {place}.hostname == variables.metadata.name",
        "spec.nodeSelector": f"{literal(node_selectors)}.exists(wanted, {has_labels})",
        "spec.serviceAccount": f"{place}.?serviceAccount.orValue('default') == {literal(spec['serviceAccountName'])}",
        # The API server adds those of nodes that are not ready, and of extended resources.
        "spec.tolerations": f"{place}.?tolerations.orValue([]).all(entry, entry in {literal(spec['tolerations'])} || "
        "entry.?key.orValue('').startsWith('node.kubernetes.io/') || entry.?key.orValue('') in variables.devices)",
    }
    changed += [f"({holds} ? [] : [{literal(path)}])" for path, holds in rows.items()]
    variables["changed"] = " + ".join(changed)
    is_deleted, claim, extra = "request.operation == 'DELETE'", literal(_NODE_CLAIM), "request.userInfo.extra"
    key, value = literal(COMPONENT_LABEL), labels[COMPONENT_LABEL]
    whose = f"({is_deleted} ? oldObject : object).metadata.?labels[?{key}].orValue('')"
    checks = {
        f"{whose} == {literal(value)}": literal(f"{_WHO} may create and delete pods of pairs alone"),
        f"{is_deleted} || has({extra}) && {claim} in {extra} && "
        f"variables.annotations[?{literal(_CANDIDATE)}].orValue('') in {extra}[{claim}]": literal(
            f"{_WHO} may have their own node alone measured"
        ),
        f"{is_deleted} || variables.changed.size() == 0": f"{literal(f'{_WHO} may not create a pod with another ')} + "
        "variables.changed.join(', ')",
    }
    return _policy(metadata, account, ("CREATE", "DELETE"), ("pods",), variables, checks)


def rail_limits(metadata: ObjectMeta, account: Subject, taint: Mapping[str, str]) -> Iterator[PlannedObject]:
    """The account taints NICs of its own node alone, by this taint, and takes no other rule away."""
    rule, claim, extra = "variables.rule", literal(_NODE_CLAIM), "request.userInfo.extra"
    selector, wanted = f"{rule}.spec.deviceSelector", {"key": taint["key"], "effect": taint["effect"]}
    same = " && ".join(f"{rule}.spec.taint.?{key}.orValue('') == {literal(text)}" for key, text in wanted.items())
    checks = {
        f"{rule}.metadata.name.startsWith({literal(taint['name'] + '-')}) && {same}": literal(
            f"{_WHO} may write rules of closed rails alone"
        ),
        f"has({extra}) && {claim} in {extra} && {selector}.?pool.orValue('') in {extra}[{claim}] && "
        f"{selector}.?driver.orValue('') == {literal(taint['driver'])} && has({selector}.device)": literal(
            f"{_WHO} may close rails of their own node alone"
        ),
    }
    variables = {"rule": "dyn(request.operation == 'DELETE' ? oldObject : object)"}
    operations, resources = ("CREATE", "UPDATE", "DELETE"), ("devicetaintrules", "devicetaintrules/status")
    yield from _policy(metadata, account, operations, resources, variables, checks, ("resource.k8s.io", "*"))


def _is_in(keys: Iterable[str]) -> str:
    return f"key in {literal(list(keys))}"


def _on_node(name: str) -> str:
    """The affinity to the node of this name, an expression."""
    field = f"{{'key': dyn('metadata.name'), 'operator': dyn('In'), 'values': dyn([{name}])}}"
    required = f"{{'nodeSelectorTerms': [{{'matchFields': [{field}]}}]}}"
    return f"{{'nodeAffinity': {{'requiredDuringSchedulingIgnoredDuringExecution': {required}}}}}"


def _policy(
    metadata: ObjectMeta,
    account: Subject,
    operations: tuple[str, ...],
    resources: tuple[str, ...],
    variables: Mapping[str, str],
    checks: Mapping[str, str],
    served: tuple[str, str] = ("", "v1"),
) -> Iterator[PlannedObject]:
    """The policy, with the messages of its checks, and its binding; `served` are group and version of the resources."""
    user = literal(f"system:serviceaccount:{account.namespace}:{account.name}")
    group, version = served
    asked: dict[str, tuple[str, ...]] = {"operations": operations, "resources": resources}
    lists: dict[str, JsonValue] = {key: [*names] for key, names in asked.items()}
    spec: dict[str, JsonValue] = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{"apiGroups": [group], "apiVersions": [version], **lists}]},
        "matchConditions": [{"name": "of-this-account", "expression": f"request.userInfo.username == {user}"}],
        "variables": [{"name": key, "expression": text} for key, text in variables.items()],
        "validations": [{"expression": text, "messageExpression": message} for text, message in checks.items()],
    }
    yield PlannedObject(object=ValidatingAdmissionPolicy(metadata=metadata, spec=spec))
    bound: dict[str, JsonValue] = {"policyName": metadata.name, "validationActions": ["Deny"]}
    yield PlannedObject(object=ValidatingAdmissionPolicyBinding(metadata=metadata, spec=bound))
