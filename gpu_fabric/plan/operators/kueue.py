"""Kueue: its chart, and a queue that gives out what the stack's GPU nodes have."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from gpu_fabric.k8s.base import ObjectMeta, compact_json
from gpu_fabric.k8s.kueue import (
    ClusterQueue,
    ClusterQueueSpec,
    FlavorQuotas,
    LocalQueue,
    LocalQueueSpec,
    ResourceFlavor,
    ResourceFlavorSpec,
    ResourceGroup,
    ResourceQuota,
    Topology,
    TopologyLevel,
    TopologySpec,
)
from gpu_fabric.k8s.names import HOSTNAME_LABEL, PREFERRED_TOPOLOGY
from gpu_fabric.k8s.scheduling import LabelRequirement, LabelSelector
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.operator import LABELLED, Operator, OwnChart, chart_step
from gpu_fabric.plan.operators.releases import tolerations
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.plan.records import PlannedObject, PlannedQueues
from gpu_fabric.plan.steps import Context, Step, Words, kinds
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.software import KueueSpec

CONTROLLER = "kueue-controller-manager"
"""The Deployment of Kueue's chart."""

ORACLE_RDMA = "oci.oraclecloud.com/rdma"
ORACLE_LEVELS = (
    *(f"{ORACLE_RDMA}.{level}_id" for level in ("hpc_island", "network_block", "local_block")),
    HOSTNAME_LABEL,
)
"""The labels by which nodes of Oracle's RDMA networks say where they lie, the widest first, and the node itself.

Source: the Topology of the OKE quick-start.
"""

# Of these a job may ask for as much as it likes: what nodes have of them is not known before they are there, and a
# job waits for ever that asks for a resource without a quota. The amounts are more than any cluster has.
_UNLIMITED = {"cpu": "10M", "memory": "1Ei", "ephemeral-storage": "1Ei"}
_UNLIMITED_HUGE_PAGES = "1Ei"


CHART = OwnChart("kueue", "schedulers.kueue")


def _steps(context: Context) -> Iterator[Step]:
    """The chart after all other operators and the fabric, then the queue.

    While its webhooks have no pod to answer, the API server refuses every Deployment and Job (docs/decisions/0023); and
    Kueue looks for the definitions of jobs when it starts.
    """
    case, kind = context.case, "operators:Kueue"
    others = (name for name in context.charts if name != CHART.name)
    before = (*LABELLED, *others, "volcano-objects", "mpi-operator", "host-preparation", "networks")
    note = ", after all operators: its webhooks look at their Deployments and Jobs"
    yield chart_step(CHART.release(case), kind, "Kueue", before, note)
    if case.purpose == "storage":
        # The queues of the compute fabrics give out the devices of storage as well.
        return
    queues = kueue_queues(case, context.rails, context.contract.resources)
    words = (Words(title="job queue", what=kinds(queues.objects), waits=f"ClusterQueue {queues.name} active"),)
    after = (*before, CHART.name)
    # The queues of further fabrics come after the first, whose controller is stopped when all of them are deleted.
    ordered = bool(case.fabric)
    yield Step(
        name="kueue-queues",
        component=CHART.name,
        kind=kind,
        items=(queues,),
        after=after,
        in_order=ordered,
        words=words,
    )


OPERATOR = Operator(_steps, CHART)


def kueue_queues(case: Case, rails: tuple[Rail, ...], pod: Mapping[str, str]) -> PlannedQueues:
    """The queue with what it stands on; `pod` is what a full-node pod asks for, by resource."""
    levels, name = topology_levels(case), job_queue(case)
    topology = None if levels is None else _topology(levels)
    flavor = _flavor(case, None if topology is None else topology.metadata.name)
    quotas = queue_quotas(case, rails, pod)
    queue = ClusterQueue(
        metadata=ObjectMeta(name=name),
        spec=ClusterQueueSpec(
            namespace_selector=LabelSelector(
                match_expressions=(
                    LabelRequirement(key="kubernetes.io/metadata.name", operator="In", values=_namespaces(case)),
                )
            ),
            resource_groups=(
                ResourceGroup(
                    covered_resources=tuple(quotas),
                    flavors=(
                        FlavorQuotas(
                            name=flavor.metadata.name,
                            resources=tuple(
                                ResourceQuota(name=resource, nominal_quota=quota) for resource, quota in quotas.items()
                            ),
                        ),
                    ),
                ),
            ),
        ),
    )
    return PlannedQueues(
        name=name,
        namespace=case.line.charts["kueue"].namespace,
        controller=CONTROLLER,
        flavors=tuple(PlannedObject(object=entry) for entry in (topology, flavor) if entry is not None),
        # A queue whose flavors do not exist, or whose definition was refused, admits no job and reports it here alone.
        queue=PlannedObject(object=queue, wait_for="condition=Active"),
        stops_controller=not case.fabric,
        local_queues=tuple(
            PlannedObject(
                object=LocalQueue(
                    metadata=ObjectMeta(name=name, namespace=namespace), spec=LocalQueueSpec(cluster_queue=name)
                )
            )
            for namespace in _namespaces(case)
        ),
    )


def job_queue(case: Case) -> str:
    """The name of the queue of a fabric's jobs, which is that of its way in as well."""
    return case.own_name(_wanted(case).queue)


def queue_quotas(case: Case, rails: Iterable[Rail], pod: Mapping[str, str]) -> dict[str, str]:
    """What the queue gives out at a time: the nodes' GPUs and devices, and all that else is asked for.

    A pool that scales counts with its most nodes: a job that is let in is what makes it grow. What the stack file says
    about a resource wins.
    """
    nodes = sum(
        bounds.max_nodes if (bounds := getattr(pool, "auto_scale", None)) else pool.nodes
        for pool in case.spec.cluster.pools
    )
    devices = Counter(rail.resource_name for rail in rails if rail.resource_name is not None)
    quotas = {case.shape.gpus.resource: str(nodes * case.shape.gpus.count)}
    quotas |= {name: str(nodes * nics * case.pods_per_nic) for name, nics in devices.items()}
    # A job may attach to a storage fabric of its nodes as well, and a queue admits none that asks for what it lacks.
    for storage in case.storage:
        of_storage = Counter(rail.resource_name for rail in plan_rails(storage) if rail.resource_name is not None)
        quotas |= {name: str(nodes * nics * storage.pods_per_nic) for name, nics in of_storage.items()}
    others = {name: _UNLIMITED.get(name, _UNLIMITED_HUGE_PAGES) for name in pod if name not in quotas}
    return {**quotas, **_UNLIMITED, **others, **_wanted(case).quotas}


def topology_levels(case: Case) -> tuple[str, ...] | None:
    """The labels that say how nodes lie to each other, the widest first; None where that is not known, or not wanted.

    Oracle's own come with the machines of an RDMA network, when they join.
    """
    wanted = _wanted(case).topology
    if wanted is not None:
        return None if wanted == "none" else wanted
    cluster = case.spec.cluster
    # Kueue takes a topology only together with labels that tell the nodes from others.
    if not isinstance(cluster, OkeClusterSpec) or not case.node_labels:
        return None
    placements = case.known.oke_clusters.placements
    return ORACLE_LEVELS if all(placements[pool.placement].rdma for pool in cluster.pools) else None


def topology_annotations(case: Case) -> dict[str, str]:
    """What a pod template says so that its pods come to lie close together, and less close where that fails.

    The level above single nodes: no two full-node pods fit on one. Source: Kueue's documentation on topology.
    """
    levels = topology_levels(case)
    if levels is None:
        return {}
    above = levels[:-1] if levels[-1] == HOSTNAME_LABEL and len(levels) > 1 else levels
    return {PREFERRED_TOPOLOGY: above[-1]}


def _topology(levels: tuple[str, ...]) -> Topology:
    spec = TopologySpec(levels=tuple(TopologyLevel(node_label=label) for label in levels))
    return Topology(metadata=ObjectMeta(name=_hashed_name("rdma", spec.to_dict())), spec=spec)


def _flavor(case: Case, topology: str | None) -> ResourceFlavor:
    spec = ResourceFlavorSpec(
        node_labels=case.node_labels or None,
        # A launcher without GPUs is sent to these nodes, too, and need not know their taints.
        tolerations=tolerations(case) or None,
        topology_name=topology,
    )
    return ResourceFlavor(metadata=ObjectMeta(name=_hashed_name("gpu-nodes", spec.to_dict())), spec=spec)


def _hashed_name(prefix: str, content: Mapping[str, object]) -> str:
    """A name that changes with the content, which the API does not let change.

    The new object is created before the old one is deleted, since the queue refers to the old one.
    """
    return f"{prefix}-{hashlib.sha256(compact_json(content).encode()).hexdigest()[:8]}"


def _namespaces(case: Case) -> tuple[str, ...]:
    return tuple(entry.name for entry in case.spec.fabric.namespaces)


def _wanted(case: Case) -> KueueSpec:
    wanted = case.spec.software.schedulers.kueue
    assert wanted is not None, "the chart is among those of the stack"
    return wanted
