"""From a spec to its plan: a pure function, the same input gives the same bytes."""

from __future__ import annotations

from dataclasses import replace

from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import Namespace
from fabric.k8s.mellanox import NIC_LABEL
from fabric.plan import operators
from fabric.plan.addresses import AddressPlan
from fabric.plan.case import Case, case_of
from fabric.plan.devices import shared_plugin_config, sriov_plugin_config
from fabric.plan.ipam import pool_objects
from fabric.plan.nccl_files import nccl_config_maps, plan_nccl_files
from fabric.plan.networks import networks
from fabric.plan.plan import Plan, PlannedCluster, PlannedPool
from fabric.plan.rails import plan_rails
from fabric.plan.records import PlannedObject
from fabric.plan.workload import plan_workload
from fabric.rules import ConfigurationError, errors, findings
from fabric.spec import ExistingCluster, StackSpec


def build(spec: StackSpec) -> Plan:
    """The plan of a stack, held against every rule of the book.

    Raises:
        ConfigurationError: the spec is well-formed but cannot work; with every reason.
    """
    case = case_of(spec)
    before = findings(case, "spec")
    if errors(before) or not isinstance(case.addresses, AddressPlan):
        raise ConfigurationError(errors(before), f"Pulumi.{spec.name}.yaml")
    plan = _planned(case, case.addresses)
    after = findings(replace(case, plan=plan), "plan")
    if errors(after):
        raise ConfigurationError(errors(after), f"Pulumi.{spec.name}.yaml")
    return plan.model_copy(update={"findings": (*before, *after)})


def _planned(case: Case, addresses: AddressPlan) -> Plan:
    """The plan without findings; the spec's own rules hold already."""
    spec, row = case.spec, case.choices.row
    assert row is not None, "a pair that is not in the support matrix was refused"
    rails = plan_rails(case)
    installed = operators.charts(case)
    by_policy = case.choices.manager == "network-operator" and row.access in ("virtual", "physical")
    virtual = sriov_plugin_config(case, rails) if by_policy else None
    advertised = row.access == "shared" and any(rail.resource is not None for rail in rails)
    shared = shared_plugin_config(case, rails) if advertised else None
    nccl = plan_nccl_files(case.shape, case.known, devices=row.access)
    offered = tuple(entry.name for entry in spec.fabric.namespaces)
    release = operators.network_operator(case) if "network-operator" in installed else None
    has_gpu_operator = "gpu-operator" in installed
    return Plan(
        stack=spec.name,
        release_line=case.line.name,
        choices=case.choices,
        cluster=_cluster(case),
        rails=rails,
        addresses=addresses,
        sriov_plugin=virtual,
        shared_plugin=shared,
        nccl=nccl,
        namespaces=(*operators.operator_namespaces(case), *_created_namespaces(spec)),
        gpu_operator=operators.gpu_operator(case) if has_gpu_operator else None,
        gpu_operator_ready=operators.gpu_operator_ready(case.line) if has_gpu_operator else None,
        network_operator=release,
        network_operator_needs_nfd=release is not None and operators.needs_feature_discovery(release),
        spiderpool=operators.spiderpool(case, shared) if "spiderpool" in installed else None,
        policy=None if release is None else operators.nic_cluster_policy(case, virtual, shared),
        # nv-ipam gives every node of the cluster a share, CPU nodes too, unless it is told which nodes are meant; where
        # no label tells them, by the one that the operator itself selects nodes with its NICs by.
        ip_pools=pool_objects(
            addresses, case.line.charts["network-operator"].namespace, case.node_labels or {NIC_LABEL: "true"}
        ),
        networks=networks(case, rails, addresses),
        nccl_config_maps=nccl_config_maps(nccl, offered),
        workload=plan_workload(case, rails, nccl, offered, operators.tolerations(case)),
        findings=(),
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
    )


def _created_namespaces(spec: StackSpec) -> tuple[PlannedObject, ...]:
    # Jobs need IPC_LOCK, which the level `baseline` forbids.
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    return tuple(
        PlannedObject(object=Namespace(metadata=ObjectMeta(name=entry.name, labels=labels)))
        for entry in spec.fabric.namespaces
        if entry.create
    )
