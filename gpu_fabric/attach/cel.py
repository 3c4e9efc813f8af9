"""What a contract asks of a pod, as CEL expressions of the API server's admission policies.

An expression gets the pod as `object`, with the API server's defaults, and the policy's own `variables`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpu_fabric.attach.devices import gpu_resource
from gpu_fabric.attach.networks import network_names
from gpu_fabric.base.cel import literal
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.fabric import claim_of_pod
from gpu_fabric.k8s.names import (
    NETWORK_RESOURCE_INJECT_ANNOTATION,
    NETWORKS_ANNOTATION,
    RDMA_RESOURCE_INJECT_ANNOTATION,
)
from gpu_fabric.k8s.scheduling import Toleration

_INJECTING = (RDMA_RESOURCE_INJECT_ANNOTATION, NETWORK_RESOURCE_INJECT_ANNOTATION)
_SECURITY = "variables.container.securityContext"
_CAPABILITIES = f"{_SECURITY}.capabilities"
# Around a network's name in an annotation: JSON, or names with commas.
_BEFORE, _BEHIND = r'(^|[\s,/"])', r'($|[\s,@"])'

ANNOTATIONS = {"annotations": "has(object.metadata.annotations) ? object.metadata.annotations : {}"}


def all_of(conditions: Iterable[str]) -> str:
    """Whether all conditions hold, one a line."""
    return " &&\n".join(conditions) or "true"


def asking(contract: FabricContract, least: int = 1) -> str:
    """The containers of a pod, each as whether it asks for so many of the stack's GPUs."""
    gpu, limits = literal(gpu_resource(contract)), "container.resources.limits"
    enough = f"quantity({limits}[{gpu}]).compareTo(quantity({literal(str(least))})) >= 0"
    given = f"has(container.resources) && has({limits}) && {gpu} in {limits}"
    return f"object.spec.containers.map(container, {given} && {enough})"


def fits_nodes(contract: FabricContract) -> list[str]:
    """Conditions under which a pod may run on the stack's nodes: its node selector names no others."""
    selector = "object.spec.nodeSelector"
    return [
        f"!(has({selector}) && {literal(key)} in {selector} && {selector}[{literal(key)}] != {literal(value)})"
        for key, value in contract.node_selector.items()
    ]


def has_fabric(contract: FabricContract) -> str:
    """Whether a pod has the networks of the fabric, or is where it is on the node's own network."""
    if contract.host_network:
        return "has(object.spec.hostNetwork) && object.spec.hostNetwork"
    conditions = []
    for key, value in contract.annotations.items():
        if key == NETWORKS_ANNOTATION:
            names = [re.escape(name.rpartition("/")[2]) for name in network_names(value)]
            named = f"{_annotation(key)}.matches({literal(_BEFORE)} + name + {literal(_BEHIND)})"
            conditions.append(f"{literal(names)}.all(name, {named})")
        elif key in _INJECTING:
            conditions.append(f"{_annotation(key)} == {literal(value)}")
    if contract.claims:
        conditions.append(_claimed(contract))
    return all_of(conditions)


def variables(contract: FabricContract) -> dict[str, str]:
    """The variables of the policy that attaches, each after those that it uses."""
    return {
        "index": f"{asking(contract)}.indexOf(true)",
        "container": "object.spec.containers[variables.index]",
        "at": '"/spec/containers/" + string(variables.index)',
        **ANNOTATIONS,
        "resources": literal(contract.resources),
        "limits": "variables.container.resources.limits",
        "requests": _given("variables.container.resources.requests", "{}"),
        "env": _given("variables.container.env"),
        "mounts": _given("variables.container.volumeMounts"),
        "volumes": _given("object.spec.volumes"),
        **_volume_names(contract),
        "added": f"{_exists(f'{_CAPABILITIES}.add')} ? {_CAPABILITIES}.add : []",
        "fits": all_of(_fitting(contract)),
    }


def _fitting(contract: FabricContract) -> Iterator[str]:
    """Conditions without which nothing is added: `attach` would refuse the pod, or would merge its networks."""
    yield f"!{asking(contract, contract.gpus_per_node + 1)}.exists(more, more)"
    yield from fits_nodes(contract)
    if NETWORKS_ANNOTATION in contract.annotations:
        yield f'({_annotation(NETWORKS_ANNOTATION)} == "" || {has_fabric(contract)})'
        yield f"!{literal(_INJECTING)}.exists(key, key in variables.annotations)"
    for key in _INJECTING:
        if key in contract.annotations:
            yield f"{_annotation(key)} in {literal(['', contract.annotations[key]])}"
            yield f"!({literal(NETWORKS_ANNOTATION)} in variables.annotations)"
    if contract.claims:
        # A pod with claims of its own alone is left to `attach`, which adds to them.
        yield f"(!has(object.spec.resourceClaims) || {_claimed(contract)})"
    if not contract.host_network:
        yield "!(has(object.spec.hostNetwork) && object.spec.hostNetwork)"
    if others := [name for name in contract.devices if name != gpu_resource(contract)]:
        fewer = "quantity(variables.limits[name]).compareTo(quantity(variables.resources[name])) < 0"
        yield f"!{literal(others)}.exists(name, name in variables.limits && {fewer})"
    if contract.capabilities:
        dropped = f"{_CAPABILITIES}.drop"
        yield f"!({_exists(dropped)} && {dropped}.exists(name, name in {literal(contract.capabilities)}))"
    if contract.privileged:
        for key in ("privileged", "allowPrivilegeEscalation"):
            yield f"!({_exists(f'{_SECURITY}.{key}')} && !{_SECURITY}.{key})"
    yield '!variables.env.exists(own, own.name == "NCCL_GRAPH_FILE")'


def additions(contract: FabricContract) -> str:
    """The operations that add to a pod what it lacks; what it has stays."""
    parts = [
        *_annotations(contract.annotations),
        *_resources(list(contract.resources)),
        *_claims(contract),
        *_environment(contract.environment),
        *(_host_network() if contract.host_network else ()),
        *_node_selector(contract.node_selector),
        *_tolerations(contract.tolerations),
        *_mounts(contract),
        *_security(contract),
    ]
    return " +\n".join(parts)


def _annotations(wanted: Mapping[str, str]) -> Iterator[str]:
    if wanted:
        yield _unless("has(object.metadata.annotations)", '"/metadata/annotations"', "{}")
    for key, value in wanted.items():
        yield _unless(f'{_annotation(key)} != ""', literal(f"/metadata/annotations/{_step(key)}"), literal(value))


def _resources(names: list[str]) -> Iterator[str]:
    yield _unless("has(variables.container.resources.requests)", 'variables.at + "/resources/requests"', "{}")
    for side, other in (("limits", "requests"), ("requests", "limits")):
        value = f"name in variables.{other} ? variables.{other}[name] : variables.resources[name]"
        path = f'variables.at + "/resources/{side}/" + jsonpatch.escapeKey(name)'
        missing = f"{literal(names)}.filter(name, !(name in variables.{side}))"
        yield f"{missing}.map(name, {_add(path, value)})"


def _claims(contract: FabricContract) -> Iterator[str]:
    """The contract's first claim, unless the pod claims one of its templates already."""
    for claim in contract.claims[:1]:
        container = literal([{"name": claim.name}])
        yield _unless(_claimed(contract), '"/spec/resourceClaims"', literal([claim_of_pod(claim)]))
        yield _unless(_claimed(contract), 'variables.at + "/resources/claims"', container)


def _claimed(contract: FabricContract) -> str:
    """Whether a pod claims a template of the contract."""
    claims, templates = "object.spec.resourceClaims", literal([claim.template for claim in contract.claims])
    named = "has(own.resourceClaimTemplateName) && own.resourceClaimTemplateName"
    return f"(has({claims}) && {claims}.exists(own, {named} in {templates}))"


def _environment(wanted: Mapping[str, str]) -> Iterator[str]:
    if wanted:
        entries = literal([{"name": name, "value": value} for name, value in wanted.items()])
        yield _unless("has(variables.container.env)", 'variables.at + "/env"', "[]")
        missing = f"{entries}.filter(new, !variables.env.exists(own, own.name == new.name))"
        patch = _add('variables.at + "/env/-"', "new")
        yield f"{missing}.map(new, {patch})"


def _host_network() -> Iterator[str]:
    network, policy = "object.spec.hostNetwork", "object.spec.dnsPolicy"
    yield _unless(f"has({network}) && {network}", '"/spec/hostNetwork"', "true")
    # At admission the default, ClusterFirst, is there where the user set nothing.
    other = f'has({policy}) && {policy} != "ClusterFirst"'
    yield _unless(other, '"/spec/dnsPolicy"', literal("ClusterFirstWithHostNet"))


def _node_selector(wanted: Mapping[str, str]) -> Iterator[str]:
    selector = "object.spec.nodeSelector"
    if wanted:
        yield _unless(f"has({selector})", '"/spec/nodeSelector"', "{}")
    for key, value in wanted.items():
        present = f"has({selector}) && {literal(key)} in {selector}"
        yield _unless(present, literal(f"/spec/nodeSelector/{_step(key)}"), literal(value))


def _tolerations(wanted: Iterable[Toleration]) -> Iterator[str]:
    own = "object.spec.tolerations"
    for position, toleration in enumerate(wanted):
        if not position:
            yield _unless(f"has({own})", '"/spec/tolerations"', "[]")
        covered = f"has({own}) && {own}.exists(own, {_covers(toleration)})"
        yield _unless(covered, '"/spec/tolerations/-"', literal(toleration.to_dict()))


def _covers(wanted: Toleration) -> str:
    """Whether the toleration `own` covers all taints of another one, without a time limit."""
    any_key = f"(!has(own.key) || own.key in {literal(['', wanted.key or ''])})"
    same = "false"
    if wanted.operator != "Exists":
        value = f'(has(own.value) ? own.value : "") == {literal(wanted.value or "")}'
        same = f"has(own.key) && own.key == {literal(wanted.key or '')} && {value}"
    return (
        f"!has(own.tolerationSeconds) && (!has(own.effect) || own.effect in {literal(['', wanted.effect or ''])}) && "
        f'(has(own.operator) && own.operator == "Exists" ? {any_key} : {same})'
    )


def _volume_names(contract: FabricContract) -> dict[str, str]:
    """The names of the fabric's volumes, as variables; a volume of the user's with such a name stays."""
    names = {}
    for position, (_, volume) in enumerate(_mounted(contract)):
        own = f"own.name == {literal(volume['name'])} && !({_is_source(volume)})"
        other, plain = literal(f"fabric-{volume['name']}"), literal(volume["name"])
        names[f"volume{position}"] = f"variables.volumes.exists(own, {own}) ? {other} : {plain}"
    return names


def _mounts(contract: FabricContract) -> Iterator[str]:
    yield _unless("has(object.spec.volumes)", '"/spec/volumes"', "[]")
    yield _unless("has(variables.container.volumeMounts)", 'variables.at + "/volumeMounts"', "[]")
    for position, (mount, volume) in enumerate(_mounted(contract)):
        name, path = f"variables.volume{position}", mount["mountPath"]
        taken = f"variables.mounts.exists(own, own.mountPath in {literal([path, f'{path}/'])})"
        present = f"variables.volumes.exists(own, own.name == {name})"
        yield _unless(f"{taken} || {present}", '"/spec/volumes/-"', _with_name(volume, name))
        yield _unless(taken, 'variables.at + "/volumeMounts/-"', _with_name(mount, name))


def _mounted(contract: FabricContract) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each mount of the container, with its volume."""
    spec: Any = contract.pod_template_patch["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    return [(mount, volumes[mount["name"]]) for mount in spec["containers"][0]["volumeMounts"]]


def _with_name(value: Mapping[str, Any], name: str) -> str:
    """A mapping whose `name` is an expression."""
    rest = ", ".join(f"{literal(key)}: dyn({literal(inner)})" for key, inner in value.items() if key != "name")
    return f'{{"name": dyn({name}), {rest}}}'


def _is_source(volume: Mapping[str, Any]) -> str:
    """Whether the volume `own` has the source of another one."""
    ((kind, fields),) = ((key, value) for key, value in volume.items() if key != "name")
    equal = [f"has(own.{kind}.{key}) && own.{kind}.{key} == {literal(value)}" for key, value in fields.items()]
    return " && ".join([f"has(own.{kind})", *equal])


def _security(contract: FabricContract) -> Iterator[str]:
    at = 'variables.at + "/securityContext'
    if contract.capabilities or contract.privileged:
        yield _unless(f"has({_SECURITY})", f'{at}"', "{}")
    if contract.privileged:
        path = f"{_SECURITY}.privileged"
        yield _unless(f"{_exists(path)} && {path}", f'{at}/privileged"', "true")
    if contract.capabilities:
        yield _unless(_exists(_CAPABILITIES), f'{at}/capabilities"', "{}")
        yield _unless(_exists(f"{_CAPABILITIES}.add"), f'{at}/capabilities/add"', "[]")
        missing = (
            f'{literal(contract.capabilities)}.filter(name, !(name in variables.added || "ALL" in variables.added))'
        )
        path = f'{at}/capabilities/add/-"'
        yield f"{missing}.map(name, {_add(path, 'name')})"


def _exists(path: str) -> str:
    """Whether a field of the container is set, and those around it."""
    steps = path.removeprefix("variables.container.").split(".")
    return " && ".join(f"has(variables.container.{'.'.join(steps[: end + 1])})" for end in range(len(steps)))


def _given(path: str, default: str = "[]") -> str:
    return f"has({path}) ? {path} : {default}"


def _annotation(key: str) -> str:
    """The value of an annotation, or empty text."""
    return f'({literal(key)} in variables.annotations ? variables.annotations[{literal(key)}] : "")'


def _unless(present: str, path: str, value: str) -> str:
    return f"({present} ? [] : [{_add(path, value)}])"


def _add(path: str, value: str) -> str:
    return f'JSONPatch{{op: "add", path: {path}, value: {value}}}'


def _step(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
