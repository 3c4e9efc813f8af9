"""A platform stack: operators and the fabric, on a cluster that another stack has made."""

from __future__ import annotations

from typing import Any

import pulumi

from components.cluster.handle import ClusterHandle
from components.cluster.referenced import ReferencedCluster
from components.namespaces import Namespaces
from components.operators.gpu_operator import GpuOperator
from components.operators.multus import Multus
from components.operators.network_operator import NetworkOperator, NicPolicies
from components.operators.ofed_driver import OfedDriver
from components.operators.schedulers import JobSet, Kueue, MpiOperator, Volcano
from components.operators.spiderpool import Spiderpool
from components.operators.sriov import SriovPolicies
from components.operators.whereabouts import Whereabouts
from components.rdma.capacity import when_offered
from components.rdma.check import FabricCheck
from components.rdma.host_preparation import CniPlugins, HostPreparation, HostVirtualFunctions, NicAddresses
from components.rdma.ip_pools import IpPools, NodePools, ReservedIps
from components.rdma.nccl import NcclFiles
from components.rdma.networks import FabricNetworks
from components.rdma.verification import Verification
from components.resources import After
from fabric.plan import HelmRelease, Plan
from stacks.outputs import StackOutputs, platform_outputs


def platform(plan: Plan) -> StackOutputs:
    """Register what lies on the cluster of another stack.

    Raises:
        pulumi.RunError: that stack has not made the cluster that this plan is for; before anything is registered.
    """
    assert plan.split is not None, "a plan of a platform says whose cluster it lies on"
    referenced = ReferencedCluster("cluster", plan.split)
    return platform_outputs(plan, on_cluster(plan, referenced.handle), referenced.cluster_id)


def on_cluster(plan: Plan, cluster: ClusterHandle) -> pulumi.Output[dict[str, Any]] | None:
    """Register every resource that lies on a cluster; gives the outcome of its verification, where there is one.

    Order: namespaces, GPU Operator, what the nodes need, the manager and its policies, pools, the hosts' addresses,
    networks, NCCL files, the check of the rails, the verification. What needs no GPU node comes up while those are
    made.
    """
    provider = cluster.provider
    namespaces = Namespaces("namespaces", plan.namespaces, provider).resources
    gpu = (
        GpuOperator("gpu-operator", plan.gpu_operator, plan.gpu_operator_ready, provider, namespaces, cluster.nodes)
        if plan.gpu_operator is not None and plan.gpu_operator_ready is not None
        else None
    )
    fabric = _fabric(plan, cluster, namespaces, gpu)
    files = NcclFiles("nccl", plan.nccl_config_maps, provider, (*namespaces, *fabric)).resources
    before_jobs: After = (*files, *_schedulers(plan, cluster, namespaces))
    if plan.fabric_check:
        check = FabricCheck("check", plan.fabric_check, provider, (*namespaces, *fabric))
        before_jobs = (*before_jobs, *check.resources)
    if plan.verification is None:
        return None
    measured = Verification("verification", plan.verification, cluster, (*namespaces, *fabric, *before_jobs))
    return measured.outcome


def _schedulers(plan: Plan, cluster: ClusterHandle, namespaces: After) -> After:
    """Schedulers and controllers of jobs, at the same time as the operators: nothing of the fabric needs them.

    Gives what the stack's own jobs come after.
    """
    provider = cluster.provider
    volcano: After = ()
    if plan.volcano is not None:
        volcano = Volcano("volcano", plan.volcano, plan.volcano_objects, provider, namespaces).ready
    controllers = namespaces
    if plan.jobset is not None:
        controllers = (*controllers, JobSet("jobset", plan.jobset, provider, namespaces).installed)
    if plan.mpi_operator:
        controllers = (*controllers, *MpiOperator("mpi-operator", plan.mpi_operator, provider, namespaces).ready)
    if plan.kueue is not None and plan.kueue_queues is not None:
        Kueue("kueue", plan.kueue, plan.kueue_queues, cluster, controllers)
    return (*volcano, *controllers)


def _fabric(plan: Plan, cluster: ClusterHandle, namespaces: After, gpu: GpuOperator | None) -> After:
    """The manager and everything that its networks need; gives the networks, or what jobs need without any."""
    provider = cluster.provider
    labelled: After = (*namespaces, *cluster.nodes, *(() if gpu is None else (gpu.installed, gpu.ready)))
    functions: After = ()
    if plan.network_operator is not None:
        functions = ready = _network_operator(plan, plan.network_operator, cluster, namespaces, gpu)
    elif plan.spiderpool is not None:
        ready = _spiderpool(plan, plan.spiderpool, cluster, labelled)
        # Pools need the IPAM only, and are made while nodes get their virtual functions.
        functions = _sriov(plan, cluster, (*labelled, *ready))
    elif plan.networks:
        ready = _on_nodes(plan, provider, labelled)
        if plan.multus:
            ready = (*ready, *Multus("multus", plan.multus, provider, namespaces, cluster.nodes).ready)
    else:
        return (*namespaces, *cluster.nodes, *_host_preparation(plan, provider, labelled))
    if plan.reserved_ips:
        ready = (*ready, *ReservedIps("reserved-ips", plan.reserved_ips, provider, ready).resources)
    pools: After = IpPools("ip-pools", plan.ip_pools, provider, ready).resources if plan.ip_pools else ()
    if plan.node_pools:
        pools = NodePools("node-pools", plan.node_pools, cluster, ready).resources
    if plan.nic_addresses:
        addressed = NicAddresses("nic-addresses", plan.nic_addresses, provider, (*labelled, *ready, *pools)).resources
        pools = (*pools, *addressed)
    plugins: After = (
        CniPlugins("cni-plugins", plan.cni_plugins, provider, labelled).resources if plan.cni_plugins else ()
    )
    if plan.whereabouts is not None:
        plugins = (*plugins, Whereabouts("whereabouts", plan.whereabouts, provider, namespaces).installed)
    offered = () if plan.capacity is None else when_offered(plan.capacity, cluster)
    before_networks = (*namespaces, *ready, *functions, *pools, *plugins, *offered)
    return FabricNetworks("networks", plan.networks, provider, before_networks).resources


def _network_operator(
    plan: Plan, chart: HelmRelease, cluster: ClusterHandle, namespaces: After, gpu: GpuOperator | None
) -> After:
    """The Network Operator with its policies; gives what pools and networks come after.

    The policy waits for the GPU operands, because it needs their node labels and because the container toolkit restarts
    the runtime under every pod. The chart needs neither and is installed at the same time as the GPU Operator's, unless
    it holds a NodeFeatureRule (docs/decisions/0002). Without a GPU Operator it is this chart that has nodes labelled.
    """
    provider = cluster.provider
    installed: After = namespaces if gpu is None else (*namespaces, gpu.installed)
    if plan.policy_ready is None:
        before = installed if plan.network_operator_needs_nfd else namespaces
        operator = NetworkOperator("network-operator", chart, provider, before).installed
        # A DaemonSet whose nodes carry no labels yet counts as ready, with no pod anywhere.
        labelled: After = (*namespaces, operator if gpu is None else gpu.ready)
        prepared = _on_nodes(plan, provider, labelled)
    else:
        # This chart makes the policy, so its operands start with it.
        labelled = installed if gpu is None else (*installed, gpu.ready)
        prepared = _on_nodes(plan, provider, labelled)
        operator = NetworkOperator("network-operator", chart, provider, (*labelled, *prepared)).installed
    policies: After = (operator, *NicPolicies("nic-policies", plan, provider, (*labelled, operator, *prepared)).ready)
    return _sriov(plan, cluster, (*labelled, *policies)) or policies


def _spiderpool(plan: Plan, chart: HelmRelease, cluster: ClusterHandle, labelled: After) -> After:
    """Spiderpool on prepared nodes; gives what pools come after.

    Its device plug-ins look for NICs when they start, so drivers, RDMA mode and link layer come first.
    """
    provider = cluster.provider
    before = labelled
    if plan.ofed_driver is not None:
        before = (*before, OfedDriver("ofed-driver", plan.ofed_driver, provider, before).installed)
    before = (*before, *_on_nodes(plan, provider, before))
    return Spiderpool("spiderpool", chart, plan.coordinator, provider, before).ready


def _sriov(plan: Plan, cluster: ClusterHandle, after: After) -> After:
    """The SR-IOV operator's policies, known once all nodes have their functions; empty without that operator."""
    if plan.sriov_synced is None:
        return ()
    return SriovPolicies("sriov", plan.sriov_policies, plan.sriov_discovered, plan.sriov_synced, cluster, after).ready


def _on_nodes(plan: Plan, provider: pulumi.ProviderResource, labelled: After) -> After:
    """What the stack sets up on the nodes itself, before device plug-ins look at them."""
    prepared = _host_preparation(plan, provider, labelled)
    if not plan.virtual_functions:
        return prepared
    after = (*labelled, *prepared)
    functions = HostVirtualFunctions("virtual-functions", plan.virtual_functions, provider, after).resources
    return (*prepared, *functions)


def _host_preparation(plan: Plan, provider: pulumi.ProviderResource, labelled: After) -> After:
    if not plan.host_preparation:
        return ()
    return HostPreparation("host-preparation", plan.host_preparation, provider, labelled).resources
