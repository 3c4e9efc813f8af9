"""Fabric-ready nodes: the pods that prove each GPU node, what they may write, and what keeps jobs off until then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.apps import NOBODY, NODE_NAME, DaemonSet, confined, daemon_set, pod_spec
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.k8s.names import FABRIC_READY, RAIL_TAINT
from gpu_fabric.k8s.node_readiness import (
    NodeReadinessRule,
    NodeReadinessRuleSpec,
    NodeSelector,
    NodeTaint,
    RequiredCondition,
)
from gpu_fabric.k8s.rbac import ClusterRole, PolicyRule, RoleBinding, RoleReference, Subject
from gpu_fabric.nccl.busbw import nic_speed
from gpu_fabric.on_nodes import program
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.host.cni_plugins import cni_plugins
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL
from gpu_fabric.plan.host.preparation import host_preparation, nic_addresses, table_name, virtual_functions
from gpu_fabric.plan.managers import SYSTEM_NAMESPACE, manager_of
from gpu_fabric.plan.operators.multus import multus
from gpu_fabric.plan.operators.operator import service_account
from gpu_fabric.plan.operators.releases import node_tolerations
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.plan.readiness_limits import node_limits, rail_limits
from gpu_fabric.plan.readiness_pair import asked_pair, expected_pair, pair_objects
from gpu_fabric.plan.records import PlannedObject, config_map_name, file_config_map
from gpu_fabric.plan.startup_taint import CONTROLLER, startup_taint
from gpu_fabric.plan.tenants import node_devices
from gpu_fabric.spec.cluster import TaintSpec
from gpu_fabric.spec.fabric import FabricReadinessSpec

COMPONENT = "fabric-readiness"
"""The DaemonSet's name, and the value of the label `gpu-fabric/component` on its pods."""

_RAILS_SCRIPT = "readiness_rails.py"
_SCRIPT, _PAIR_SCRIPT, _EXPECTED = "readiness_agent.py", "readiness_pair.py", "expected.json"
_TABLES = "/addresses"
_VENDORS = {"nvidia": "0x10de", "amd": "0x1002"}
# Seconds: images are pulled on every node.
_TIMEOUT = 900


def readiness(
    case: Case,
    addresses: AddressPlan,
    rails: tuple[Rail, ...],
    namespaces: Mapping[str, bool],
    contract: FabricContract,
) -> tuple[PlannedObject, ...]:
    """Account, permissions and their limits, files and a DaemonSet per node group; none unless asked.

    `namespaces` are those of the stack's operators, with whether privileged pods run there: their DaemonSets' pods
    must be ready on a node. A pod of ours is ready once it writes the condition, whatever that says: a broken node
    delays no operator that does not need it.
    """
    wanted = case.spec.fabric.readiness
    if wanted is None or case.purpose == "storage":
        return ()
    namespace, name = manager_of(case).namespace, case.own_copy(COMPONENT)
    script = _programs(case, namespace)
    looked_at = {namespace: False, **{place: privileged for place, privileged in namespaces.items() if privileged}}
    daemons = _own_daemons(case, addresses)
    if namespace != SYSTEM_NAMESPACE:
        # All that runs there is of the fabric, except for the cloud's own DaemonSets.
        looked_at[namespace] = True
    looked_at |= {place: False for place in daemons if place not in looked_at}
    labels = {COMPONENT_LABEL: COMPONENT}
    planned = [*_account(case, name, namespace, labels, tuple(looked_at)), PlannedObject(object=script)]
    account, whole = Subject(name=name, namespace=namespace), _whole(case)
    planned += pair_objects(case, addresses, contract, account, whole, labels)
    for group in case.groups:
        suffix = f"-{group.name}" if len(case.groups) > 1 else ""
        pods = [
            {"namespace": place, "daemonSets": daemons.get(place, {}).get(group.name, []), "every": every}
            for place, every in looked_at.items()
        ]
        facts = _expected(case, group, wanted, addresses, rails, pods)
        if (pair := expected_pair(case, group, addresses, contract, whole)) is not None:
            facts["pair"] = pair
        content = json.dumps(facts, indent=1, sort_keys=True) + "\n"
        expected = file_config_map(f"{name}-expected{suffix}", namespace, _EXPECTED, content)
        files = {"script": script.metadata.name, "expected": expected.metadata.name}
        daemon = _daemon_set(case, f"{name}{suffix}", group, wanted, files, _tables(case, addresses))
        planned += [PlannedObject(object=expected), PlannedObject(object=daemon, timeout=_TIMEOUT)]
    if wanted.taint == CONTROLLER:
        planned.append(PlannedObject(object=_rule(case)))
    return tuple(planned)


def _whole(case: Case) -> str:
    """The beginning of the names of what belongs to the whole cluster: they say whose it is."""
    return case.named("gpu-fabric-readiness") + (f"-{case.fabric}" if case.fabric else "")


def _programs(case: Case, namespace: str) -> ConfigMap:
    """The program, and with it what measures pairs, or closes rails, where that is asked for."""
    script = file_config_map(case.named(COMPONENT), namespace, _SCRIPT, program(_SCRIPT))
    more = [
        *([] if asked_pair(case) is None else [_PAIR_SCRIPT]),
        *([_RAILS_SCRIPT] if closes_rails(case) else []),
    ]
    if not more:
        return script
    files = {**script.data, **{name: program(name) for name in more}}
    name = config_map_name(case.named(COMPONENT), "".join(files.values()))
    return script.model_copy(update={"metadata": ObjectMeta(name=name, namespace=namespace), "data": files})


def closes_rails(case: Case) -> bool:
    """Whether a rail that fails closes its NIC alone."""
    wanted = case.spec.fabric.readiness
    return wanted is not None and wanted.closes == "rail" and manager_of(case).dra_driver is not None


def _nic_resources(case: Case, group: NodeGroup) -> dict[str, str]:
    """The resources of NICs that move into pods, by rail, where those that are lost are asked for."""
    wanted = case.spec.fabric.readiness
    if wanted is None or not wanted.lost_nics or case.choices.access != "physical":
        return {}
    return {str(rail.index): rail.resource_name for rail in group_rails(case, group) if rail.resource_name is not None}


def own_taint(case: Case) -> TaintSpec | None:
    """The taint that the pods themselves set and take off; None where no taint is wanted, or a controller sets it."""
    section = case.spec.fabric
    return startup_taint(section) if section.readiness is not None and section.readiness.taint == "agent" else None


def _account(
    case: Case, name: str, namespace: str, labels: dict[str, str], looked_at: tuple[str, ...]
) -> Iterator[PlannedObject]:
    """The account may write nodes, which Kubernetes cannot limit to one: an admission policy does."""
    whole = _whole(case)
    # Annotations can be written with the status; taints cannot.
    of_nodes = ("get",) if own_taint(case) is None else ("get", "patch")
    rules: tuple[PolicyRule, ...] = (
        PolicyRule(api_groups=("",), resources=("nodes",), verbs=of_nodes),
        PolicyRule(api_groups=("",), resources=("nodes/status",), verbs=("patch",)),
    )
    if asked_pair(case) is not None:
        # Its neighbours.
        rules += (PolicyRule(api_groups=("",), resources=("nodes",), verbs=("list",)),)
    if _nic_resources(case, case.groups[0]):
        # A NIC can be in a pod of any namespace, and Kubernetes limits no right to the pods of a node.
        rules += (PolicyRule(api_groups=("",), resources=("pods",), verbs=("list",)),)
    if closes_rails(case):
        # Kubernetes limits no right to the devices of a node: an admission policy does.
        verbs = ("list", "create", "delete")
        rules += (PolicyRule(api_groups=("resource.k8s.io",), resources=("devicetaintrules",), verbs=verbs),)
    account, role, binding = service_account(name, namespace, labels, rules)
    # Roles and bindings belong to the whole cluster: their name says whose they are.
    renamed = role.object.model_copy(update={"metadata": ObjectMeta(name=whole, labels=labels)})
    reference = RoleReference(name=whole)
    bound = binding.object.model_copy(update={"metadata": renamed.metadata, "role_ref": reference})
    yield from (account, role.model_copy(update={"object": renamed}), binding.model_copy(update={"object": bound}))
    reader = ClusterRole(
        metadata=ObjectMeta(name=f"{whole}-pods", labels=labels),
        rules=(PolicyRule(api_groups=("",), resources=("pods",), verbs=("list",)),),
    )
    yield PlannedObject(object=reader)
    subject = Subject(name=name, namespace=namespace)
    for place in looked_at:
        yield PlannedObject(
            object=RoleBinding(
                metadata=ObjectMeta(name=whole, namespace=place, labels=labels),
                role_ref=RoleReference(name=reader.metadata.name),
                subjects=(subject,),
            ),
            replaced_on=("roleRef",),
        )
    yield from node_limits(ObjectMeta(name=whole, labels=labels), subject, own_taint(case))
    if closes_rails(case):
        yield from rail_limits(ObjectMeta(name=f"{whole}-rails", labels=labels), subject, _rail_taint(case))


def _rail_taint(case: Case) -> dict[str, str]:
    """The taint of a closed rail's NIC, the driver that publishes it, and what its rules' names begin with."""
    driver = manager_of(case).dra_driver
    assert driver is not None, "rails are closed where NICs are claimed"
    return {"driver": driver, "key": RAIL_TAINT, "effect": "NoSchedule", "name": _whole(case)}


def _daemon_set(
    case: Case,
    name: str,
    group: NodeGroup,
    wanted: FabricReadinessSpec,
    files: Mapping[str, str],
    tables: Mapping[str, str],
) -> DaemonSet:
    folders = {**{name: f"/{name}" for name in files}, **{f"table-{rail}": f"{_TABLES}/{rail}" for rail in tables}}
    config_maps = {**files, **{f"table-{rail}": name for rail, name in tables.items()}}
    values = {
        "account": case.own_copy(COMPONENT),
        "pullSecrets": case.pull_secrets,
        "nodes": group.selector,
        "tolerations": node_tolerations(case) or None,
        "image": case.standalone_image("readiness", wanted.image),
        "script": _RAILS_SCRIPT if closes_rails(case) else _SCRIPT,
        "expected": _EXPECTED,
        "nodeName": NODE_NAME,
        "confined": confined(user=NOBODY),
        "mounts": [{"name": name, "mountPath": path, "readOnly": True} for name, path in folders.items()],
        "volumes": [{"name": volume, "configMap": {"name": name}} for volume, name in config_maps.items()],
    }
    pod = pod_spec(Path(__file__).with_suffix(".yaml"), values)
    labels = {COMPONENT_LABEL: COMPONENT, "gpu-fabric/nodes": case.own_name(group.name), **case.own_labels}
    return daemon_set(name, manager_of(case).namespace, labels, pod)


def _tables(case: Case, addresses: AddressPlan) -> dict[str, str]:
    """The tables of the hosts' addresses by rail, where the stack sets these."""
    if not case.spec.fabric.host_preparation.addresses or not addresses.node_names:
        return {}
    return {f"{rail:02d}": table_name(pool) for pool in addresses.pools for rail in pool.rails}


def _expected(
    case: Case,
    group: NodeGroup,
    wanted: FabricReadinessSpec,
    addresses: AddressPlan,
    rails: tuple[Rail, ...],
    pods: list[dict[str, Any]],
) -> dict[str, Any]:
    """What the pod finds on a node of the group that is as planned; the script reads it."""
    taint, lost = own_taint(case), _nic_resources(case, group)
    return {
        **({"lostNics": lost} if lost else {}),
        "seconds": wanted.seconds,
        "taint": None if taint is None else taint.model_dump(),
        # In these models a NIC itself is moved into the pod, and nothing of it is left on the host.
        "nicsMove": case.choices.access == "physical" and not closes_rails(case),
        **({"railTaint": _rail_taint(case)} if closes_rails(case) else {}),
        "rails": [_rail(case, group, rail, _tables(case, addresses)) for rail in group_rails(case, group)],
        "gpus": {"pci": list(group.shape.gpus.pci), "vendor": _VENDORS[group.shape.gpus.vendor]},
        "resources": _offered(case, rails),
        "pods": pods,
    }


def _offered(case: Case, rails: tuple[Rail, ...]) -> dict[str, int]:
    """What the kubelet offers: no devices that pods claim."""
    devices = node_devices(case, rails)
    return {name: devices[name] for name in devices if not closes_rails(case) or name == case.shape.gpus.resource}


def _rail(case: Case, group: NodeGroup, rail: Rail, tables: Mapping[str, str]) -> dict[str, Any]:
    ethernet, moved = case.choices.link_type == "ether", case.choices.access == "physical"
    table = f"{rail.index:02d}"
    # InfiniBand needs an interface for IPoIB alone; what it is called is of no interest otherwise.
    named = ethernet or case.choices.model == "ipoib" or not (rail.pci or rail.rdma_device)
    return {
        "rail": rail.index,
        "pci": rail.pci,
        "interface": rail.interface if named else None,
        "rdmaDevice": rail.rdma_device,
        "link": case.choices.link_type,
        "gbps": nic_speed(group.shape),
        # A NIC that is moved gets its MTU in the pod, unless the stack sets it on the host.
        "mtu": case.mtu if ethernet and (table in tables or not moved) else None,
        "vfs": max(1, group.shape.vfs_per_nic) if case.choices.access == "virtual" else None,
        "gpu": rail.nearest_gpu,
        "addresses": "table" if table in tables else "any" if manager_of(case).nics_configured_by is not None else None,
    }


def _own_daemons(case: Case, addresses: AddressPlan) -> dict[str, dict[str, list[str]]]:
    """The stack's own DaemonSets that must have a ready pod on each node, by namespace and node group."""
    planned = (
        *host_preparation(case),
        *virtual_functions(case),
        *cni_plugins(case),
        *nic_addresses(case, addresses),
        *multus(case),
    )
    found: dict[str, dict[str, list[str]]] = {}
    # A dry run changes nothing and is ready where nothing is to be changed.
    daemons = [entry.object for entry in planned if isinstance(entry.object, DaemonSet) and entry.awaited]
    for daemon in daemons:
        selector = daemon.spec.template.spec.node_selector or {}
        for group in case.groups:
            if selector.items() <= {**group.nic_labels, **group.labels}.items():
                by_group = found.setdefault(daemon.metadata.namespace or "", {})
                by_group.setdefault(group.name, []).append(daemon.metadata.name)
    return found


def _rule(case: Case) -> NodeReadinessRule:
    taint = startup_taint(case.spec.fabric)
    assert taint is not None, "its manager is the controller"
    return NodeReadinessRule(
        metadata=ObjectMeta(name=case.named("gpu-fabric-ready") + (f"-{case.fabric}" if case.fabric else "")),
        spec=NodeReadinessRuleSpec(
            conditions=(RequiredCondition(type=FABRIC_READY, required_status="True"),),
            enforcement_mode="continuous",
            taint=NodeTaint(**taint.model_dump()),
            node_selector=NodeSelector(match_labels=case.node_selector),
        ),
    )
