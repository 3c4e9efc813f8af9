"""From a spec to its plan: a pure function, the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpu_fabric.plan import concerns
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.bandwidth import plan_bandwidth
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.cost import plan_cost
from gpu_fabric.plan.devices import planned_nodes
from gpu_fabric.plan.joining import joined_steps, with_joint_plugins
from gpu_fabric.plan.nccl_files import no_nccl_files, plan_nccl_files
from gpu_fabric.plan.nccl_settings import fabric_facts
from gpu_fabric.plan.operators import operators, own_charts
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.releases import chart_namespace, tolerations
from gpu_fabric.plan.operators.sharing import marked, shared_cluster
from gpu_fabric.plan.other_pools import other_nodes
from gpu_fabric.plan.plan import Plan, PlannedCluster, PlannedFabric, PlannedPool, PlannedProfile
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.plan.steps import Context, Step, in_order
from gpu_fabric.plan.waves import waves
from gpu_fabric.plan.workload import plan_workload
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.not_asked_for import not_asked_for
from gpu_fabric.spec.oke import OkeClusterSpec

if TYPE_CHECKING:
    from gpu_fabric.plan.clouds.doks import DoksResources
    from gpu_fabric.plan.clouds.oke.resources import OkeResources


def build(case: Case) -> Plan:
    """The whole plan of a case, without findings: `prepare` runs the rules on it."""
    context = context_of(case)
    return _plan(case, context, _steps(context))


def build_all(whole: Case, cases: Sequence[Case]) -> Plan:
    """The plan of a stack with several fabrics, a case each; `conflicts` are why these cannot be of one stack.

    `whole` is the stack as if all its pools were in one fabric: what its cluster and its costs follow from.
    """
    alone = [context_of(case) for case in cases]
    contexts = with_joint_plugins(alone)
    joined = joined_steps([(context.case.fabric, _before_verification(context)) for context in contexts])
    before = in_order(joined.steps)
    others = (*before, *waves(contexts, before))
    runs = [run for context in contexts for run in concerns.verification(context, others)]
    plan = _plan(cases[0], alone[0], in_order((*others, *runs)))
    further = tuple(map(_further, cases[1:], alone[1:]))
    stack = {"cluster": _cluster(whole), "cost": plan_cost(whole), "fabrics": further, "conflicts": joined.conflicts}
    return plan.model_copy(update=stack)


def _plan(case: Case, context: Context, steps: tuple[Step, ...]) -> Plan:
    return Plan(
        stack=case.spec.name,
        release_line=case.line.name,
        choices=case.choices,
        cluster=_cluster(case),
        cost=plan_cost(case),
        bandwidth=plan_bandwidth(case),
        rails=context.rails,
        addresses=context.addresses,
        sriov_plugin=context.sriov_plugin,
        shared_plugin=context.shared_plugin,
        node_groups=context.node_groups,
        nccl=context.nccl,
        steps=steps,
        workload=context.contract,
        findings=(),
        acknowledgements=case.spec.guard.acknowledge,
        not_asked_for=not_asked_for(case.spec),
    )


def _further(case: Case, context: Context) -> PlannedFabric:
    return PlannedFabric(
        name=case.fabric,
        purpose=case.purpose,
        pools=tuple(pool.name for pool in case.spec.cluster.pools),
        choices=case.choices,
        bandwidth=plan_bandwidth(case),
        rails=context.rails,
        addresses=context.addresses,
        sriov_plugin=context.sriov_plugin,
        shared_plugin=context.shared_plugin,
        node_groups=context.node_groups,
        nccl=context.nccl,
        workload=context.contract,
    )


def _steps(context: Context) -> tuple[Step, ...]:
    """Every step, in this order where nothing else decides."""
    before = _before_verification(context)
    others = (*before, *waves((context,), before))
    return in_order((*others, *concerns.verification(context, others)))


def _before_verification(context: Context) -> tuple[Step, ...]:
    fabric = (
        concerns.on_nodes,
        concerns.pools,
        concerns.quotas,
        concerns.fabric_networks,
        concerns.nccl,
        concerns.monitoring,
        concerns.check,
        concerns.proofs,
        concerns.schedule,
    )
    sources = (concerns.node_labels, concerns.namespaces, *(operator.steps for operator in operators()))
    kept = {"retained": context.case.spec.software.keep_operators}
    own = (
        *(step.model_copy(update=kept) for source in sources for step in source(context)),
        *(step for source in fabric for step in source(context)),
    )
    return in_order(marked(context.case, (*shared_cluster(context, own), *own)))


def context_of(case: Case) -> Context:
    """What the steps of a case are made from; the rules about the spec hold already."""
    addresses = case.addresses
    assert isinstance(addresses, AddressPlan), "a case without addresses was refused"
    row = case.choices.row
    assert row is not None, "a pair that is not in the support matrix was refused"
    rails = plan_rails(case)
    groups = tuple(planned_nodes(case, group) for group in case.groups)
    configurations = {(group.sriov_plugin, group.shared_plugin) for group in groups}
    # One configuration serves all nodes, unless node groups have their NICs at other PCI addresses.
    virtual, shared = configurations.pop() if len(configurations) == 1 else (None, None)
    facts, wish = fabric_facts(case), case.spec.fabric.nccl.topology
    nccl = (
        no_nccl_files()
        if case.purpose == "storage"
        else plan_nccl_files(
            case.shape, case.known, devices=row.access, topology=wish, facts=facts, prefix=case.named("")
        )
    )
    offered = tuple(entry.name for entry in case.spec.fabric.namespaces)
    installed = [chart for chart in own_charts() if chart.is_installed(case)]
    rows = {chart_namespace(case, chart.name): case.line.charts[chart.name].privileged for chart in installed}
    own = [name for entry in operators() if (name := entry.namespace(case)) is not None]
    return Context(
        case=case,
        addresses=addresses,
        rails=rails,
        sriov_plugin=virtual,
        shared_plugin=shared,
        node_groups=groups if configurations else (),
        nccl=nccl,
        contract=plan_workload(case, rails, nccl, offered, tolerations(case)),
        charts=tuple(chart.name for chart in installed),
        namespaces={name: rows.get(name, False) for name in (*own, *rows)},
    )


def _cluster(case: Case) -> PlannedCluster:
    cluster = case.spec.cluster
    existing = cluster if isinstance(cluster, ExistingClusterSpec) else None
    return PlannedCluster(
        provider=cluster.provider,
        kubeconfig=existing.kubeconfig if existing else None,
        kubeconfig_secret=existing.kubeconfig_secret if existing else None,
        context=existing.context if existing else None,
        id=existing.id if existing else None,
        profile=_profile(case),
        pools=tuple(
            PlannedPool(
                name=pool.name,
                shape=pool.shape,
                nodes=pool.nodes,
                gpus=pool.nodes * shape.gpus.count,
                nics=pool.nodes * shape.rails,
            )
            for pool, shape in zip(cluster.pools, case.shapes, strict=True)
        ),
        other_pools=other_nodes(case),
        doks=_doks(case, cluster) if isinstance(cluster, DoksClusterSpec) else None,
        oke=_oke(case, cluster) if isinstance(cluster, OkeClusterSpec) else None,
    )


def _profile(case: Case) -> PlannedProfile | None:
    """The cloud of the stack's profile, with what of its software concerns the stack."""
    if (cloud := case.cloud) is None:
        return None
    unused = "nic-plugin" if case.spec.fabric.devices == "claims" else "dra-driver"
    meant = [entry for entry in cloud.software if entry.part != unused]
    own = {"gpu-plugin"} if GPU_OPERATOR.is_installed(case) else set()
    return PlannedProfile(
        name=cloud.name,
        title=cloud.title,
        networks=cloud.ip_why,
        links=cloud.links,
        has=tuple(entry.part for entry in meant if entry.has),
        lacks={entry.part: entry.how for entry in meant if not entry.has and entry.part not in own},
    )


# A cloud's module is imported only for stacks of that cloud.


def _doks(case: Case, cluster: DoksClusterSpec) -> DoksResources:
    from gpu_fabric.plan.clouds.doks import doks_resources

    return doks_resources(case, cluster)


def _oke(case: Case, cluster: OkeClusterSpec) -> OkeResources:
    from gpu_fabric.plan.clouds.oke.resources import oke_resources

    return oke_resources(case, cluster)
