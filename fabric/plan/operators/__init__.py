"""The operators: which charts come with which values, and the objects that tell them what to do."""

from fabric.plan.operators.gpu_operator import gpu_direct, gpu_operator, gpu_operator_ready
from fabric.plan.operators.kueue import kueue, kueue_queues, queue_quotas, topology_annotations, topology_levels
from fabric.plan.operators.mpi_operator import MPI_OPERATOR_NAMESPACE, brings_mpi_operator, mpi_operator
from fabric.plan.operators.multus import brings_multus, multus, multus_memory
from fabric.plan.operators.network_operator import needs_feature_discovery, network_operator, policy_ready
from fabric.plan.operators.ofed_driver import ofed_driver
from fabric.plan.operators.policy import nic_cluster_policy, nic_node_policy, rollouts
from fabric.plan.operators.releases import charts, namespace_of, operator_namespaces, tolerations, wanted_charts
from fabric.plan.operators.schedulers import Controller, job_controllers, job_queues, jobset, volcano, volcano_objects
from fabric.plan.operators.spiderpool import cleans_up, coordinator_patch, spiderpool
from fabric.plan.operators.sriov_operator import sriov_discovered, sriov_policies, sriov_synced
from fabric.plan.operators.whereabouts import whereabouts

__all__ = [
    "MPI_OPERATOR_NAMESPACE",
    "Controller",
    "brings_mpi_operator",
    "brings_multus",
    "charts",
    "cleans_up",
    "coordinator_patch",
    "gpu_direct",
    "gpu_operator",
    "gpu_operator_ready",
    "job_controllers",
    "job_queues",
    "jobset",
    "kueue",
    "kueue_queues",
    "mpi_operator",
    "multus",
    "multus_memory",
    "namespace_of",
    "needs_feature_discovery",
    "network_operator",
    "nic_cluster_policy",
    "nic_node_policy",
    "ofed_driver",
    "operator_namespaces",
    "policy_ready",
    "queue_quotas",
    "rollouts",
    "spiderpool",
    "sriov_discovered",
    "sriov_policies",
    "sriov_synced",
    "tolerations",
    "topology_annotations",
    "topology_levels",
    "volcano",
    "volcano_objects",
    "wanted_charts",
    "whereabouts",
]
