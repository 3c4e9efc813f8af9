"""From a spec to its plan: a pure function, the same input gives the same bytes."""

from __future__ import annotations

from dataclasses import replace

from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import Namespace
from fabric.k8s.mellanox import NIC_LABEL
from fabric.plan import operators
from fabric.plan.addresses import AddressPlan
from fabric.plan.capacity import plan_capacity
from fabric.plan.case import Case, NodeGroup, case_of
from fabric.plan.clouds.doks import doks_resources
from fabric.plan.clouds.oke import oke_resources
from fabric.plan.cost import plan_cost
from fabric.plan.devices import shared_plugin_config, sriov_plugin_config
from fabric.plan.fabric_check import fabric_check
from fabric.plan.host import (
    address_table,
    address_tables,
    cni_plugins,
    host_preparation,
    nic_addresses,
    virtual_functions,
)
from fabric.plan.ipam import node_pools, pool_objects, reserved_objects
from fabric.plan.nccl_files import nccl_config_maps, plan_nccl_files
from fabric.plan.nccl_settings import fabric_facts
from fabric.plan.networks import networks
from fabric.plan.parts import of_part, part_plan
from fabric.plan.plan import Plan, PlannedCluster, PlannedNodes, PlannedPool
from fabric.plan.rails import group_rails, plan_rails
from fabric.plan.records import PlannedGroup, PlannedObject
from fabric.plan.verification import plan_verification
from fabric.plan.workload import plan_workload
from fabric.progress import UNHEARD, Progress
from fabric.rules import ConfigurationError, errors, findings
from fabric.spec import DoksCluster, ExistingCluster, OkeCluster, StackSpec


def build(spec: StackSpec, progress: Progress = UNHEARD) -> Plan:
    """The plan of a stack, held against every rule of the book.

    Raises:
        ConfigurationError: the spec is well-formed but cannot work; with every reason.
    """
    progress.step(f"planning the addresses of stack {spec.name}")
    case = case_of(spec)
    before = of_part(spec, findings(case, "spec"))
    if errors(before) or not isinstance(case.addresses, AddressPlan):
        raise ConfigurationError(errors(before), f"Pulumi.{spec.name}.yaml")
    progress.step(f"planning stack {spec.name}, {case.nodes:,} nodes")
    plan = _planned(case, case.addresses)
    plan = plan.model_copy(update={"verification": plan_verification(case, plan)})
    progress.step(f"checking the plan of stack {spec.name}")
    # Held against the rules whole: a part alone would break those about what goes together.
    after = of_part(spec, findings(replace(case, plan=plan), "plan"))
    if errors(after):
        raise ConfigurationError(errors(after), f"Pulumi.{spec.name}.yaml")
    return part_plan(case, plan).model_copy(update={"findings": (*before, *after)})


def _planned(case: Case, addresses: AddressPlan) -> Plan:
    """The plan without findings; the spec's own rules hold already."""
    spec, row = case.spec, case.choices.row
    assert row is not None, "a pair that is not in the support matrix was refused"
    rails = plan_rails(case)
    installed = operators.charts(case)
    groups = tuple(_nodes(case, group) for group in case.groups)
    configurations = {(group.sriov_plugin, group.shared_plugin) for group in groups}
    # One configuration serves all nodes, unless kinds of nodes have their NICs elsewhere.
    virtual, shared = configurations.pop() if len(configurations) == 1 else (None, None)
    nccl = plan_nccl_files(
        case.shape,
        case.known,
        devices=row.access,
        topology=spec.fabric.nccl.topology,
        facts=fabric_facts(case),
    )
    offered = tuple(entry.name for entry in spec.fabric.namespaces)
    tolerations = operators.tolerations(case)
    contract = plan_workload(case, rails, nccl, offered, tolerations)
    of_nodes = _node_pools(case, addresses)
    release = operators.network_operator(case, virtual, shared) if "network-operator" in installed else None
    by_stack = release is not None and case.line.policy_by == "stack"
    has_gpu_operator = "gpu-operator" in installed
    separate = groups if configurations else ()
    return Plan(
        stack=spec.name,
        release_line=case.line.name,
        choices=case.choices,
        cluster=_cluster(case),
        cost=plan_cost(case),
        rails=rails,
        addresses=addresses,
        sriov_plugin=virtual,
        shared_plugin=shared,
        node_groups=separate,
        nccl=nccl,
        namespaces=(*operators.operator_namespaces(case), *_created_namespaces(spec)),
        gpu_operator=operators.gpu_operator(case) if has_gpu_operator else None,
        gpu_operator_ready=operators.gpu_operator_ready(case.line) if has_gpu_operator else None,
        network_operator=release,
        network_operator_needs_nfd=release is not None and operators.needs_feature_discovery(release),
        whereabouts=operators.whereabouts(case) if "whereabouts" in installed else None,
        ofed_driver=operators.ofed_driver(case) if "ofed-driver" in installed else None,
        spiderpool=operators.spiderpool(case, shared) if "spiderpool" in installed else None,
        volcano=operators.volcano(case) if "volcano" in installed else None,
        volcano_objects=operators.volcano_objects(case) if "volcano" in installed else (),
        kueue=operators.kueue(case) if "kueue" in installed else None,
        kueue_queues=operators.kueue_queues(case, rails, contract.resources) if "kueue" in installed else None,
        jobset=operators.jobset(case) if "jobset" in installed else None,
        mpi_operator=operators.mpi_operator(case),
        coordinator=operators.coordinator_patch(case) if "spiderpool" in installed else None,
        multus=operators.multus(case),
        cni_plugins=cni_plugins(case),
        virtual_functions=virtual_functions(case),
        host_preparation=host_preparation(case),
        policy=operators.nic_cluster_policy(case, virtual, shared) if by_stack else None,
        policy_ready=operators.policy_ready() if release is not None and not by_stack else None,
        node_policies=tuple(
            operators.nic_node_policy(case, group, nodes.sriov_plugin, nodes.shared_plugin)
            for group, nodes in zip(case.groups, separate, strict=False)
        ),
        plugin_rollouts=operators.rollouts(case, virtual, shared) if release is not None else (),
        sriov_discovered=operators.sriov_discovered(case) if case.choices.by_sriov_operator else None,
        sriov_policies=operators.sriov_policies(case) if case.choices.by_sriov_operator else (),
        sriov_synced=operators.sriov_synced(case) if case.choices.by_sriov_operator else None,
        capacity=plan_capacity(case, rails),
        reserved_ips=reserved_objects(addresses),
        # nv-ipam gives every node of the cluster a share, CPU nodes too, unless it is told which nodes are meant; where
        # no label tells them, by the one that the operator itself selects nodes with its NICs by.
        ip_pools=pool_objects(addresses, operators.namespace_of(case), case.node_labels or {NIC_LABEL: "true"}),
        node_pools=of_nodes,
        nic_addresses=(
            # Where nodes have pools of their own the tables come with those.
            *(() if of_nodes else address_tables(case, addresses)),
            *nic_addresses(case, addresses),
        ),
        networks=networks(case, rails, addresses),
        nccl_config_maps=nccl_config_maps(nccl, offered),
        fabric_check=fabric_check(case, addresses, contract),
        workload=contract,
        findings=(),
        acknowledgements=spec.guard.acknowledge,
    )


def _nodes(case: Case, group: NodeGroup) -> PlannedNodes:
    """One kind of nodes, with what the Network Operator's policies say about its devices."""
    rails, row = group_rails(case, group), case.choices.row
    assert row is not None, "a pair that is not in the support matrix was refused"
    by_policy = case.choices.manager == "network-operator" and not case.choices.by_sriov_operator
    advertised = row.access == "shared" and any(rail.resource is not None for rail in rails)
    return PlannedNodes(
        name=group.name,
        shape=group.shape.name,
        labels=group.labels,
        rails=rails,
        sriov_plugin=sriov_plugin_config(case, group.shape, rails)
        if by_policy and row.access in ("virtual", "physical")
        else None,
        shared_plugin=shared_plugin_config(case, rails) if advertised else None,
    )


def _node_pools(case: Case, addresses: AddressPlan) -> tuple[PlannedGroup, ...]:
    """A group a rail with the pools of all nodes, and the addresses of their NICs; one node more is one entry more."""
    with_table = case.spec.fabric.host_preparation.addresses and bool(addresses.node_names)
    return tuple(
        PlannedGroup(
            name=f"rail-{pool.rails[0]:02d}",
            cut=f"{pool.space} /{pool.node_prefix_length}",
            objects=(*pools, *((address_table(case, addresses, pool),) if with_table else ())),
        )
        for pool, pools in node_pools(addresses)
    )


def _cluster(case: Case) -> PlannedCluster:
    cluster = case.spec.cluster
    existing = cluster if isinstance(cluster, ExistingCluster) else None
    return PlannedCluster(
        provider=cluster.provider,
        kubeconfig=existing.kubeconfig if existing else None,
        kubeconfig_secret=existing.kubeconfig_secret if existing else None,
        context=existing.context if existing else None,
        id=existing.id if existing else None,
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
        doks=doks_resources(case, cluster) if isinstance(cluster, DoksCluster) else None,
        oke=oke_resources(case, cluster) if isinstance(cluster, OkeCluster) else None,
    )


def _created_namespaces(spec: StackSpec) -> tuple[PlannedObject, ...]:
    # Jobs need IPC_LOCK, which the level `baseline` forbids.
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    return tuple(
        PlannedObject(object=Namespace(metadata=ObjectMeta(name=entry.name, labels=labels)))
        for entry in spec.fabric.namespaces
        if entry.create
    )
