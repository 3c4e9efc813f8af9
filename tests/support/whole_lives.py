"""Committed stacks that a sandbox test brings up whole, and what of a plan the engine then has on record."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedGroup, PlannedReadiness, PlannedRollout

# Each with the resource of its first rail, and how many of it every node offers.
MODELS = {
    "roce-macvlan": ("rdma/rail_00", 4),
    "sriov-operator": ("nvidia.com/rail_00", 8),
    "sriov-dpdk": ("nvidia.com/rail_00", 8),
    "sriov-flat": ("nvidia.com/sriov_rdma_vf", 16),
    "host-device": ("nvidia.com/rail_00", 1),
    "ib-sriov": ("nvidia.com/rail_00", 1),
    "ib-sriov-pkey": ("nvidia.com/rail_00", 1),
    "ipoib": ("rdma/rail_00", 4),
    "externally-managed": ("nvidia.com/rail_00", 1),
    "node-kinds": ("nvidia.com/rail_00", 1),
    "whereabouts": ("rdma/rail_00", 4),
    "mi300x-host-device": ("nvidia.com/rail_00", 1),
    "mi355x-pollara": ("amd.com/nic", 8),
    "planes-swplb": ("nvidia.com/rail0p0", 1),
    "spiderpool-macvlan": ("spidernet.io/shared_cx5_gpu1", 100),
    "spiderpool-sriov": ("spidernet.io/rail_00", 12),
    "mi300x-macvlan": ("spidernet.io/rail_00", 1),
    "mi300x-sriov": ("spidernet.io/rail_00", 1),
}
# Definitions of the folders crds/ of the operators' charts, which Helm never deletes; they hold no object.
LEFT_BY_HELM = {
    "clusterpolicies.nvidia.com",
    "computedomaincliques.resource.nvidia.com",
    "computedomains.resource.nvidia.com",
    "network-attachment-definitions.k8s.cni.cncf.io",
    "nicclusterpolicies.mellanox.com",
    "nicnodepolicies.mellanox.com",
    "nodefeaturerules.nfd.k8s-sigs.io",
}
# Brought up as the models are, without networks.
HOST_NETWORK = "host-network"


class Life(NamedTuple):
    """A test below tests/sandbox that brings up each stack that it names, and schedules a job by its contract.

    `again` is whether a second `up` must change nothing, `gone` whether nothing may be left after `destroy`.
    """

    test: str
    again: bool = True
    gone: bool = True


LIVES = (
    Life("test_main_job.py"),
    Life("test_models.py::test_a_model_comes_up_runs_a_job_stays_as_it_is_and_goes"),
    Life("test_models.py::test_a_stack_on_the_hosts_network_brings_no_networks_and_runs_a_job"),
    Life("test_oke_stacks.py"),
    Life("test_doks_stacks.py::test_a_set_of_pods_takes_both_h200_nodes_with_all_their_nics"),
    Life("test_doks_stacks.py::test_other_multi_node_sizes_come_up_take_a_set_of_pods_and_go"),
    Life("test_old_release_line.py"),
    Life("test_spiderpool_modes.py"),
    Life("test_several_fabrics.py"),
    Life("test_existing_operators.py"),
    Life("test_domains.py"),
    Life("test_cloud_clusters.py"),
    Life("test_claims.py::test_each_size_fits_as_often_as_the_shape_says_and_the_stack_stays_as_it_is_and_goes"),
)
"""What docs/fabrics.md says of lives and jobs: a test of each fabric that one shows."""


def assert_just_what_is_planned(resources: Iterable[dict[str, Any]], plan: Plan) -> None:
    """The engine makes the plan's objects, releases, waits and groups in the cluster, and nothing else there.

    `resources` are those of a state, or the new ones of a preview's steps.
    """
    made = list(resources)
    names = {
        entry["inputs"].get("name") or entry["inputs"]["metadata"]["name"]
        for entry in made
        if "kubernetes:" in entry["type"] and not entry["type"].startswith("pulumi:providers")
    }
    assert names == planned_names(plan)
    groups = [entry["inputs"]["objects"] for entry in made if entry["type"].endswith(":KeptObjects")]
    planned = [group.manifests for group in plan.records(PlannedGroup, "node-pools")]
    assert sorted(groups, key=str) == sorted(planned, key=str)


def planned_names(plan: Plan) -> set[str]:
    """Names under which the cluster knows what the plan makes, waits for and rolls."""
    waited = (plan.record(PlannedReadiness, "gpu-operator-ready"), plan.record(PlannedReadiness, "nic-policies"))
    grouped = [entry for group in plan.records(PlannedGroup, "node-pools") for entry in group.objects]
    return {
        *(release.name for release in plan.releases),
        *(entry.name for entry in plan.objects if entry not in grouped),
        *(readiness.name for readiness in waited if readiness is not None),
        *(rollout.daemon_set for rollout in plan.records(PlannedRollout)),
    }
