"""The steps in which a plan is applied: what each applies, and what it then waits for, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fabric.plan import HelmRelease, Plan, PlannedObject
from fabric.plan.clouds.doks import DoksResources
from fabric.plan.verification import PlannedVerification
from fabric.report_oke import oke_steps

_TITLES = {
    "gpu-operator": "GPU Operator",
    "jobset": "JobSet",
    "kueue": "Kueue",
    "network-operator": "Network Operator",
    "ofed-driver": "network drivers",
    "spiderpool": "Spiderpool",
    "volcano": "Volcano",
    "whereabouts": "Whereabouts",
}


class Step(NamedTuple):
    """One step; `waits` is empty where what was applied is ready when created."""

    title: str
    what: str
    waits: str = ""


def steps(plan: Plan) -> Iterator[Step]:
    """The steps in order; some run at the same time, and say so."""
    if plan.split is not None and plan.part == "platform":
        what = f"that of stack {plan.split.cluster_stack}, which is not changed"
        yield Step("cluster", what, "nothing: that stack is up, and as its file says, or this one is refused")
    if plan.cluster.doks is not None:
        yield from _doks(plan.cluster.doks)
    if plan.cluster.oke is not None:
        yield from (Step(*entry) for entry in oke_steps(plan.cluster.oke))
    if plan.namespaces:
        yield Step("namespaces", ", ".join(entry.name for entry in plan.namespaces))
    # A chart that starts the device plug-ins comes after what the nodes need.
    after_nodes = plan.network_operator if plan.policy_ready is not None else plan.spiderpool
    for release in plan.releases:
        if release is after_nodes:
            yield from _on_nodes(plan)
        if release is plan.kueue:
            yield from _mpi_operator(plan)
        yield _release(plan, release)
    if after_nodes is None:
        yield from _on_nodes(plan)
    if plan.kueue is None:
        yield from _mpi_operator(plan)
    yield from _queues(plan)
    yield from _policies(plan)
    yield from _fabric(plan)
    if files := len(plan.nccl_config_maps):
        yield Step("NCCL files", f"{files} ConfigMap{'s' if files > 1 else ''}")
    if plan.fabric_check:
        yield Step("check", f"DaemonSet {_daemons(plan.fabric_check)}", "every rail of every node")
    if plan.verification is not None:
        yield _verification(plan.verification)


def _verification(run: PlannedVerification) -> Step:
    each = "" if run.rail_bar is None else f"each rail {run.rail_bar.value:g} GB/s, then "
    bars = f"{each}all of them {run.bar.value:g} GB/s"
    what = f"{run.manifests[-1]['kind']} {run.name} on {run.nodes} nodes"
    return Step("verification", what, f"{bars}, {run.seconds // 60} minutes at most" if run.wait else "nothing")


def _doks(cloud: DoksResources) -> Iterator[Step]:
    """What DigitalOcean makes."""
    if cloud.vpc is not None:
        taken = " (taken over)" if cloud.vpc.adopt else ""
        yield Step("VPC", f"{cloud.vpc.name}{taken}: {cloud.vpc.ip_range or 'a range of its choice'}")
    cluster, system = cloud.cluster, cloud.cluster.node_pool
    taken = " (taken over)" if cluster.adopt else ""
    yield Step(
        "cluster",
        f"{cluster.name}{taken} with pool {system.name}: {system.node_count} x {system.size}",
        f"running, {_minutes(cluster.timeout)} at most",
    )
    for number, pool in enumerate(cloud.pools):
        at_once = ", at the same time" if number else ""
        taken = " (taken over)" if pool.adopt else ""
        yield Step(
            "GPU pool",
            f"{pool.name}{taken}: {pool.node_count} x {pool.size}{at_once}",
            f"every node running, {_minutes(pool.timeout)} at most",
        )
    if cloud.project is not None:
        yield Step("project", cloud.project.name or f"{cloud.project.id}, which the cluster is listed under")


def _minutes(timeout: str) -> str:
    return f"{timeout.removesuffix('m')} minutes"


def _release(plan: Plan, release: HelmRelease) -> Step:
    what = f"chart {release.chart.name} {release.chart.version} in {release.namespace}"
    waits = "its pods"
    if release is plan.gpu_operator and plan.gpu_operator_ready is not None:
        waits += f", and {plan.gpu_operator_ready.name} {_condition(plan.gpu_operator_ready.wait_for)}"
    elif release is plan.network_operator and plan.gpu_operator is not None and not plan.network_operator_needs_nfd:
        what += ", at the same time"
    elif release in (plan.volcano, plan.jobset):
        what += ", at the same time as all of the above"
    elif release is plan.kueue:
        what += ", after the controllers of jobs"
    return Step(_TITLES[release.name], what, waits)


def _on_nodes(plan: Plan) -> Iterator[Step]:
    """What the stack puts on the nodes itself."""
    if plan.multus:
        what = f"DaemonSet {_daemons(plan.multus)} in kube-system, and the kind NetworkAttachmentDefinition"
        yield Step("Multus", what, "the kind, and its pods on every node")
    for title, planned, waits in (
        ("host preparation", plan.host_preparation, "its pods: every node as specified"),
        ("virtual functions", plan.virtual_functions, "its pods on every node"),
        ("CNI plug-ins", plan.cni_plugins, "its pods on every node"),
    ):
        if daemons := _daemons(planned):
            yield Step(title, f"DaemonSet{'s' if ',' in daemons else ''} {daemons}", _awaited(planned, waits))


def _mpi_operator(plan: Plan) -> Iterator[Step]:
    if plan.mpi_operator:
        what = "Deployment mpi-operator in mpi-operator, and the kind MPIJob, at the same time as all of the above"
        yield Step("MPI operator", what, "the kind, and its pod")


def _queues(plan: Plan) -> Iterator[Step]:
    """What comes with the schedulers beside their charts."""
    if plan.volcano_objects:
        yield Step("job scheduling", _kinds(plan.volcano_objects))
    if plan.kueue_queues is not None:
        yield Step("job queue", _kinds(plan.kueue_queues.objects), f"ClusterQueue {plan.kueue_queues.name} active")


def _policies(plan: Plan) -> Iterator[Step]:
    if plan.coordinator is not None:
        yield Step("coordinator", f"{', '.join(plan.coordinator.spec)} of {plan.coordinator.kind}")
    if plan.policy_ready is not None:
        yield Step("policy", "by the chart", f"{plan.policy_ready.name} {_condition(plan.policy_ready.wait_for)}")
    for entry in (*((plan.policy,) if plan.policy else ()), *plan.node_policies):
        yield Step("policy", f"{entry.object.kind} {entry.name}", _condition(entry.wait_for))
    for rollout in plan.plugin_rollouts:
        yield Step("device plug-in", f"DaemonSet {rollout.daemon_set}, rolled when configured otherwise")
    if plan.sriov_synced is not None:
        waits = f"{plan.sriov_synced.field} {plan.sriov_synced.value} on every GPU node"
        yield Step("SR-IOV", _kinds(plan.sriov_policies), waits)
    if plan.capacity is not None:
        resources = list(plan.capacity.resources)
        offered = resources[0] if len(resources) == 1 else f"{resources[0]} to {resources[-1]}"
        yield Step("devices", "nothing is made", f"{offered} on every node, of {plan.capacity.count} or more")


def _fabric(plan: Plan) -> Iterator[Step]:
    for title, objects in (("reserved addresses", plan.reserved_ips), ("IP pools", plan.ip_pools)):
        if objects:
            yield Step(title, _kinds(objects))
    if plan.node_pools:
        yield Step("IP pools", f"{len(plan.node_pools)} resources, one a rail, with {_kinds(plan.pools)}")
    if daemons := _daemons(plan.nic_addresses):
        waits = _awaited(plan.nic_addresses, "its pods: every rail's NIC has its address")
        yield Step("NIC addresses", f"DaemonSet {daemons}", waits)
    if plan.networks:
        yield Step("networks", _kinds(plan.networks))


def _kinds(planned: Iterable[PlannedObject]) -> str:
    counts = Counter(entry.object.kind for entry in planned)
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def _daemons(planned: Iterable[PlannedObject]) -> str:
    return ", ".join(entry.name for entry in planned if entry.object.kind == "DaemonSet")


def _awaited(planned: Iterable[PlannedObject], waits: str) -> str:
    return waits if all(entry.awaited for entry in planned) else "nothing: a dry run, which only reports"


def _condition(wait_for: str | None) -> str:
    return "" if wait_for is None else wait_for.removeprefix("jsonpath=")
