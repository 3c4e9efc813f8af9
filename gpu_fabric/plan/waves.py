"""The step that changes nodes in waves, after all else that is applied: which nodes, with what, and the proof."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.catalog.oke import Placement
from gpu_fabric.k8s.apps import pod_spec
from gpu_fabric.k8s.base import compact_json
from gpu_fabric.k8s.mellanox import NIC_CLUSTER_POLICY_NAME, NicClusterPolicy
from gpu_fabric.plan import records
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.claims import nic_names
from gpu_fabric.plan.devices import rails_by_resource
from gpu_fabric.plan.host.daemons import COMPONENT_LABEL
from gpu_fabric.plan.managers import SYSTEM_NAMESPACE, manager_of
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.gpu_operator import plan_gpu_capacity
from gpu_fabric.plan.operators.network_operator import CHART as NETWORK_OPERATOR
from gpu_fabric.plan.operators.sriov_operator import sriov_synced
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.plan.steps import Context, Step, Words
from gpu_fabric.plan.ways import namespaces_of_ways, planned_way
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.upgrade import NodeHookSpec

WAVES = "waves"
HOOK = "node-hook"
"""The value of the label `gpu-fabric/component` of a hook's pods."""
MACHINES = "replaced-machines"
"""Name of the ConfigMap with the machines whose Node object is gone, while their successors are not proven yet."""
REPLACED: tuple[Placement, ...] = ("compute-cluster",)
"""The constructs whose machines waves replace: managed node pools, in which Oracle deletes one node by its own."""

OPERATORS_PLUGIN = "sriov-device-plugin"
"""The SR-IOV operators' own device plug-in, so named in v1.3.0 and v1.6.0 (bindata/manifests/plugins)."""

_KINDS = {"clusterpolicies": "ClusterPolicy", "nicclusterpolicies": "NicClusterPolicy"}
# Seconds in which policies of operators are ready again, once all nodes have changed.
_READY = 1800


def waves(contexts: Sequence[Context], others: Sequence[Step]) -> Iterator[Step]:
    """The waves of a stack's nodes, after all `others`; none unless the stack file asks for them.

    Policies whose operator is not ready before its pods on every node are replaced are waited for once they are.
    """
    first = contexts[0].case
    wanted = first.spec.upgrade
    if wanted is None or wanted.action == "hold":
        return
    hook = None if wanted.hook is None else _hook(first, wanted.hook)
    planned = records.PlannedWaves(
        revision=_revision(first),
        nodes_at_a_time=wanted.nodes,
        percent=wanted.percent,
        nodes=first.node_selector,
        namespaces=_namespaces(contexts),
        plugins=_plugins(contexts),
        policies=tuple(_policies(first)),
        proven=tuple(_proven(context.case, group) for context in contexts for group in context.case.groups),
        states=tuple(sriov_synced(context.case) for context in contexts if context.case.choices.by_sriov_operator),
        by_condition=first.spec.fabric.readiness is not None,
        hook=hook,
        job_seconds=60 * wanted.job_minutes,
        evict=wanted.when_jobs_remain == "evict",
        node_seconds=60 * wanted.node_minutes,
        machines=_machines(first) if wanted.machines else None,
        way=planned_way(first),
    )
    jobs = "are evicted" if planned.evict else "stop it"
    size = quantity(wanted.nodes, "node") if wanted.percent is None else f"{wanted.percent} % of the nodes"
    what = f"{size} at a time; jobs that run after {wanted.job_minutes} minutes {jobs}"
    if planned.machines is not None:
        what += f"; machines of {', '.join(planned.machines.pools)} that are older than their pool are replaced"
    if planned.way is not None:
        what += f"; each node's NICs are handed out by {'claims' if planned.way.way == 'claims' else 'device plug-ins'}"
    if hook is not None and wanted.hook is not None:
        what += f"; {wanted.hook.image} runs with root on each node: {shlex.join(wanted.hook.command)}"
    words = (Words(title="waves", what=what, waits="every changed node proves its fabric and takes jobs again"),)
    items: tuple[records.Item, ...] = (planned, *_ready_after(first))
    after = tuple(step.name for step in others)
    yield Step(
        name=WAVES, component=WAVES, kind="operators:Waves", items=items, after=after, in_order=True, words=words
    )


def _machines(case: Case) -> records.PlannedMachines | None:
    """The managed pools at Oracle; none on other clusters, which the rules refuse."""
    cluster = case.spec.cluster
    if not isinstance(cluster, OkeClusterSpec):
        return None
    return records.PlannedMachines(
        compartment=cluster.compartment_id,
        region=cluster.region,
        pools=tuple(pool.name for pool in cluster.pools if pool.placement in REPLACED),
        namespace=manager_of(case).namespace,
        name=case.named(MACHINES),
    )


def _revision(case: Case) -> str:
    """A digest of the versions whose change is a reason to prove every node again."""
    versions = {name: chart.version for name, chart in sorted(case.line.charts.items())}
    return _digest({"line": case.line.name, "charts": dict(versions)})


def _digest(content: object) -> str:
    return hashlib.sha256(compact_json(content).encode()).hexdigest()[:12]


def _namespaces(contexts: Sequence[Context]) -> tuple[str, ...]:
    found = {name for context in contexts for name in context.namespaces}
    own = {manager_of(context.case).namespace for context in contexts}
    return tuple(sorted({*found, *own, *namespaces_of_ways(contexts[0].case), SYSTEM_NAMESPACE}))


def _plugins(contexts: Sequence[Context]) -> tuple[str, ...]:
    """The DaemonSets of device plug-ins; those of a policy for some nodes have its name at the end."""
    names = {
        OPERATORS_PLUGIN,
        *(name for context in contexts for name in context.case.line.plugin_daemon_sets.values()),
    }
    nodes = [group.name for context in contexts for group in context.node_groups]
    return tuple(sorted({*names, *(f"{name}-{node}" for name in names for node in nodes)}))


def _policies(case: Case) -> Iterator[records.ObeyedPolicy]:
    if GPU_OPERATOR.is_installed(case):
        namespace = case.line.charts["gpu-operator"].namespace
        yield records.ObeyedPolicy(
            api_version="nvidia.com/v1", plural="clusterpolicies", name="cluster-policy", namespace=namespace
        )
    if NETWORK_OPERATOR.is_installed(case):
        kind = NicClusterPolicy
        yield records.ObeyedPolicy(
            api_version=kind.api_version,
            plural=kind.plural,
            name=NIC_CLUSTER_POLICY_NAME,
            namespace=manager_of(case).namespace,
        )


def _ready_after(case: Case) -> Iterator[records.PlannedState]:
    """Policies that are ready again when the last node has changed."""
    for policy in _policies(case):
        yield records.PlannedState(
            api_version=policy.api_version,
            kind=_KINDS[policy.plural],
            plural=policy.plural,
            name=policy.name,
            creator="the stack",
            field="status.state",
            value="ready",
            timeout=_READY,
        )


def _proven(case: Case, group: NodeGroup) -> records.ProvenNodes:
    """What a node of a group offers when all of its NICs and GPUs work."""
    shape, resources = group.shape, {}
    pods = {"shared": case.pods_per_nic, "virtual": max(1, shape.vfs_per_nic), "physical": 1}
    each = pods.get(case.choices.access or "", 1)
    for rails in rails_by_resource(group_rails(case, group)).values():
        if (name := rails[0].resource_name) is not None and not manager_of(case).answers_by_claims:
            # What a cloud advertises by itself is known by its names alone.
            by_cloud = manager_of(case).devices_advertised_by is not None or manager_of(case).is_present
            resources[name] = 1 if by_cloud else len(rails) * each
    if GPU_OPERATOR.is_installed(case):
        values = GPU_OPERATOR.release(case).values
        if plan_gpu_capacity(case, values, 1) is not None:
            # Parts of GPUs may be more than these, and are never fewer.
            resources[shape.gpus.resource] = shape.gpus.count
    return records.ProvenNodes(labels=group.selector, resources=resources, nics=_nics(case, group))


def _nics(case: Case, group: NodeGroup) -> records.PublishedNics | None:
    """The fabric's NICs as the DRA driver publishes them; None where pods claim none."""
    if (driver := manager_of(case).dra_driver) is None:
        return None
    attribute = nic_names(case).attribute
    values = (nic.pci if attribute == "pciAddress" else nic.interface for nic in group.shape.nics)
    return records.PublishedNics(driver=driver, attribute=f"{driver}/{attribute}", values=tuple(filter(None, values)))


def _hook(case: Case, wanted: NodeHookSpec) -> records.PlannedHook:
    digest = _digest({"image": wanted.image, "command": wanted.command})
    values = {"pullSecrets": case.pull_secrets, "image": wanted.image, "command": wanted.command}
    pod = pod_spec(Path(__file__).with_name("node_hook.yaml"), values)
    # It must run on a cordoned node with any taint.
    spec = {**pod.to_dict(), "restartPolicy": "Never", "tolerations": [{"operator": "Exists"}]}
    labels = {COMPONENT_LABEL: HOOK, **case.own_labels}
    namespace = manager_of(case).namespace
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{case.named(HOOK)}-{digest}", "namespace": namespace, "labels": labels},
        "spec": spec,
    }
    return records.PlannedHook(digest=digest, manifest=manifest)
