"""The order in which a stack comes up; its exact reverse is how it goes down."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from each_case import each
from program_lists import SCHEDULERS
from programs import STACKS, run_program, stack_config
from recording import Recording, Registration

NAMESPACE, CHART = "core/v1:Namespace", "helm.sh/v3:Release"
ON_NODES = "apps/v1:DaemonSet"
GPUS_READY = "nvidia.com/v1:ClusterPolicyPatch"
# The stack's own object, or the one of the chart that is waited for.
POLICY = ("v1alpha1:NicClusterPolicy", "v1alpha1:NicClusterPolicyPatch")
NODE_POLICY, ROLL_OUT = "v1alpha1:NicNodePolicy", "apps/v1:DaemonSetPatch"
SRIOV_POOL, SRIOV_POLICY = "v1:SriovNetworkPoolConfig", "v1:SriovNetworkNodePolicy"
# IPPool or CIDRPool, by the layout.
POOL = ("IPPool", "CIDRPool")
NETWORK = ("v1:NetworkAttachmentDefinition", "v1:SriovNetwork", "v1:SriovIBNetwork", "v2beta1:SpiderMultusConfig")
CHAIN: list[tuple[str | tuple[str, ...], str | tuple[str, ...]]] = [
    (NAMESPACE, CHART),
    (NAMESPACE, ON_NODES),
    (NAMESPACE, POOL),
    (NAMESPACE, NETWORK),
    (NAMESPACE, "core/v1:ConfigMap"),
    (GPUS_READY, ON_NODES),
    (GPUS_READY, POLICY),
    (POLICY, NODE_POLICY),
    (POLICY, ROLL_OUT),
    (POLICY, SRIOV_POOL),
    (SRIOV_POOL, SRIOV_POLICY),
    (POLICY, POOL),
    (CHART, NETWORK),
    (ON_NODES, NETWORK),
    (NODE_POLICY, NETWORK),
    (SRIOV_POLICY, NETWORK),
    (POOL, NETWORK),
]


@each(("earlier", "later"), CHAIN)
def test_every_resource_of_a_step_waits_for_every_resource_of_the_step_before(
    stack: Recording, earlier: str, later: str
) -> None:
    # The check of the rails and what proves nodes run there, too, and come last; the fabric needs no scheduler, and
    # neither drivers that hand out GPUs by claims nor AMD's operator for GPUs.
    apart = ("check", "readiness", "dra-driver-nvidia-gpu", "amd-gpu-operator", *SCHEDULERS)
    first, second = ([r for r in stack.of_type(kind) if r.parent not in apart] for kind in (earlier, later))
    missing = [(b.name, a.name) for b in second for a in first if not stack.comes_after(b.name, a.name)]
    assert missing == []


@each(("earlier", "later"), CHAIN)
def test_every_step_is_in_some_committed_stack(recorded: Callable[[str], Recording], earlier: str, later: str) -> None:
    assert any(recorded(name).of_type(earlier) and recorded(name).of_type(later) for name in STACKS)


def test_the_files_of_nccl_come_last_and_nothing_waits_for_itself(stack: Recording) -> None:
    files = [r for r in stack.of_type("core/v1:ConfigMap") if r.parent == "nccl"]
    missing = [(b.name, a.name) for b in files for a in stack.of_type(NETWORK) if not stack.comes_after(b.name, a.name)]
    # A cluster alone has no jobs.
    assert bool(files) == ("fabric" in stack.outputs)
    assert missing == []
    assert [resource.name for resource in stack.resources if stack.comes_after(resource.name, resource.name)] == []


def test_the_gpu_operators_readiness_is_only_looked_at_once_its_chart_is_there(on_existing: Recording) -> None:
    # NVIDIA's operator is no part of a stack of AMD machines, nor of one whose cluster has it.
    ready = ["gpu-operator-cluster-policy-ready"] * bool(on_existing.of_type(":GpuOperator"))
    assert [entry.name for entry in on_existing.of_type(GPUS_READY)] == ready
    assert all(on_existing.comes_after(name, "gpu-operator-gpu-operator") for name in ready)


# Single stacks, by their names and changes: what comes after what. A name is a resource's, one with a colon the end of
# a type, one with an @ a component's.

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "volcano": ("dev", {"software.schedulers": {"volcano": {"queue": "training"}}}),
    "functions by a DaemonSet": ("dev", {"fabric.virtualFunctions": "daemon-set"}),
    "node feature rules": ("dev", {"software.networkOperator": {"values": {"nfd": {"deployNodeFeatureRules": True}}}}),
    "GPU Operator on DOKS": ("doks-h200", {"cluster.plugins": {"gpu": "operator"}}),
    "everything of Spiderpool's": (
        "spiderpool-sriov",
        {
            "fabric.addressing.exclude": ["172.17.0.40"],
            "software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"},
            "software.spiderpool": {"coordinator": {"podCidrType": "none"}},
        },
    ),
    **{
        f"Kueue on {name}": (name, {"software.schedulers.kueue": {"queue": "fabric"}}) for name in ("kueue", "oke-h200")
    },
    "Kueue before a measurement": ("verification", {"software.schedulers.kueue": {"queue": "fabric"}}),
    "another queue": ("kueue", {"software.schedulers.kueue.queue": "night"}),
}


@pytest.fixture(scope="module")
def variant(kubeconfig: Path, recorded: Callable[[str], Recording]) -> Callable[[str], Recording]:
    """A committed stack, or one with changes."""

    @cache
    def registered(name: str) -> Recording:
        if name not in VARIANTS:
            return recorded(name)
        stack, changes = VARIANTS[name]
        config = stack_config(STACKS[stack], kubeconfig)
        for place, value in changes.items():
            section, *keys, last = place.split(".")
            inner: Any = config.setdefault(f"gpu-fabric:{section}", {})
            for key in keys:
                inner = inner.setdefault(key, {})
            inner[last] = value
        return run_program(stack, config)

    return registered


GPU_OPERATOR, NETWORK_OPERATOR = "gpu-operator-gpu-operator", "network-operator-network-operator"
MPI, KUEUE, QUEUE, LOCAL = "mpi-operator-mpi-operator-mpi-operator", "kueue-kueue", "kueue-fabric", ":LocalQueue"
RELEASE, DRAIN = "kueue-release", "kueue-drain-fabric"
FUNCTIONS = "virtual-functions-virtual-functions-nvidia-network-operator"
CLEANUP = "webhook-cleanup-sriov-operator-webhook-config"
SPIDERPOOL = (
    *("@namespaces", "@gpu-operator", "@ofed-driver", "@host-preparation", "@spiderpool"),
    *("@reserved-ips", "@node-pools", "@nic-addresses", "@networks", "@check"),
)
AFTER: dict[str, list[tuple[str, str]]] = {
    "kueue": [
        # Those whose jobs it holds back.
        (KUEUE, "jobset-jobset"),
        (KUEUE, "lws-lws"),
        (KUEUE, MPI),
        (":Topology", KUEUE),
        (":ResourceFlavor", ":Topology"),
        (QUEUE, ":ResourceFlavor"),
        (LOCAL, QUEUE),
        ("kueue-fabric-training", "namespaces-training"),
        # A destroy empties the queue, deletes it, and ends Kueue before its definitions go.
        (DRAIN, QUEUE),
        (DRAIN, LOCAL),
        (QUEUE, RELEASE),
        (RELEASE, KUEUE),
        (MPI, "mpi-operator-mpijobs.kubeflow.org"),
        (MPI, "namespaces-mpi-operator"),
    ],
    "another queue": [("kueue-drain-night", "kueue-night"), ("kueue-night", RELEASE)],
    "volcano": [("volcano-volcano", "namespaces-volcano-system"), ("volcano-training", "volcano-volcano")],
    "functions by a DaemonSet": [("nic-policies-nic-cluster-policy", FUNCTIONS)],
    "oke-guide": [
        (NETWORK_OPERATOR, "virtual-functions-virtual-functions-network-operator"),
        (NETWORK_OPERATOR, "gpu-operator-cluster-policy-ready"),
        ("nic-policies-nic-cluster-policy-ready", NETWORK_OPERATOR),
    ],
    # Nodes get their virtual functions while the pools are made.
    "everything of Spiderpool's": [
        *((later, earlier) for earlier, later in pairwise(SPIDERPOOL)),
        *(("@sriov", "@spiderpool"), ("@networks", "@sriov")),
    ],
    # Deleted after the operator's namespace.
    "sriov-operator": [("namespaces-nvidia-network-operator", CLEANUP)],
    "spiderpool-sriov": [("namespaces-spiderpool", CLEANUP)],
    "doks-h200": [
        (":NetworkAttachmentDefinition", ":DaemonSet"),
        (":NetworkAttachmentDefinition", ":CustomResourceDefinition"),
        (":DaemonSet", ":KubernetesNodePool"),
        (":KubernetesNodePool", ":KubernetesCluster"),
        (":KubernetesCluster", ":Vpc"),
    ],
    # The plug-in that keeps addresses is on the nodes before networks name it.
    "doks-b300": [("@cni-plugins", "cluster-pool-gpu"), (":NetworkAttachmentDefinition", "@cni-plugins")],
    "GPU Operator on DOKS": [("gpu-operator-cluster-policy-ready", "cluster-pool-gpu")],
    "oke-h100": [(":NetworkAttachmentDefinition", "cluster-pool-gpu"), ("cluster-kubernetes", "cluster-system-pool")],
}
NOT_AFTER: dict[str, list[tuple[str, str]]] = {
    "dev": [(NETWORK_OPERATOR, GPU_OPERATOR)],
    "volcano": [("volcano-volcano", GPU_OPERATOR), ("volcano-volcano", NETWORK_OPERATOR)],
    "functions by a DaemonSet": [(NETWORK_OPERATOR, FUNCTIONS)],
    # It needs its namespace alone.
    "whereabouts": [
        ("whereabouts-whereabouts", GPU_OPERATOR),
        ("whereabouts-whereabouts", "nic-policies-nic-cluster-policy"),
    ],
    # What needs no GPU node comes up while the nodes do.
    "doks-h200": [(":CustomResourceDefinition", "cluster-pool-gpu")],
    "GPU Operator on DOKS": [(GPU_OPERATOR, "cluster-pool-gpu")],
    "oke-h100": [(GPU_OPERATOR, "cluster-pool-gpu")],
}


def pairs(recording: Recording, later: str, earlier: str) -> Iterator[tuple[str, str]]:
    def named(place: str) -> list[Registration]:
        found = recording.of_type(place) if ":" in place else [recording[place]] if place[0] != "@" else []
        found = found or [entry for entry in recording.resources if entry.parent == place.removeprefix("@")]
        assert found, place
        return found

    return ((b.name, a.name) for b in named(later) for a in named(earlier))


@pytest.mark.parametrize("name", AFTER)
def test_what_needs_something_comes_after_it(variant: Callable[[str], Recording], name: str) -> None:
    recording = variant(name)
    wanted = [pair for row in AFTER[name] for pair in pairs(recording, *row)]
    assert [pair for pair in wanted if not recording.comes_after(*pair)] == []


@pytest.mark.parametrize("name", NOT_AFTER)
def test_what_needs_nothing_of_another_comes_up_beside_it(variant: Callable[[str], Recording], name: str) -> None:
    recording = variant(name)
    apart = [pair for row in NOT_AFTER[name] for pair in pairs(recording, *row)]
    assert [pair for pair in apart if recording.comes_after(*pair)] == []


def test_a_chart_with_a_node_feature_rule_waits_for_the_chart_that_brings_its_definition(
    variant: Callable[[str], Recording],
) -> None:
    assert variant("node feature rules").comes_after(NETWORK_OPERATOR, GPU_OPERATOR)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("Kueue")])
def test_kueue_comes_after_every_release_and_job_that_its_webhooks_would_refuse(
    variant: Callable[[str], Recording], name: str
) -> None:
    recording = variant(name)
    watched = (CHART, "apps/v1:Deployment", "v1:ClusterPolicyPatch", "v1alpha1:NicClusterPolicy")
    others = [entry.name for kind in watched for entry in recording.of_type(kind) if entry.name != KUEUE]

    assert len(others) > 2
    assert [other for other in others if not recording.comes_after(KUEUE, other)] == []
    # The stack's own jobs come once its webhooks answer.
    runs = [entry.name for entry in recording.resources if entry.parent == "verification"]
    assert [run for run in runs if not recording.comes_after(run, QUEUE)] == []


@pytest.mark.parametrize(
    ("name", "parts", "queue", "open_when"),
    [
        ("kueue", (KUEUE, "jobset-jobset", "lws-lws", MPI), QUEUE, "condition=Active"),
        ("volcano", ("volcano-volcano",), "volcano-training", "jsonpath={.status.state}=Open"),
    ],
)
def test_no_part_of_the_fabric_waits_for_a_scheduler_and_an_up_ends_when_its_queue_lets_jobs_in(
    variant: Callable[[str], Recording], name: str, parts: tuple[str, ...], queue: str, open_when: str
) -> None:
    recording = variant(name)
    others = [entry.name for entry in recording.resources if not entry.name.startswith((*SCHEDULERS, "mpi-operator"))]
    assert [other for other in others for part in parts if recording.comes_after(other, part)] == []
    assert open_when in recording[queue].inputs["metadata"]["annotations"]["pulumi.com/waitFor"]
    # What is only there for a thing of another name or operator is not.
    assert {DRAIN, CLEANUP} & {entry.name for entry in recording.resources} == ({DRAIN} if name == "kueue" else set())


@pytest.mark.parametrize("dry_run", [False, True])
def test_only_a_dry_runs_daemon_sets_are_not_waited_for(kubeconfig: Path, dry_run: bool) -> None:
    config = stack_config(STACKS["spiderpool-sriov"], kubeconfig)
    config["gpu-fabric:fabric"]["hostPreparation"]["dryRun"] = dry_run
    annotations = {
        (entry.parent, entry.inputs["metadata"].get("annotations", {}).get("pulumi.com/skipAwait"))
        for entry in run_program("spiderpool-sriov", config).of_type("apps/v1:DaemonSet")
    }

    skipped = "true" if dry_run else None
    assert annotations == {("host-preparation", skipped), ("nic-addresses", skipped), ("check", None)}
