"""The steps of a fabric in addition to its operators': whether, what and after what."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pydantic import JsonValue

from gpu_fabric.base.enumeration import first_to_last, quantity
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import Namespace
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.fabric_check import fabric_check
from gpu_fabric.plan.host.cni_plugins import cni_plugins
from gpu_fabric.plan.host.preparation import (
    address_table,
    address_tables,
    host_preparation,
    nic_addresses,
    virtual_functions,
)
from gpu_fabric.plan.ipam import node_pools, pool_objects, reserved_objects
from gpu_fabric.plan.managers import SYSTEM_NAMESPACE, manager_of
from gpu_fabric.plan.nccl_files import nccl_config_maps
from gpu_fabric.plan.operators import own_charts
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.multus import brings_multus
from gpu_fabric.plan.operators.network_operator import CHART as NETWORK_OPERATOR
from gpu_fabric.plan.operators.network_operator import labelled
from gpu_fabric.plan.operators.operator import LABELLED, manager_steps
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedCapacity, PlannedGroup, PlannedLabelCleanup, PlannedObject, PlannedPullSecret
from gpu_fabric.plan.steps import NODES, Context, Step, Words, daemon_sets, kinds
from gpu_fabric.plan.tenants import tenant_quotas
from gpu_fabric.plan.verification import plan_schedule, plan_verification
from gpu_fabric.spec.existing import ExistingClusterSpec

_MODES = tuple(f"pod-security.kubernetes.io/{mode}" for mode in ("audit", "enforce", "warn"))
# Values of charts that put pods on the host, which the level `baseline` forbids: webhooks on the host's network where
# the API server does not reach pods, and Volcano's agent (chart 1.15.1, templates/agent.yaml).
_ON_HOSTS = ("hostNetwork", "colocation_enable")
# Jobs need IPC_LOCK, which the level `baseline` forbids.
_OF_JOBS = {"pod-security.kubernetes.io/enforce": "privileged"}
_NODE_LABELS = "node-labels"
_POOLS = ("reserved-ips", "ip-pools", "node-pools", "nic-addresses")
# Seconds until nodes offer their devices: DigitalOcean's plug-in looks for NICs once a minute.
_CAPACITY_TIMEOUT = 900
_FABRIC = ("namespaces", NODES, "host-preparation", "networks")


def node_labels(context: Context) -> Iterator[Step]:
    """What operators of the stack leave on nodes that outlive it; deleted once the last operator is gone."""
    case = context.case
    left = case.known.node_labels.left
    charts = tuple(chart.name for chart in (GPU_OPERATOR, NETWORK_OPERATOR) if chart.is_installed(case))
    cluster = case.spec.cluster
    if not charts or not isinstance(cluster, ExistingClusterSpec) or not cluster.clean_nodes:
        return
    prefixes = sorted({prefix for name in charts for prefix in left[name]})
    items = (PlannedLabelCleanup(prefixes=tuple(prefixes)),)
    yield Step(name=_NODE_LABELS, component=_NODE_LABELS, kind="cluster:NodeLabels", items=items)


def namespaces(context: Context) -> Iterator[Step]:
    """Namespaces as resources, since a release that creates its own leaves out the Pod Security labels.

    Everything comes after them; they are deleted last, since whatever is in them must be gone first. Secrets for
    pulling images are in the same step, so that every pod comes after them, too.
    """
    case = context.case
    privileged = dict(context.namespaces)
    # The namespace of an operator that the cluster has is the cluster's, and admits its privileged pods.
    on_hosts = case.spec.fabric.host_preparation.jobs or case.spec.fabric.readiness is not None
    if on_hosts and not manager_of(case).is_present:
        privileged[manager_of(case).namespace] = True
    secrets = tuple(_pull_secrets(case, privileged))
    privileged.pop(SYSTEM_NAMESPACE, None)
    raised = _namespaces_on_hosts(case) | {name for name in privileged if privileged[name]}
    operators = {
        name: dict.fromkeys(_MODES, "privileged" if name in raised else "baseline") for name in sorted(privileged)
    }
    own = {entry.name: _OF_JOBS for entry in case.spec.fabric.namespaces if entry.create}
    planned = tuple(
        PlannedObject(object=Namespace(metadata=ObjectMeta(name=name, labels=labels)))
        for name, labels in (*operators.items(), *own.items())
    )
    words: tuple[Words, ...] = (Words(title="namespaces", what=", ".join(entry.name for entry in planned)),)
    if secrets:
        what = f"Secret {', '.join(dict.fromkeys(entry.name for entry in secrets))}"
        places = ", ".join(dict.fromkeys(entry.namespace for entry in secrets))
        words = (*words, Words(title="pull secrets", what=f"{what} in {places}"))
    yield Step(
        name="namespaces",
        component="namespaces",
        kind="cluster:Namespaces",
        items=(*planned, *secrets),
        after=("webhook-cleanup", _NODE_LABELS),
        # A Secret needs its namespace.
        in_order=bool(secrets),
        words=words,
    )


def _namespaces_on_hosts(case: Case) -> set[str]:
    """Namespaces whose charts need the Pod Security level `privileged` by a value of theirs.

    The catalog says which charts need it by their default values.
    """
    releases = (chart.release(case) for chart in own_charts() if chart.is_installed(case))
    return {entry.namespace for entry in releases if _is_set(entry.values, _ON_HOSTS)}


def _is_set(values: JsonValue, keys: Collection[str]) -> bool:
    """Whether one of the keys is true anywhere in a chart's values."""
    if isinstance(values, dict):
        return any((key in keys and value is True) or _is_set(value, keys) for key, value in values.items())
    return isinstance(values, list) and any(_is_set(value, keys) for value in values)


def _pull_secrets(case: Case, operators: Collection[str]) -> Iterator[PlannedPullSecret]:
    """The Secrets that the stack creates, in every namespace in which it has pods or jobs run."""
    offered = (entry.name for entry in case.spec.fabric.namespaces)
    # The manager's namespace holds what the stack runs on the nodes, whether or not the stack installs the manager.
    of_multus = (SYSTEM_NAMESPACE,) if brings_multus(case) else ()
    places = tuple(dict.fromkeys((*sorted(operators), manager_of(case).namespace, *of_multus, *offered)))
    for secret in case.spec.software.image_pull_secrets:
        if secret.secret is not None:
            for namespace in places:
                yield PlannedPullSecret(name=secret.name, namespace=namespace, key=secret.secret)


def on_nodes(context: Context) -> Iterator[Step]:
    """DaemonSets of the stack's own that set up the nodes, before device plug-ins look at them."""
    case = context.case
    after = (*labelled(case), "ofed-driver")
    planned = host_preparation(case)
    waits = "its pods: every node as specified"
    yield _daemons("host-preparation", "rdma:HostPreparation", "host preparation", planned, after, waits)
    planned, after = virtual_functions(case), (*after, "host-preparation")
    waits = "its pods on every node"
    yield _daemons("virtual-functions", "rdma:HostVirtualFunctions", "virtual functions", planned, after, waits)
    yield _daemons("cni-plugins", "rdma:CniPlugins", "CNI plug-ins", cni_plugins(case), LABELLED, waits)


def pools(context: Context) -> Iterator[Step]:
    """Pools of addresses, and the addresses of the hosts.

    Spiderpool's need its IPAM only, and are created while nodes get their virtual functions.
    """
    case, addresses = context.case, context.addresses
    # The Spectrum-X operator looks at the pools when it creates a network of each.
    early = addresses.ipam == "spiderpool" or case.planes is not None
    after = manager_steps(case) if early else (*manager_steps(case), "sriov")
    reserved = reserved_objects(addresses)
    words = Words(title="reserved addresses", what=kinds(reserved))
    yield _step("reserved-ips", "rdma:ReservedIps", reserved, after, words)
    after = (*after, "reserved-ips")
    # Without a selector nv-ipam gives every node of the cluster a share, CPU nodes too. Where pools have no label in
    # common, it is the label by which the operator itself selects nodes with its NICs.
    planned = pool_objects(addresses, manager_of(case).namespace, case.node_selector, routed=case.planes is not None)
    yield _step("ip-pools", "rdma:IpPools", planned, after, Words(title="IP pools", what=kinds(planned)))
    groups = _groups(case, addresses)
    held = kinds(entry for group in groups for entry in group.objects)
    words = Words(title="IP pools", what=f"{len(groups)} resources, one a rail, with {held}")
    yield _step("node-pools", "rdma:NodePools", groups, after, words)
    # Where nodes have pools of their own, those steps contain the tables.
    tables = () if groups else address_tables(case, addresses)
    planned = (*tables, *nic_addresses(case, addresses))
    after = (*LABELLED, *after, "ip-pools", "node-pools")
    waits = "its pods: every rail's NIC has its address"
    yield _daemons("nic-addresses", "rdma:NicAddresses", "NIC addresses", planned, after, waits)


def fabric_networks(context: Context) -> Iterator[Step]:
    """The networks, in every namespace that may use them, once nodes offer what a cloud advertises."""
    case, kind = context.case, "rdma:FabricNetworks"
    if (offered := _capacity(case, context.rails)) is not None:
        names = list(offered.resources)
        waits = f"at least {quantity(offered.count, 'node')}, every one with {first_to_last(names)}"
        words = (Words(title="devices", what="nothing is made", waits=waits),)
        by_cloud = manager_of(case).devices_advertised_by is not None
        after: tuple[str, ...] = (NODES,) if by_cloud else (NODES, *manager_steps(case), "sriov")
        yield Step(name="capacity", component="networks", kind=kind, items=(offered,), after=after, words=words)
    planned = manager_of(case).networks(context.rails, context.addresses)
    after = ("namespaces", *manager_steps(case), "sriov", *_POOLS, "cni-plugins", "whereabouts", "capacity")
    yield _step("networks", kind, planned, after, Words(title="networks", what=kinds(planned)))


def quotas(context: Context) -> Iterator[Step]:
    """The quota of every namespace with a share of its own, before anything in it requests devices."""
    planned = tenant_quotas(context.case, context.rails)
    words = Words(title="shares", what=kinds(planned))
    yield _step("quotas", "cluster:Quotas", planned, ("namespaces",), words)


def nccl(context: Context) -> Iterator[Step]:
    """What NCCL reads: a ConfigMap per file and namespace, immutable, so that new content has another name."""
    planned = nccl_config_maps(context.nccl, context.contract.namespaces)
    words = Words(title="NCCL files", what=quantity(len(planned), "ConfigMap"))
    yield _step("nccl", "rdma:NcclFiles", planned, _FABRIC, words)


def monitoring(context: Context) -> Iterator[Step]:
    """Alarms and dashboard, for the Prometheus and the Grafana that the cluster has; nothing waits for them."""
    case, wanted = context.case, context.case.spec.monitoring
    if not (wanted.prometheus_rules or wanted.dashboard):
        return
    # Few stacks have them, and the table of alarms is long.
    from gpu_fabric.plan.monitoring.objects import monitoring_objects

    planned = monitoring_objects(context)
    words = Words(title="monitoring", what=f"{kinds(planned)} in {wanted.namespace}")
    yield _step(case.own_copy("monitoring"), "cluster:Monitoring", planned, ("namespaces",), words)


def check(context: Context) -> Iterator[Step]:
    """The check of the rails; deleted first, since its pods hold addresses and devices."""
    planned = fabric_check(context.case, context.addresses, context.contract)
    yield _daemons("check", "rdma:FabricCheck", "check", planned, _FABRIC, "every rail of every node")


def proofs(context: Context) -> Iterator[Step]:
    """The pods that prove nodes; deleted first, since what they look at is then deleted under them."""
    case = context.case
    planned: tuple[PlannedObject, ...] = ()
    if case.spec.fabric.readiness is not None:
        # Here, since few stacks have them, and they need kinds of objects that nothing else does.
        from gpu_fabric.plan.readiness import readiness

        planned = readiness(case, context.addresses, context.rails, context.namespaces, context.contract)
    yield _daemons(
        "readiness",
        "rdma:FabricReadiness",
        "readiness",
        planned,
        (*_FABRIC, "nic-addresses", "node-pools"),
        "its pods: each writes the condition of its node",
    )


def schedule(context: Context) -> Iterator[Step]:
    """What measures idle nodes at certain times."""
    planned = plan_schedule(context.case, context.rails, context.contract)
    what = f"{kinds(planned)} at {context.case.spec.verification.schedule} (UTC)"
    words = Words(title="schedule", what=what)
    yield _step("schedule", "rdma:Schedule", planned, _FABRIC, words)


def verification(context: Context, others: tuple[Step, ...]) -> Iterator[Step]:
    """The verification, after `others`: all other steps."""
    run = plan_verification(context.case, context.rails, context.contract, others)
    if run is None:
        return
    each = "" if run.rail_bar is None else f"each rail {run.rail_bar.value:g} GB/s, then "
    by_ucx = run.point_to_point
    between = "" if by_ucx is None else f", each between two nodes {by_ucx.bar.value:g} GB/s by UCX"
    bars = f"{each}all of them {run.bar.value:g} GB/s{between}"
    what = f"{run.manifests[-1]['kind']} {run.name} on {run.nodes} nodes"
    waits = f"{bars}, {run.seconds // 60} minutes at most" if run.wait else "nothing"
    yield Step(
        name=context.case.own_copy("verification"),
        component=context.case.own_copy("verification"),
        kind="rdma:Verification",
        items=(run,),
        after=tuple(step.name for step in others),
        words=(Words(title="verification", what=what, waits=waits),),
    )


def _step(
    name: str, kind: str, items: tuple[PlannedObject | PlannedGroup, ...], after: tuple[str, ...], words: Words
) -> Step:
    """A step of a component of the same name."""
    return Step(name=name, component=name, kind=kind, items=items, after=after, words=(words,))


def _daemons(
    name: str, kind: str, title: str, planned: tuple[PlannedObject, ...], after: tuple[str, ...], waits: str
) -> Step:
    """A step with DaemonSets of the stack's own; in a dry run they only report, and nothing waits for them."""
    awaited = all(entry.awaited for entry in planned)
    waits = waits if awaited else "nothing: a dry run, which only reports"
    return _step(name, kind, planned, after, Words(title=title, what=daemon_sets(planned), waits=waits))


def _capacity(case: Case, rails: tuple[Rail, ...]) -> PlannedCapacity | None:
    """What nodes must offer where the cloud advertises it, or an operator that the cluster has.

    The operators of a stack report their own states, but for one whose condition says nothing of nodes.

    A pool that scales counts with its fewest nodes.
    """
    resources: dict[str, int | None] = {
        rail.resource_name: rail.index for rail in rails if rail.resource_name is not None
    }
    manager, by_cloud = manager_of(case), manager_of(case).devices_advertised_by is not None
    if not (by_cloud or manager.is_present or case.choices.one_pool) or not resources:
        return None
    nodes = case.node_labels if by_cloud else case.node_selector
    pools = case.spec.cluster.pools
    fewest = sum(bounds.min_nodes if (bounds := getattr(pool, "auto_scale", None)) else pool.nodes for pool in pools)
    return PlannedCapacity(nodes=nodes, count=fewest, resources=resources, timeout=_CAPACITY_TIMEOUT)


def _groups(case: Case, addresses: AddressPlan) -> tuple[PlannedGroup, ...]:
    """A group a rail with the pools of all nodes, and the addresses of their NICs; one node more is one entry more."""
    with_table = case.spec.fabric.host_preparation.addresses and bool(addresses.node_names)
    return tuple(
        PlannedGroup(
            name=case.own_name(f"rail-{pool.rails[0]:02d}"),
            cut=f"{pool.space} /{pool.node_prefix_length}",
            objects=(*pools, *((address_table(case, addresses, pool),) if with_table else ())),
        )
        for pool, pools in node_pools(addresses)
    )
