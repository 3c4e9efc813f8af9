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

    Order: namespaces, GPU Operator, Network Operator, its policy, pools, networks, NCCL files. The Network Operator's
    chart needs only Node Feature Discovery and so is installed while the GPU operands still roll out; its policy
    waits for them, because the container toolkit restarts the runtime under every pod.
    """
    cluster = ExistingCluster("cluster", plan.cluster, root).handle
    provider = cluster.provider
    namespaces = Namespaces("namespaces", plan.namespaces, provider).resources
    gpu = GpuOperator("gpu-operator", plan.gpu_operator, plan.gpu_operator_ready, provider, namespaces)
    network = NetworkOperator(
        "network-operator",
        plan.network_operator,
        plan.policy,
        provider,
        after=(*namespaces, gpu.installed),
        policy_after=(gpu.ready,),
    )
    pools = IpPools("ip-pools", plan.ip_pools, provider, (network.policy,)).resources
    networks = FabricNetworks("networks", plan.networks, provider, (*namespaces, *pools)).resources
    NcclFiles("nccl", plan.nccl_config_maps, provider, (*namespaces, *networks))
    return stack_outputs(plan, cluster)
