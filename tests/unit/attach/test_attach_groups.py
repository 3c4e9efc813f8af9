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
BOTH = ["main", "storage"]
IN_A100 = {"key": "gpu", "operator": "In", "values": ["a100"]}


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


@pytest.mark.parametrize(
    ("names", "document", "taken"),
    [
        (["main"], pod(), "main"),
        (["a100"], pod(), "a100"),
        # A manifest points to its fabric by what its pods select or ask for.
        ([], pod(H100), "main"),
        ([], pod(A100), "a100"),
        ([], pod(rail_00="1"), "main"),
        ([], pod(a100_rail_00="1"), "a100"),
        ([], {"spec": {"affinity": {"nodeSelectorTerms": [{"matchExpressions": [IN_A100]}]}}}, "a100"),
        # The label excludes the other fabric, whose devices the pod would not get.
        ([], pod(H100, a100_rail_00="1"), "main"),
    ],
)
def test_the_fabric_that_is_named_or_that_a_manifest_points_to_is_taken(
    machines: dict[str, FabricContract], names: list[str], document: dict[str, Any], taken: str
) -> None:
    assert contract_for(machines, names, [document]) == machines[taken]


@pytest.mark.parametrize(
    "documents",
    [
        [pod()],
        [pod({"disk": "fast"})],
        [pod(H100), pod(A100)],
        [pod({"gpu": "b200"})],
        [pod(rail_00="1"), pod(a100_rail_00="1")],
    ],
)
def test_what_points_to_none_or_to_several_is_refused_with_the_names(
    machines: dict[str, FabricContract], documents: list[dict[str, Any]]
) -> None:
    with pytest.raises(InputError, match=r"choose one: --group main, --group a100"):
        contract_for(machines, [], documents)


@pytest.mark.parametrize(
    ("stack", "storage", "names", "reason"),
    [
        ("two-machines", {}, ["b200"], "the stack has no fabric b200; choose of: --group main, --group a100"),
        ("two-machines", {}, ["main", "a100"], "main and a100 are both compute fabrics"),
        ("storage-fabric", {}, ["storage"], "a pod has in addition to it one compute fabric: --group main"),
        ("storage-fabric", {"beside": ("a100",)}, BOTH, "storage is not on the nodes of main, but on those of a100"),
        ("storage-fabric", {"namespaces": ("disks",)}, BOTH, "no namespace offers all of these fabrics"),
        ("kueue", {}, ["main"], "the stack has one fabric; leave --group out"),
    ],
)
def test_fabrics_that_no_pod_can_have_are_refused(
    stack: str, storage: dict[str, Any], names: list[str], reason: str
) -> None:
    found = contracts(stack)
    if storage:
        found["storage"] = found["storage"].model_copy(update=storage)

    with pytest.raises(InputError, match=reason):
        chosen_of(found, names)


def test_one_compute_fabric_needs_no_name_and_brings_no_storage(with_storage: dict[str, FabricContract]) -> None:
    assert contract_for(with_storage, [], [pod()]) == with_storage["main"]


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


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["attach", "job.yaml"], "choose one: --group main, --group a100; nothing was attached"),
        (["admission", "--group", "a100"], "a policy cannot choose"),
    ],
)
def test_a_command_refuses_what_it_cannot_choose(tmp_path: Path, words: list[str], reason: str) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(pod()), encoding="utf-8")
    command = [str(tmp_path / word) if word == "job.yaml" else word for word in words]
    refused = CliRunner().invoke(app, [*command, "-s", "two-machines"])

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert reason in " ".join(refused.stderr.split())


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
