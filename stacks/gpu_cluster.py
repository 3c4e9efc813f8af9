"""All in one stack: the cluster, its operators, and the fabric."""

from __future__ import annotations

from pathlib import Path

from components.cluster.existing import ExistingCluster
from components.namespaces import Namespaces
from components.operators.gpu_operator import GpuOperator
from components.operators.network_operator import NetworkOperator
from components.rdma.ip_pools import IpPools
from components.rdma.nccl import NcclFiles
from components.rdma.networks import FabricNetworks
from fabric.plan import Plan
from stacks.outputs import StackOutputs, stack_outputs


def gpu_cluster(plan: Plan, root: Path) -> StackOutputs:
    """Register every resource of the plan; `root` is the project's folder.

    Order: namespaces, GPU Operator, the Network Operator's policy, pools, networks, NCCL files. The policy waits for
    the GPU operands, because it needs their node labels and because the container toolkit restarts the runtime under
    every pod. The Network Operator's chart needs neither and is installed at the same time as the GPU Operator's,
    unless it holds a NodeFeatureRule (docs/decisions/0002).
    """
    cluster = ExistingCluster("cluster", plan.cluster, root).handle
    provider = cluster.provider
    namespaces = Namespaces("namespaces", plan.namespaces, provider).resources
    gpu = (
        GpuOperator("gpu-operator", plan.gpu_operator, plan.gpu_operator_ready, provider, namespaces)
        if plan.gpu_operator is not None and plan.gpu_operator_ready is not None
        else None
    )
    if plan.network_operator is None or plan.policy is None:
        raise ValueError("this version brings up stacks of the Network Operator only; fabric.prepare refuses others")
    network = NetworkOperator(
        "network-operator",
        plan.network_operator,
        plan.policy,
        provider,
        after=(*namespaces, gpu.installed) if gpu is not None and plan.network_operator_needs_nfd else namespaces,
        policy_after=() if gpu is None else (gpu.ready,),
    )
    pools = IpPools("ip-pools", plan.ip_pools, provider, (network.policy,)).resources
    networks = FabricNetworks("networks", plan.networks, provider, (*namespaces, *pools)).resources
    NcclFiles("nccl", plan.nccl_config_maps, provider, (*namespaces, *networks))
    return stack_outputs(plan, cluster)
