"""The pair of pods that measures a node with a neighbour: what they are, and what the pods that prove nodes may do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpu_fabric.base.cel import literal
from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.admission import (
    MatchResources,
    Named,
    ResourceRule,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingBindingSpec,
    ValidatingSpec,
    Validation,
)
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.batch import PriorityClass
from gpu_fabric.k8s.core import ConfigMap, Service, ServicePort, ServiceSpec
from gpu_fabric.k8s.rbac import PolicyRule, Role, RoleBinding, RoleReference, Subject
from gpu_fabric.nccl.busbw import nic_speed
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.fabric_check import check_environment
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.plan.startup_taint import startup_tolerations
from gpu_fabric.plan.verification import BELOW_ALL_JOBS
from gpu_fabric.spec.fabric import FabricPairSpec

PAIR = "fabric-pair"
"""The beginning of the pods' names, and the value of the label `gpu-fabric/component` on them."""

_SCRIPTS = ("fabric_check.sh", "fabric_pair.sh")
_PORT = 18515
# Seconds until the other pod answers, which may pull its image first.
_START = 180
_CANDIDATE = "gpu-fabric.dev/candidate"
_NODE_CLAIM = "authentication.kubernetes.io/node-name"


def asked_pair(case: Case) -> FabricPairSpec | None:
    """The pair that a fabric's nodes are measured by; None where it is not asked for, or pods have no rails."""
    wanted = case.spec.fabric.readiness
    return None if wanted is None or case.choices.model == "host-network" else wanted.pair


def pair_objects(
    case: Case, contract: FabricContract, account: Subject, whole: str, labels: dict[str, str]
) -> Iterator[PlannedObject]:
    """Scripts, host names, priority, and the account's right to create and delete these pods and no others.

    `whole` is the beginning of the names of what belongs to the whole cluster.
    """
    wanted = asked_pair(case)
    if wanted is None or not contract.networks:
        return
    name, namespace = case.own_copy(PAIR), contract.namespaces[0]
    metadata = ObjectMeta(name=name, namespace=namespace, labels=labels)
    yield PlannedObject(object=_scripts(case, contract, labels))
    service = ServiceSpec(
        publish_not_ready_addresses=True,
        selector={COMPONENT_LABEL: name},
        ports=(ServicePort(name="perftest", port=_PORT),),
    )
    # It has pods while a pair is measured alone.
    yield PlannedObject(object=Service(metadata=metadata, spec=service), awaited=False)
    yield PlannedObject(
        object=PriorityClass(
            metadata=ObjectMeta(name=f"{whole}-pair", labels=labels),
            value=BELOW_ALL_JOBS,
            preemption_policy="Never",
            description="Measures the rails of a node with a neighbour; any job preempts it.",
        )
    )
    rule = PolicyRule(api_groups=("",), resources=("pods",), verbs=("get", "create", "delete"))
    yield PlannedObject(object=Role(metadata=metadata, rules=(rule,)))
    yield PlannedObject(
        object=RoleBinding(metadata=metadata, role_ref=RoleReference(kind="Role", name=name), subjects=(account,)),
        replaced_on=("roleRef",),
    )
    user = f"system:serviceaccount:{account.namespace}:{account.name}"
    policy = ValidatingAdmissionPolicy(
        metadata=ObjectMeta(name=f"{whole}-pair", labels=labels), spec=_limits(case, contract, wanted, user, whole)
    )
    yield PlannedObject(object=policy)
    bound = ValidatingBindingSpec(policy_name=policy.metadata.name, validation_actions=("Deny",))
    yield PlannedObject(object=ValidatingAdmissionPolicyBinding(metadata=policy.metadata, spec=bound))


def expected_pair(
    case: Case, group: NodeGroup, addresses: AddressPlan, contract: FabricContract, whole: str
) -> dict[str, Any] | None:
    """What the program that proves nodes gets: the pod, the rails' line rates in Gb/s, and which nodes are alike."""
    wanted, gbps = asked_pair(case), nic_speed(group.shape)
    if wanted is None or gbps is None or not contract.networks:
        return None
    return {
        "when": wanted.when,
        "percent": wanted.percent,
        "seconds": wanted.seconds,
        "rails": {str(place): gbps for place, _ in enumerate(contract.networks)},
        "nodes": ",".join(f"{key}={value}" for key, value in sorted(group.selector.items())),
        "pod": _pod(case, addresses, contract, wanted, whole),
    }


def _scripts(case: Case, contract: FabricContract, labels: dict[str, str]) -> ConfigMap:
    files = {file: Path(__file__).with_name(file).read_text(encoding="utf-8") for file in _SCRIPTS}
    digest = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:8]
    metadata = ObjectMeta(name=f"{case.own_copy(PAIR)}-{digest}", namespace=contract.namespaces[0], labels=labels)
    return ConfigMap(metadata=metadata, immutable=True, data=files)


def _image(case: Case, wanted: FabricPairSpec) -> str:
    return case.standalone_image("rdmaTools", wanted.image)


def _pod(
    case: Case, addresses: AddressPlan, contract: FabricContract, wanted: FabricPairSpec, whole: str
) -> dict[str, Any]:
    """A pod with a device of each rail, as the check of the rails has; its node and its part are added to it."""
    name = case.own_copy(PAIR)
    devices = {key: str(count) for key, count in contract.devices.items() if key != case.shape.gpus.resource}
    values = {
        "SECONDS_EACH": str(wanted.seconds),
        "START": str(_START),
        "TRAFFIC_CLASS": contract.environment.get("NCCL_IB_TC", ""),
        "PORT": str(_PORT),
    }
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    environment = (entry.model_dump(by_alias=True) for entry in check_environment(case, addresses, contract))
    container = {
        "name": PAIR,
        "image": _image(case, wanted),
        "command": ["/bin/sh", "/script/fabric_pair.sh"],
        "env": [
            node,
            *({"name": entry["name"], "value": entry["value"]} for entry in environment),
            *({"name": key, "value": value} for key, value in values.items()),
        ],
        "resources": {"requests": devices, "limits": devices},
        # Memory that is registered with a NIC is locked.
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "volumeMounts": [{"name": "script", "mountPath": "/script", "readOnly": True}],
    }
    # Nodes that are upgraded are cordoned until they are proven.
    cordoned = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    tolerations = (*contract.tolerations, *startup_tolerations(case))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": contract.namespaces[0],
            "labels": {COMPONENT_LABEL: name, **case.own_labels},
            "annotations": dict(contract.annotations),
        },
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "restartPolicy": "Never",
            "subdomain": name,
            # A job that needs the node waits for no more than this.
            "terminationGracePeriodSeconds": 1,
            "priorityClassName": f"{whole}-pair",
            **(
                {"imagePullSecrets": [{"name": entry.name} for entry in case.pull_secrets]} if case.pull_secrets else {}
            ),
            "tolerations": [*(entry.model_dump(by_alias=True, exclude_none=True) for entry in tolerations), cordoned],
            "containers": [container],
            "volumes": [{"name": "script", "configMap": {"name": _scripts(case, contract, {}).metadata.name}}],
        },
    }


def _limits(case: Case, contract: FabricContract, wanted: FabricPairSpec, user: str, whole: str) -> ValidatingSpec:
    """The account creates pods of this form alone, to measure its own node, and deletes no others."""
    name, claim, extra = case.own_copy(PAIR), literal(_NODE_CLAIM), "request.userInfo.extra"
    is_deleted, spec, one = "request.operation == 'DELETE'", "object.spec", "object.spec.containers[0]"
    scripts = literal(_scripts(case, contract, {}).metadata.name)
    unset = ("hostNetwork", "hostPID", "hostIPC")
    checks = {
        "may create and delete pods of pairs alone": "variables.pod.metadata.?labels[?"
        f"{literal(COMPONENT_LABEL)}].orValue('') == {literal(name)}",
        "may have their own node alone measured": f"{is_deleted} || {claim} in {extra} && "
        f"object.metadata.?annotations[?{literal(_CANDIDATE)}].orValue('') in {extra}[{claim}]",
        "may start no other program": f"{is_deleted} || size({spec}.containers) == 1 && !has({spec}.initContainers) "
        f"&& {one}.image == {literal(_image(case, wanted))} && !has({one}.args) && !has({one}.lifecycle) "
        f"&& {one}.command == {literal(['/bin/sh', '/script/fabric_pair.sh'])}",
        "may mount the scripts alone": f"{is_deleted} || {spec}.volumes.all(entry, has(entry.configMap) && "
        f"entry.configMap.name == {scripts}) && !has({one}.envFrom)",
        "may have no rights on the node": f"{is_deleted} || "
        + " && ".join(f"!{spec}.?{key}.orValue(false)" for key in unset)
        + f" && !{one}.?securityContext.privileged.orValue(false)"
        + f" && {one}.?securityContext.capabilities.add.orValue([]).all(entry, entry == 'IPC_LOCK')",
        "may have no account": f"{is_deleted} || !{spec}.?automountServiceAccountToken.orValue(true)",
        "may have no other priority": f"{is_deleted} || {spec}.?priorityClassName.orValue('') == "
        f"{literal(f'{whole}-pair')}",
    }
    rule = ResourceRule(api_groups=("",), api_versions=("v1",), operations=("CREATE", "DELETE"), resources=("pods",))
    return ValidatingSpec(
        failure_policy="Fail",
        match_constraints=MatchResources(resource_rules=(rule,)),
        match_conditions=(Named(name="of-this-account", expression=f"request.userInfo.username == {literal(user)}"),),
        variables=(Named(name="pod", expression=f"{is_deleted} ? oldObject : object"),),
        validations=tuple(
            Validation(expression=text, message_expression=literal(f"the pods that prove nodes {what}"))
            for what, text in checks.items()
        ),
    )
