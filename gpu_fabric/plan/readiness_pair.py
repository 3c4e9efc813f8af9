"""The pair of pods that measures a node with a neighbour: what they are, and what the pods that prove nodes may do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpu_fabric.base.tables import read_table
from gpu_fabric.base.templates import filled
from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.apps import confined
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.batch import PriorityClass
from gpu_fabric.k8s.core import ConfigMap, Service, ServicePort, ServiceSpec
from gpu_fabric.k8s.rbac import PolicyRule, Role, RoleBinding, RoleReference, Subject
from gpu_fabric.nccl.busbw import nic_speed
from gpu_fabric.on_nodes import program
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.fabric_check import check_environment
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL
from gpu_fabric.plan.readiness_limits import pair_limits
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


def asked_pair(case: Case) -> FabricPairSpec | None:
    """The pair that a fabric's nodes are measured by; None where it is not asked for, or pods have no rails."""
    wanted = case.spec.fabric.readiness
    return None if wanted is None or case.choices.model == "host-network" else wanted.pair


def pair_objects(
    case: Case,
    addresses: AddressPlan,
    contract: FabricContract,
    account: Subject,
    whole: str,
    labels: dict[str, str],
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
    yield from pair_limits(
        ObjectMeta(name=f"{whole}-pair", labels=labels),
        account,
        _pod(case, addresses, contract, wanted, whole),
        [group.selector for group in case.groups],
    )


def expected_pair(
    case: Case, group: NodeGroup, addresses: AddressPlan, contract: FabricContract, whole: str
) -> dict[str, Any] | None:
    """What the program that proves nodes gets: the pod, the rails' line rates in Gb/s, and which nodes are alike."""
    wanted, gbps = asked_pair(case), nic_speed(group.shape)
    if wanted is None or gbps is None or not contract.networks:
        return None
    pod = _pod(case, addresses, contract, wanted, whole)
    return {
        "when": wanted.when,
        "percent": wanted.percent,
        "seconds": wanted.seconds,
        "rails": {str(place): gbps for place, _ in enumerate(contract.networks)},
        "nodes": ",".join(f"{key}={value}" for key, value in sorted(group.selector.items())),
        "pod": {**pod, "spec": {**pod["spec"], "nodeSelector": group.selector}},
    }


def _scripts(case: Case, contract: FabricContract, labels: dict[str, str]) -> ConfigMap:
    files = {file: program(file) for file in _SCRIPTS}
    digest = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:8]
    metadata = ObjectMeta(name=f"{case.own_copy(PAIR)}-{digest}", namespace=contract.namespaces[0], labels=labels)
    return ConfigMap(metadata=metadata, immutable=True, data=files)


def _pod(
    case: Case, addresses: AddressPlan, contract: FabricContract, wanted: FabricPairSpec, whole: str
) -> dict[str, Any]:
    """The pod of `readiness_pair.yaml`."""
    name = case.own_copy(PAIR)
    tolerations = (*contract.tolerations, *startup_tolerations(case))
    values = {
        "name": name,
        "namespace": contract.namespaces[0],
        "labels": {COMPONENT_LABEL: name, **case.own_labels},
        "annotations": dict(contract.annotations),
        "whole": whole,
        "pullSecrets": [{"name": entry.name} for entry in case.pull_secrets or ()] or None,
        "tolerations": [entry.model_dump(by_alias=True, exclude_none=True) for entry in tolerations],
        "image": case.standalone_image("rdmaTools", wanted.image),
        "expected": [
            {"name": entry.name, "value": entry.value} for entry in check_environment(case, addresses, contract)
        ],
        "seconds": str(wanted.seconds),
        "start": str(_START),
        "trafficClass": contract.environment.get("NCCL_IB_TC") or None,
        "port": str(_PORT),
        "devices": {key: str(count) for key, count in contract.devices.items() if key != case.shape.gpus.resource},
        "confined": confined(capabilities=("IPC_LOCK",)).to_dict(),
        "scripts": _scripts(case, contract, {}).metadata.name,
    }
    pod: dict[str, Any] = filled(read_table(Path(__file__).with_suffix(".yaml")), values)
    return pod
