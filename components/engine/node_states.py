"""Waiting for objects that an operator creates, one for every node, and that are not resources of the stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpu_fabric.base.api_objects import field
from gpu_fabric.plan.records import PlannedWait, WantedFunctions

from .cluster_api import ClusterApi, Json, api_path, find
from .waiting import NodeStatus, api_of, nodes_with, offered, wait_for_nodes


class Seen(NamedTuple):
    """The resources that each relevant node offers, the operator's objects and the labels, by node.

    `is_served` is false while the operator's webhook has no ready pod.
    """

    nodes: Mapping[str, Mapping[str, str]]
    states: Mapping[str, Mapping[str, Any]]
    is_served: bool = True
    labels: Mapping[str, Mapping[str, str]] = {}


Look = Callable[[], Seen]


async def wait_until_synced(wait: PlannedWait, look: Look, say: Callable[[str], None]) -> None:
    """Poll until every node's object has the wanted value.

    Raises:
        NodesError: naming each node that is not ready, with the operator's reason.
    """
    aim = "have their virtual functions" if wait.resources else "are known to the SR-IOV operator"
    await wait_for_nodes(lambda: _status(wait, look()), aim, wait.timeout, say)


def looking(wait: PlannedWait, kubeconfig: str, context: str | None) -> Look:
    """A function that reads the cluster of a kubeconfig."""
    api = api_of(kubeconfig, context)
    daemon_sets = api_path("apps/v1", "daemonsets", wait.namespace)

    def look() -> Seen:
        nodes = nodes_with(api, wait.nodes)
        states = api.items(api_path(wait.api_version, wait.plural, wait.namespace), "")
        servers = [] if wait.served_by is None else api.items(daemon_sets, "")
        resources = {name: offered(node) for name, node in nodes.items()}
        return Seen(
            {name: found for name, found in resources.items() if found.get(wait.having, "0") != "0"},
            {item["metadata"]["name"]: item for item in states},
            is_served=wait.served_by is None or any(_works(item, wait.served_by) for item in servers),
            labels={name: node["metadata"].get("labels") or {} for name, node in nodes.items()},
        )

    return look


def lack_of_node(wait: PlannedWait, api: ClusterApi, node: Json) -> str:
    """What one node lacks of what is waited for, in words; empty if nothing, or if the wait is not for this node."""
    name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
    if not wait.nodes.items() <= labels.items() or offered(node).get(wait.having, "0") == "0":
        return ""
    state = find(api, api_path(wait.api_version, wait.plural, wait.namespace, name))
    return _lack(wait, Seen({name: offered(node)}, {} if state is None else {name: state}, labels={name: labels}), name)


def _works(daemon_set: Mapping[str, Any], name: str) -> bool:
    return daemon_set["metadata"]["name"] == name and bool(_at(daemon_set, "status.numberReady").strip("0"))


def _status(wait: PlannedWait, seen: Seen) -> NodeStatus:
    lacks = {node: lack for node in seen.nodes if (lack := _lack(wait, seen, node))}
    failed = frozenset(node for node in lacks if _at(seen.states.get(node, {}), wait.field) == wait.failed)
    missing = "" if seen.nodes else f"there is no node with {wait.having} and the labels {wait.nodes}"
    if not missing and not seen.is_served:
        missing = (
            f"DaemonSet {wait.namespace}/{wait.served_by} has no pod that works, without which the operator's webhook "
            "refuses every policy: it runs on nodes of the control plane only; where the cluster shows none, "
            "label one: kubectl label node NAME node-role.kubernetes.io/control-plane= "
            "(software.spiderpool.values.sriov.operatorConfig.enableOperatorWebhook: false only helps if it is written "
            "before the first `up`: later the webhook refuses that change as well)"
        )
    return NodeStatus(len(seen.nodes), lacks, failed, missing)


def _lack(wait: PlannedWait, seen: Seen, node: str) -> str:
    """What a node lacks, in words; empty if it is ready."""
    if node not in seen.states:
        return f"the operator has no {wait.plural} for it"
    state = seen.states[node]
    if (value := _at(state, wait.field)) != wait.value:
        return f"{wait.field} is {value or 'not set'} {_at(state, wait.reason)}".rstrip()
    labels = seen.labels.get(node, {})
    asked = [wanted for wanted in wait.functions if wanted.nodes.items() <= labels.items()]
    if behind := next(filter(None, (_unwritten(state, wanted) for wanted in asked)), "") or _behind(state):
        return behind
    resources = seen.nodes[node]
    few = [name for name, least in wait.resources.items() if int(resources.get(name, "0")) < least]
    return ", ".join(f"{resources.get(name, '0')} of {wait.resources[name]} {name}" for name in few)


def _unwritten(state: Mapping[str, Any], wanted: WantedFunctions) -> str:
    """In words, that the operator has not written a node policy into the object's spec yet; empty if it has.

    Each interface of the spec names the policies of its groups of functions (VfGroup in
    api/v1/sriovnetworknodestate_types.go of the operator, v1.3.0 to v1.6.0).
    """
    found = {entry.get("pciAddress"): entry for entry in (state.get("spec") or {}).get("interfaces") or ()}
    written = {address for address, entry in found.items() if _is_written(entry, wanted)}
    if (written >= set(wanted.addresses)) if wanted.addresses else written:
        return ""
    return f"the operator has not written policy {wanted.policy}, as it is now, into its spec"


def _is_written(interface: Mapping[str, Any], wanted: WantedFunctions) -> bool:
    """Whether an interface has this policy's group of functions; other policies may ask for more functions.

    A group has the functions from the first on where its policy names no range (generatePfNameVfGroup in
    api/v1/helper.go).
    """
    group_of_policy = (wanted.policy, wanted.resource, f"0-{wanted.count - 1}")
    return interface.get("numVfs", 0) >= wanted.count and any(
        (group.get("policyName"), group.get("resourceName"), group.get("vfRange")) == group_of_policy
        and (wanted.mtu is None or group.get("mtu", wanted.mtu) == wanted.mtu)
        for group in interface.get("vfGroups") or ()
    )


def _behind(state: Mapping[str, Any]) -> str:
    """The first interface whose status differs from the object's spec, in words; empty if there is none.

    After the operator has written the spec, the status keeps its old value until the node's daemon has read the spec.
    """
    spec, status = ((state.get(part) or {}) for part in ("spec", "status"))
    there = {entry.get("pciAddress"): entry for entry in status.get("interfaces") or ()}
    for wanted in spec.get("interfaces") or ():
        address = wanted.get("pciAddress")
        found = there.get(address, {})
        count, asked = found.get("numVfs", 0), wanted.get("numVfs", 0)
        # There may be more externally created functions than requested; the daemon only raises the MTU.
        if count < asked or (count > asked and not wanted.get("externallyManaged")):
            return f"{address} has {count} of {asked} virtual functions"
        if found.get("mtu", 0) < wanted.get("mtu", 0):
            return f"{address} has an MTU of {found.get('mtu', 0)}, not {wanted['mtu']}"
    mode, has = ((part.get("system") or {}).get("rdmaMode") for part in (spec, status))
    return f"the RDMA mode is {has or 'not set'}, not {mode}" if mode and has != mode else ""


def _at(item: Mapping[str, Any], path: str) -> str:
    found = field(item, *path.split("."))
    return "" if found is None else str(found)
