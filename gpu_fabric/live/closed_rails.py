"""Rails that a node's proof has closed by a taint of their NICs: whether the server can, and which stay closed."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.base.api_objects import condition
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.k8s.names import FABRIC_READY, RAIL_TAINT
from gpu_fabric.live.cluster import Json, api_path, field, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pods import YOUNG_S, age_of
from gpu_fabric.live.published import objects, serves_taint_rules, taint_rules
from gpu_fabric.spec.places import dotted

_REASON = "RailsClosed"
# Seconds: a proof writes its condition at least every five minutes.
_SILENT = 900


def taint_rule_differences(case: Examination) -> Iterator[Finding]:
    """That rails are to be closed, and the API server has not the kind for it."""
    for fabric in case.stack.by_fabric:
        wanted = fabric.spec.fabric.readiness
        if wanted is not None and wanted.closes == "rail" and not serves_taint_rules(case.cluster):
            seen = Seen(object="APIGroup resource.k8s.io", field="resources", value="no devicetaintrules")
            yield finding("PRE144", dotted(fabric.in_fabric("readiness", "closes")), seen=seen)


def closed_rails(case: Examination) -> Iterator[Finding]:
    """NICs that are closed to claims for more than some minutes, and why; or that nothing will open again."""
    if case.purpose == "destroy" or not objects(case.cluster, "deviceclasses"):
        # Without a class there is nothing to claim.
        return
    rules = [rule for rule in taint_rules(case.cluster) if field(rule, "spec", "taint", "key") == RAIL_TAINT]
    nodes = {name_of(node): node for node in case.cluster.items(api_path("v1", "nodes"))} if rules else {}
    for rule in rules:
        if age_of(field(rule, "metadata", "creationTimestamp"), case.at_s) < YOUNG_S:
            continue
        selector = field(rule, "spec", "deviceSelector") or {}
        pool, device = str(selector.get("pool")), str(selector.get("device"))
        about = f"{device} of node {pool} is closed to claims by DeviceTaintRule {name_of(rule)}"
        why, remedy = _why(nodes.get(pool), case.at_s)
        remedy = remedy or f"kubectl delete devicetaintrules.resource.k8s.io {name_of(rule)}"
        seen = Seen(object=f"DeviceTaintRule {name_of(rule)}", field="spec.deviceSelector.device", value=device)
        yield finding("DOC076", "", f"{about}: {why}", remedy, seen=seen)


def _why(node: Json | None, at_s: float) -> tuple[str, str]:
    """Why a rail of a node is closed, with what to do; without the latter nothing opens it again."""
    if node is None:
        return "the cluster has no such node", ""
    found = condition(node, FABRIC_READY)
    if age_of(found.get("lastHeartbeatTime"), at_s) >= _SILENT:
        return "no pod that proves nodes has looked at the node for a quarter of an hour", ""
    if found.get("reason") != _REASON:
        return f"the node's condition is {found.get('status')} ({found.get('reason')})", "repair what it names first"
    return str(found.get("message")), "repair the rail: its next proof opens it"
