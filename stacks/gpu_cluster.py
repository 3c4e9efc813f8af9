"""All in one stack: the cluster, its operators, and the fabric."""

from __future__ import annotations

from pathlib import Path

import pulumi

from components.cluster.existing import ExistingCluster
from components.cluster.handle import ClusterHandle
from components.namespaces import Namespaces
from components.operators.gpu_operator import GpuOperator
from components.operators.network_operator import NetworkOperator, NicPolicies
from components.operators.sriov import SriovPolicies
from components.operators.whereabouts import Whereabouts
from components.rdma.host_preparation import CniPlugins, HostVirtualFunctions
from components.rdma.ip_pools import IpPools
from components.rdma.nccl import NcclFiles
from components.rdma.networks import FabricNetworks
from components.resources import After
from fabric.plan import HelmRelease, Plan
from stacks.outputs import StackOutputs, stack_outputs


def gpu_cluster(plan: Plan, root: Path) -> StackOutputs:
    """Register every resource of the plan; `root` is the project's folder.

    Order: namespaces, GPU Operator, what the nodes need, the Network Operator's policies, pools, networks, NCCL files.
    """
    cluster = ExistingCluster("cluster", plan.cluster, root).handle
    provider = cluster.provider
    namespaces = Namespaces("namespaces", plan.namespaces, provider).resources
    gpu = (
        GpuOperator("gpu-operator", plan.gpu_operator, plan.gpu_operator_ready, provider, namespaces)
        if plan.gpu_operator is not None and plan.gpu_operator_ready is not None
        else None
    )
    fabric = (
        namespaces if plan.network_operator is None else _fabric(plan, plan.network_operator, cluster, namespaces, gpu)
    )
    NcclFiles("nccl", plan.nccl_config_maps, provider, (*namespaces, *fabric))
    return stack_outputs(plan, cluster)


def _fabric(
    plan: Plan, chart: HelmRelease, cluster: ClusterHandle, namespaces: After, gpu: GpuOperator | None
) -> After:
    """The Network Operator and everything that its networks need; gives the networks.

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
        functions = _virtual_functions(plan, provider, labelled)
    else:
        # This chart makes the policy, so its operands start with it.
        labelled = installed if gpu is None else (*installed, gpu.ready)
        functions = _virtual_functions(plan, provider, labelled)
        operator = NetworkOperator("network-operator", chart, provider, (*labelled, *functions)).installed
    policies: After = (operator, *NicPolicies("nic-policies", plan, provider, (*labelled, operator, *functions)).ready)
    if plan.sriov_synced is not None:
        policies = SriovPolicies("sriov", plan.sriov_policies, plan.sriov_synced, cluster, (*labelled, *policies)).ready
    pools = IpPools("ip-pools", plan.ip_pools, provider, policies).resources if plan.ip_pools else ()
    plugins: After = (
        CniPlugins("cni-plugins", plan.cni_plugins, provider, labelled).resources if plan.cni_plugins else ()
    )
    if plan.whereabouts is not None:
        plugins = (*plugins, Whereabouts("whereabouts", plan.whereabouts, provider, namespaces).installed)
    before_networks = (*namespaces, *policies, *pools, *plugins)
    return FabricNetworks("networks", plan.networks, provider, before_networks).resources


def _virtual_functions(plan: Plan, provider: pulumi.ProviderResource, labelled: After) -> After:
    """The functions that the stack makes itself, before device plug-ins look for them."""
    if not plan.virtual_functions:
        return ()
    return HostVirtualFunctions("virtual-functions", plan.virtual_functions, provider, labelled).resources
