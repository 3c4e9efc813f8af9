"""Kueue: its chart, and a queue that gives out what the stack's GPU nodes have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from pydantic import JsonValue

from gpu_fabric.base.tables import read_table
from gpu_fabric.base.yaml_files import as_yaml
from gpu_fabric.k8s import kueue
from gpu_fabric.k8s.base import ObjectMeta, compact_json
from gpu_fabric.k8s.compute_domain import CLIQUE_LABEL
from gpu_fabric.k8s.names import HOSTNAME_LABEL, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from gpu_fabric.k8s.scheduling import LabelRequirement, LabelSelector
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.domains import has_domains
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import LABELLED, Operator, OwnChart
from gpu_fabric.plan.operators.releases import chart_namespace, tolerations
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedObject, PlannedQueues
from gpu_fabric.plan.steps import Context, Step, Words, kinds
from gpu_fabric.plan.tenants import COHORT, Tenant, amounts, claimed_devices, node_devices, tenants
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


CONFIGURATION = ("managerConfig", "controllerManagerConfigYaml")
"""The value of the chart that has Kueue's configuration, as one text."""

_CONFIGURATION = Path(__file__).with_name("kueue_configuration.yaml")


UNCOUNTED: dict[str, JsonValue] = {
    "KueueDRAIntegration": False,
    "KueueDRAIntegrationExtendedResource": False,
    "KueueDRAIntegrationPartitionableDevices": False,
    "KueueDRARejectWorkloadsWhenDRADisabled": False,
}
"""Gates of Kueue with which it passes over claims, and needs no mapping of their classes.

The first counts them, the next two do not start without it, and the last would refuse such jobs. Source: kueue v0.19.2,
pkg/features/kube_features.go, pkg/config/validation.go and pkg/controller/core/workload_controller.go.
"""


def _values(case: Case) -> dict[str, JsonValue]:
    """What Kueue must know of what jobs claim."""
    more = claims_configuration(case)
    if not more:
        return {}
    first, last = CONFIGURATION
    return {first: {last: _text(json.dumps(more))}}


@cache
def _text(more: str) -> str:
    """Kueue's configuration with further entries, which are given as JSON: every plan writes it twice."""
    return as_yaml({**read_table(_CONFIGURATION), **json.loads(more)})


def claims_configuration(case: Case) -> dict[str, JsonValue]:
    """The entries of Kueue's configuration by which it admits jobs with claims; none where jobs have no claims.

    It admits no job with a class that it does not know. Of channels alone it should know nothing: one that it counts it
    also looks for in what nodes offer, if there is a topology, and does not find it there.
    """
    if mappings := device_class_mappings(case):
        return {"resources": {"deviceClassMappings": mappings}}
    return {"featureGates": UNCOUNTED} if any(map(has_domains, case.fabrics)) else {}


def device_class_mappings(case: Case) -> list[JsonValue]:
    """The entries of Kueue's configuration for the classes that jobs of the stack claim; none without claims."""
    devices = dict.fromkeys((one.resource, one.device_class) for each in case.fabrics for one in claimed_devices(each))
    return [{"name": resource, "deviceClassNames": [device_class]} for resource, device_class in devices]


CHART = OwnChart("kueue", _values, lambda case: case.spec.software.schedulers.kueue is not None)


def _steps(context: Context) -> Iterator[Step]:
    """The chart after all other operators and the fabric, then the queue.

    While its webhooks have no pod to answer, the API server refuses every Deployment and Job (docs/decisions/0023); and
    Kueue looks for the definitions of jobs when it starts.
    """
    before = _before(context)
    note = ", after all operators: its webhooks look at their Deployments and Jobs"
    yield CHART.step(CHART.release(context.case), before, note)
    yield from _queues(context, (*before, CHART.name))


def _before(context: Context) -> tuple[str, ...]:
    others = (name for name in context.charts if name != CHART.name)
    return (*LABELLED, *others, "volcano-objects", "mpi-operator", "host-preparation", "networks")


def _queues(context: Context, after: tuple[str, ...]) -> Iterator[Step]:
    case = context.case
    if case.purpose == "storage":
        # The queues of the compute fabrics give out the devices of storage as well.
        return
    queues = kueue_queues(case, context.rails, context.contract.resources)
    words = (Words(title="job queue", what=kinds(queues.objects), waits=f"ClusterQueue {queues.name} active"),)
    # The queues of further fabrics come after the first, whose controller is stopped when all of them are deleted.
    ordered = bool(case.fabric)
    yield Step(
        name="kueue-queues",
        component=CHART.name,
        kind=CHART.kind,
        items=(queues,),
        after=after,
        in_order=ordered,
        words=words,
    )


OPERATOR = Operator(_steps, CHART, steps_of_present=lambda context: _queues(context, _before(context)))


def kueue_queues(case: Case, rails: tuple[Rail, ...], pod: Mapping[str, str]) -> PlannedQueues:
    """The queue with what it stands on; `pod` is what a full-node pod asks for, by resource."""
    levels, name = topology_levels(case), job_queue(case)
    topology = None if levels is None else _topology(case, levels)
    flavor = _flavor(case, None if topology is None else topology.metadata.name)
    quotas = queue_quotas(case, rails, pod)
    shares = tenants(case)
    own = [tenant.namespace for tenant in shares]
    others = tuple(namespace for namespace in _namespaces(case) if namespace not in own)
    limited = tuple(_queue(case, flavor, tenant, quotas, rails) for tenant in shares)
    rest = _rest(case, quotas, rails)
    limits = {resource: "0" for resource in node_devices(case, rails)} if shares else {}
    queue = _cluster_queue(case, name, others, flavor, rest, limits)
    return PlannedQueues(
        name=name,
        namespace=chart_namespace(case, "kueue"),
        controller=CONTROLLER,
        stops_controller=not case.fabric and not CHART.is_present(case),
        flavors=tuple(PlannedObject(object=entry) for entry in (topology, flavor) if entry is not None),
        # A queue whose flavors do not exist, or whose definition was refused, admits no job and reports it here alone.
        queue=PlannedObject(object=queue, wait_for="condition=Active"),
        tenants=tuple(PlannedObject(object=entry, wait_for="condition=Active") for entry in limited),
        # In every namespace the way into its queue has the same name, so a job is the same everywhere.
        local_queues=tuple(
            PlannedObject(
                object=kueue.LocalQueue(
                    metadata=ObjectMeta(name=name, namespace=namespace), spec=kueue.LocalQueueSpec(cluster_queue=to)
                )
            )
            for namespace in _namespaces(case)
            for to in [next((tenant.queue for tenant in shares if tenant.namespace == namespace), name)]
        ),
    )


def _cluster_queue(
    case: Case,
    name: str,
    namespaces: tuple[str, ...],
    flavor: kueue.ResourceFlavor,
    quotas: Mapping[str, str],
    limits: Mapping[str, str],
) -> kueue.ClusterQueue:
    """A queue of these namespaces. `limits` are what it can borrow of a resource, in a stack with several queues."""
    lent = any(tenant.most > tenant.nodes for tenant in tenants(case))
    # Without namespaces it lends what no namespace has a share of.
    selector = None
    if namespaces:
        by_name = LabelRequirement(key="kubernetes.io/metadata.name", operator="In", values=namespaces)
        selector = LabelSelector(match_expressions=(by_name,))
    resources = tuple(
        kueue.ResourceQuota(name=resource, nominal_quota=quota, borrowing_limit=limits.get(resource))
        for resource, quota in quotas.items()
    )
    return kueue.ClusterQueue(
        metadata=ObjectMeta(name=name),
        spec=kueue.ClusterQueueSpec(
            cohort_name=COHORT if tenants(case) else None,
            # What was lent comes back: the jobs that hold it are stopped, and queued again.
            preemption=kueue.QueuePreemption(reclaim_within_cohort="Any") if lent else None,
            namespace_selector=selector,
            resource_groups=(
                kueue.ResourceGroup(
                    covered_resources=tuple(quotas),
                    flavors=(kueue.FlavorQuotas(name=flavor.metadata.name, resources=resources),),
                ),
            ),
        ),
    )


def _queue(
    case: Case, flavor: kueue.ResourceFlavor, tenant: Tenant, quotas: Mapping[str, str], rails: Iterable[Rail]
) -> kueue.ClusterQueue:
    """The queue of a namespace with a share; of resources that are no nodes' devices it borrows the queue's."""
    devices = node_devices(case, rails)
    own = amounts(devices, tenant.nodes)
    limits = amounts(devices, tenant.most - tenant.nodes)
    shared = {resource: own.get(resource, "0") for resource in quotas}
    return _cluster_queue(case, tenant.queue, (tenant.namespace,), flavor, shared, limits)


def _rest(case: Case, quotas: Mapping[str, str], rails: Iterable[Rail]) -> dict[str, str]:
    """The quotas without the shares of namespaces; a rule refuses shares of more than there is."""
    taken = {
        resource: count * sum(tenant.nodes for tenant in tenants(case))
        for resource, count in node_devices(case, rails).items()
    }
    return {
        resource: str(max(0, int(quota) - taken[resource])) if taken.get(resource) and quota.isdigit() else quota
        for resource, quota in quotas.items()
    }


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
    quotas = amounts(node_devices(case, rails), nodes)
    others = {name: _UNLIMITED.get(name, _UNLIMITED_HUGE_PAGES) for name in pod if name not in quotas}
    return {**quotas, **_UNLIMITED, **others, **_wanted(case).quotas}


def topology_levels(case: Case) -> tuple[str, ...] | None:
    """The labels that say how nodes lie to each other, the widest first; None where that is not known, or not wanted.

    Oracle's own come with the machines of an RDMA network, when they join.
    """
    wanted = _wanted(case).topology
    if claimed_devices(case) or manager_of(case).answers_by_claims:
        # With a topology Kueue looks for all that a job asks for in what nodes offer, where claimed devices are not.
        return None
    if wanted is not None:
        return None if wanted == "none" else wanted
    cluster = case.spec.cluster
    # Kueue takes a topology only together with labels that tell the nodes from others.
    if not case.node_labels:
        return None
    rack = (CLIQUE_LABEL,) if has_domains(case) else ()
    if case.cloud is not None and case.cloud.topology:
        # A rack is below every level of the network.
        return (*(label for label in case.cloud.topology if label != HOSTNAME_LABEL), *rack, HOSTNAME_LABEL)
    placements = case.known.oke_clusters.placements if isinstance(cluster, OkeClusterSpec) else {}
    if isinstance(cluster, OkeClusterSpec) and all(placements[pool.placement].rdma for pool in cluster.pools):
        # A memory fabric is in one local block (source: Oracle's API, ComputeGpuMemoryFabric).
        return (*ORACLE_LEVELS[:-1], *rack, ORACLE_LEVELS[-1])
    return (*rack, HOSTNAME_LABEL) if rack else None


def topology_annotations(case: Case) -> dict[str, str]:
    """What a pod template says so that its pods come to lie close together, and less close where that fails.

    The level above single nodes: no two full-node pods fit on one. Source: Kueue's documentation on topology.
    """
    levels = topology_levels(case)
    if levels is None:
        return {}
    if has_domains(case) and CLIQUE_LABEL in levels:
        # Channels are of one domain, which is a rack.
        return {REQUIRED_TOPOLOGY: CLIQUE_LABEL}
    above = levels[:-1] if levels[-1] == HOSTNAME_LABEL and len(levels) > 1 else levels
    return {PREFERRED_TOPOLOGY: above[-1]}


def _topology(case: Case, levels: tuple[str, ...]) -> kueue.Topology:
    spec = kueue.TopologySpec(levels=tuple(kueue.TopologyLevel(node_label=label) for label in levels))
    return kueue.Topology(metadata=ObjectMeta(name=_hashed_name(case.named("rdma"), spec.to_dict())), spec=spec)


def _flavor(case: Case, topology: str | None) -> kueue.ResourceFlavor:
    spec = kueue.ResourceFlavorSpec(
        node_labels=case.node_labels or None,
        # A launcher without GPUs is sent to these nodes, too, and need not know their taints.
        tolerations=tolerations(case) or None,
        topology_name=topology,
    )
    return kueue.ResourceFlavor(
        metadata=ObjectMeta(name=_hashed_name(case.named("gpu-nodes"), spec.to_dict())), spec=spec
    )


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
