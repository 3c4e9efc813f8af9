"""What each resource is told: provider, parent, names, waits, secrets."""

import json
from pathlib import Path

from programs import API_TOKEN, STACKS, run_program, stack_config
from recording import MINTED, Recording
from stub_cluster import KUBECONFIG, TOKEN

from gpu_fabric.changes.footprint import unpack
from gpu_fabric.spec.kubeconfig import cluster_identity


def test_the_provider_is_identified_by_the_cluster_and_not_by_a_constant(on_existing: Recording) -> None:
    assert on_existing["cluster-kubernetes"].inputs["clusterIdentifier"] == cluster_identity(KUBECONFIG, None)


def test_what_gates_later_work_carries_a_condition_and_a_time_limit(on_existing: Recording) -> None:
    gates = on_existing.of_type(("ClusterPolicyPatch", "v1alpha1:NicClusterPolicy", "v1alpha1:NicNodePolicy"))
    operators = {":GpuOperator": "cluster-policy", ":NetworkOperator": "nic-cluster-policy"}
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
