"""What each resource is told: provider, parent, names, waits, secrets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import API_TOKEN, ROOT, STACKS, run_program, stack_config
from recording import MINTED, Recording
from stub_cluster import KUBECONFIG, TOKEN

from gpu_fabric.changes.footprint import unpack
from gpu_fabric.plan.records import PlannedRollout
from gpu_fabric.prepare import prepare_stack
from gpu_fabric.spec.kubeconfig import cluster_identity

pytestmark = pytest.mark.components


def test_every_kubernetes_resource_uses_the_clusters_own_provider(stack: Recording) -> None:
    strangers = {r.name: r.provider for r in stack.resources if r.type.startswith("kubernetes:")}
    # A cluster alone has nothing on it.
    assert set(strangers.values()) == ({"cluster-kubernetes"} if "fabric" in stack.outputs else set())


def test_the_provider_is_identified_by_the_cluster_and_not_by_a_constant(on_existing: Recording) -> None:
    assert on_existing["cluster-kubernetes"].inputs["clusterIdentifier"] == cluster_identity(KUBECONFIG, None)


def test_every_child_is_parented_and_carries_its_components_name(stack: Recording) -> None:
    components = {r.name for r in stack.resources if not r.custom}
    orphans = [r.name for r in stack.resources if r.custom and r.parent not in components]
    misnamed = [r.name for r in stack.resources if r.custom and not r.name.startswith(f"{r.parent}-")]
    assert (orphans, misnamed) == ([], [])


def test_releases_have_a_time_limit_and_a_bounded_history(on_existing: Recording) -> None:
    releases = on_existing.of_type("helm.sh/v3:Release")
    # Where the cluster has the operators there is none.
    assert bool(releases) == any(map(on_existing.of_type, ("GpuOperator", "NetworkOperator", "Spiderpool")))
    for release in releases:
        assert release.delete_before_replace
        assert release.inputs["timeout"] >= 600
        assert release.inputs["maxHistory"] == 5
        assert release.inputs["resetValues"] is True
        assert release.inputs["createNamespace"] is False
        assert release.inputs["skipAwait"] is False


@pytest.mark.parametrize(
    ("mirror", "chart", "repository"),
    [
        ("https://charts.example.com/nvidia", "gpu-operator", {"repo": "https://charts.example.com/nvidia"}),
        ("oci://registry.example.com/charts", "oci://registry.example.com/charts/gpu-operator", None),
    ],
)
def test_a_mirror_takes_the_place_of_the_vendors_repository(
    kubeconfig: Path, mirror: str, chart: str, repository: dict[str, str] | None
) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    config["gpu-fabric:software"]["charts"] = mirror
    inputs = run_program("dev", config)["gpu-operator-gpu-operator"].inputs
    assert (inputs["chart"], inputs.get("repositoryOpts")) == (chart, repository)


def test_what_gates_later_work_carries_a_condition_and_a_time_limit(on_existing: Recording) -> None:
    gates = on_existing.of_type(("ClusterPolicyPatch", "v1alpha1:NicClusterPolicy", "v1alpha1:NicNodePolicy"))
    operators = {"GpuOperator": "cluster-policy", "NetworkOperator": "nic-cluster-policy"}
    expected = {policy for operator, policy in operators.items() if on_existing.of_type(operator)}
    assert {gate.inputs["metadata"]["name"] for gate in gates} >= expected
    for gate in gates:
        annotations = gate.inputs["metadata"]["annotations"]
        own, *ready = json.loads(annotations["pulumi.com/waitFor"])
        reason = ['jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Reconciled']
        of_gpus = gate.inputs["metadata"]["name"] == "cluster-policy"
        assert ready == ["jsonpath={.status.state}=ready", *(reason if of_gpus else ())]
        # Without it the plug-in may take the state of the object before its own change for that after it.
        assert own == f"jsonpath={{.metadata.annotations['gpu-fabric/awaited']}}={annotations['gpu-fabric/awaited']}"
        assert int(annotations["pulumi.com/timeoutSeconds"]) >= 600


def test_a_device_plug_in_is_told_its_configuration_and_nothing_else(recorded: Callable[[str], Recording]) -> None:
    (patch,) = recorded("oke-h100").of_type("apps/v1:DaemonSetPatch")
    (rollout,) = prepare_stack("oke-h100", ROOT).records(PlannedRollout)
    metadata = patch.inputs["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("sriov-device-plugin", rollout.namespace)
    assert set(metadata) == {"name", "namespace", "annotations"}
    ((key, value),) = rollout.annotations.items()
    taken_up = json.loads(metadata["annotations"]["pulumi.com/waitFor"])
    assert taken_up == [f"jsonpath={{.spec.template.metadata.annotations['{key}']}}={value}"]
    assert {name.partition("/")[0] for name in metadata["annotations"]} == {"pulumi.com"}
    assert patch.inputs["spec"] == {"template": {"metadata": {"annotations": rollout.annotations}}}


def test_operator_namespaces_let_privileged_pods_in(stack: Recording) -> None:
    # Nothing of schedulers and controllers of jobs runs on the nodes themselves.
    apart = {"volcano-system", "jobset-system", "lws-system", "kueue-system", "mpi-operator"}
    for namespace in (entry.inputs["metadata"] for entry in stack.of_type("core/v1:Namespace")):
        enforced = namespace.get("labels", {}).get("pod-security.kubernetes.io/enforce")
        assert enforced == ("baseline" if namespace["name"] in apart else "privileged")


def test_the_kubeconfig_is_secret_on_its_way_in_and_out_and_shows_nowhere_else(stack: Recording) -> None:
    assert "kubeconfig" in stack["cluster-kubernetes"].secrets
    assert stack.secret_outputs == {"kubeconfig"} & stack.outputs.keys()
    inputs = [(key, value) for r in stack.resources for key, value in r.inputs.items() if key not in r.secrets]
    outputs = {name: value for name, value in stack.outputs.items() if name != "kubeconfig"}
    shown = json.dumps([inputs, outputs], default=str)
    assert [token for token in (TOKEN, API_TOKEN, MINTED) if token in shown] == []


def test_a_stack_has_exactly_these_outputs(stack: Recording) -> None:
    of_cluster, of_platform = {"clusterId", "kubeconfig"}, {"fabric", "addressPlan"}
    # Those of one part are held by the tests of split stacks.
    whole, cluster = of_cluster | of_platform, of_cluster | {"cluster"}
    assert "applied" in stack.outputs
    further = {"access", "verification", "applied", "fabrics", "addressPlans", "otherPools"}
    assert set(stack.outputs) - further in (whole, cluster, of_platform)
    if (contracts := stack.outputs.get("fabrics")) is not None:
        # Programs that read the one contract of a stack go on with the first fabric's.
        assert contracts["main"] == stack.outputs["fabric"]
        assert {contract.get("fabric", "main") for contract in contracts.values()} == contracts.keys() > {"main"}
        plans = {name: unpack(text) for name, text in stack.outputs["addressPlans"].items()}
        assert plans["main"] == unpack(stack.outputs["addressPlan"])
        assert len({plan["supernet"] for plan in plans.values()}) == len(contracts)


def test_the_number_of_resources_does_not_depend_on_the_number_of_nodes(dev: Recording, kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    config["gpu-fabric:cluster"]["pools"][0]["nodes"] = 512  # type: ignore[index]
    assert len(run_program("dev", config).resources) == len(dev.resources)


def test_a_namespace_that_exists_already_is_not_taken_over(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    config["gpu-fabric:fabric"]["namespaces"] = ["theirs", {"name": "ours", "create": True}]
    recording = run_program("dev", config)
    created = {r.inputs["metadata"]["name"] for r in recording.of_type("core/v1:Namespace")}
    attached = {r.inputs["metadata"]["namespace"] for r in recording.of_type("v1:NetworkAttachmentDefinition")}
    assert created == {"gpu-operator", "nvidia-network-operator", "ours"}
    assert attached == {"theirs", "ours"}


def test_a_kubeconfig_from_a_secret_key_reaches_the_provider_as_a_secret(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    del config["gpu-fabric:cluster"]["kubeconfig"]
    config["gpu-fabric:cluster"]["kubeconfigSecret"] = "production-kubeconfig"
    recording = run_program("dev", config, secrets={"gpu-fabric:production-kubeconfig": KUBECONFIG})
    provider = recording["cluster-kubernetes"]
    assert provider.inputs["kubeconfig"] == KUBECONFIG
    assert provider.secrets == {"kubeconfig"}
    assert provider.inputs["clusterIdentifier"] == cluster_identity(KUBECONFIG, None)


def test_a_cluster_may_be_given_an_identity_of_its_own(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    config["gpu-fabric:cluster"]["id"] = "rack-7"
    assert run_program("dev", config)["cluster-kubernetes"].inputs["clusterIdentifier"] == "rack-7"
