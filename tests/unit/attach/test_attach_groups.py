"""Which of several fabrics a manifest gets: the named ones, or those that it points to."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from planned_fabrics import example
from typer.testing import CliRunner

from gpu_fabric.attach.groups import contract_for
from gpu_fabric.cli.app import app
from gpu_fabric.contract import FabricContract, contract_of
from gpu_fabric.contract.several import chosen_of, read_contracts
from gpu_fabric.findings import InputError
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION

H100, A100 = {"gpu": "h100"}, {"gpu": "a100"}


def contracts(stack: str) -> dict[str, FabricContract]:
    return {name: plan.workload for name, plan in example(stack).by_fabric.items()}


@pytest.fixture(scope="module")
def machines() -> dict[str, FabricContract]:
    return contracts("two-machines")


@pytest.fixture(scope="module")
def with_storage() -> dict[str, FabricContract]:
    return contracts("storage-fabric")


def pod(selector: dict[str, str] | None = None, **requests: str) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": 8, **{f"nvidia.com/{name}": count for name, count in requests.items()}}}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "training", "resources": resources}]}
    if selector is not None:
        spec["nodeSelector"] = selector
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "job"}, "spec": spec}


@pytest.mark.parametrize("name", ["main", "a100"])
def test_the_named_fabric_is_taken(machines: dict[str, FabricContract], name: str) -> None:
    assert contract_for(machines, [name], [pod()]) == machines[name]


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (pod(H100), "main"),
        (pod(A100), "a100"),
        (pod(rail_00="1"), "main"),
        (pod(a100_rail_00="1"), "a100"),
        ({"spec": {"affinity": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "gpu", "operator": "In", "values": ["a100"]},
        ]}]}}}, "a100"),
    ],
)  # fmt: skip
def test_a_manifest_points_to_its_fabric(
    machines: dict[str, FabricContract], document: dict[str, Any], name: str
) -> None:
    assert contract_for(machines, [], [document]) == machines[name]


@pytest.mark.parametrize(
    "documents",
    [
        [pod()],
        [pod({"disk": "fast"})],
        [pod(H100), pod(A100)],
        [pod({"gpu": "b200"})],
        [pod(H100, a100_rail_00="1")],
        [pod(rail_00="1"), pod(a100_rail_00="1")],
    ],
)
def test_what_points_to_none_or_to_several_is_refused_with_the_names(
    machines: dict[str, FabricContract], documents: list[dict[str, Any]]
) -> None:
    if documents == [pod(H100, a100_rail_00="1")]:
        # The label excludes the other fabric, whose devices the pod would not get.
        assert contract_for(machines, [], documents) == machines["main"]
        return
    with pytest.raises(InputError, match=r"choose one: --group main, --group a100"):
        contract_for(machines, [], documents)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["b200"], "the stack has no fabric b200; choose of: --group main, --group a100"),
        (["main", "a100"], "main and a100 are both compute fabrics"),
    ],
)
def test_fabrics_that_no_pod_can_have_are_refused(
    machines: dict[str, FabricContract], names: list[str], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        chosen_of(machines, names)


def test_storage_alone_is_refused(with_storage: dict[str, FabricContract]) -> None:
    with pytest.raises(InputError, match="a pod has in addition to it one compute fabric: --group main"):
        chosen_of(with_storage, ["storage"])


def test_storage_of_other_nodes_is_refused(with_storage: dict[str, FabricContract]) -> None:
    elsewhere = with_storage["storage"].model_copy(update={"beside": ("a100",)})

    with pytest.raises(InputError, match="storage is not on the nodes of main, but on those of a100"):
        chosen_of({**with_storage, "storage": elsewhere}, ["main", "storage"])


def test_one_compute_fabric_needs_no_name_and_brings_no_storage(with_storage: dict[str, FabricContract]) -> None:
    assert contract_for(with_storage, [], [pod()]) == with_storage["main"]


def test_a_name_is_refused_where_there_is_one_fabric() -> None:
    with pytest.raises(InputError, match="the stack has one fabric; leave --group out"):
        chosen_of({"": example("kueue").workload}, ["main"])


def test_a_pod_gets_the_networks_and_devices_of_both_and_nccl_those_of_compute_alone(
    with_storage: dict[str, FabricContract],
) -> None:
    compute, storage = with_storage["main"], with_storage["storage"]
    joint = chosen_of(with_storage, ["storage", "main"])

    named = [entry["name"] for entry in json.loads(joint.annotations[NETWORKS_ANNOTATION])]
    assert named == [network.network for network in (*compute.networks, *storage.networks)]
    assert joint.resources == {**compute.resources, **storage.resources}
    assert joint.environment == compute.environment
    patch: Any = joint.pod_template_patch
    assert patch["spec"]["containers"][0]["resources"]["limits"] == joint.resources
    assert patch["metadata"]["annotations"] == joint.annotations
    assert joint.gpu_resource == "nvidia.com/gpu"


def test_fabrics_without_a_namespace_in_common_are_refused(with_storage: dict[str, FabricContract]) -> None:
    elsewhere = with_storage["storage"].model_copy(update={"namespaces": ("disks",)})

    with pytest.raises(InputError, match="no namespace offers all of these fabrics"):
        chosen_of({**with_storage, "storage": elsewhere}, ["main", "storage"])


def test_the_outputs_of_a_stack_hold_every_contract(machines: dict[str, FabricContract]) -> None:
    documents = {name: one.model_dump(mode="json", by_alias=True, exclude_none=True) for name, one in machines.items()}
    outputs = {"fabric": documents["main"], "fabrics": documents}

    assert read_contracts(json.dumps(outputs)) == machines
    with pytest.raises(InputError, match=r"take one of its output `fabrics`: main, a100"):
        contract_of(outputs)
    assert contract_of(documents["a100"]) == machines["a100"]


def attach(tmp_path: Path, document: dict[str, Any], *options: str) -> Any:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return CliRunner().invoke(app, ["attach", *options, str(file)])


def test_the_command_attaches_a_named_fabric_and_finds_it_again(tmp_path: Path) -> None:
    first = attach(tmp_path, pod(), "-s", "two-machines", "--group", "a100")
    attached = yaml.safe_load(first.stdout)
    again = attach(tmp_path, attached, "-s", "two-machines", "--check")

    assert first.exit_code == again.exit_code == 0
    assert attached["spec"]["nodeSelector"] == A100
    assert attached["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/a100_rail_07"] == "1"


def test_the_command_keeps_storage_where_it_was_attached(tmp_path: Path) -> None:
    options = ("-s", "storage-fabric")
    first = attach(tmp_path, pod(), *options, "--group", "main", "--group", "storage")

    assert attach(tmp_path, yaml.safe_load(first.stdout), *options, "--check").exit_code == 0


def test_the_command_refuses_what_it_cannot_choose(tmp_path: Path) -> None:
    refused = attach(tmp_path, pod(), "-s", "two-machines")

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "choose one: --group main, --group a100; nothing was attached" in refused.stderr


def test_admission_policies_are_refused_where_pods_of_a_namespace_may_be_of_two_fabrics() -> None:
    refused = CliRunner().invoke(app, ["admission", "-s", "two-machines", "--group", "a100"])

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "a policy cannot choose" in " ".join(refused.stderr.split())


def test_admission_policies_of_compute_and_storage_attach_both() -> None:
    printed = CliRunner().invoke(app, ["admission", "-s", "storage-fabric", "--group", "main", "--group", "storage"])

    assert printed.exit_code == 0
    assert "storage-rail-01" in printed.stdout


def test_admission_policies_of_fabrics_in_namespaces_of_their_own_have_names_of_their_own(tmp_path: Path) -> None:
    plan = example("two-machines", {"fabrics.a100.namespaces": ["old"]})
    outputs = {
        "fabrics": {
            name: one.workload.model_dump(mode="json", by_alias=True, exclude_none=True)
            for name, one in plan.by_fabric.items()
        }
    }
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps(outputs), encoding="utf-8")

    printed = [
        CliRunner().invoke(app, ["admission", "--contract", str(file), "--group", name]).stdout
        for name in ("main", "a100")
    ]

    names = [{one["metadata"]["name"] for one in yaml.safe_load_all(text)} for text in printed]
    assert all(names)
    assert not names[0] & names[1]
