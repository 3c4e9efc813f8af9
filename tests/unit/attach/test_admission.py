"""`gpu-fabric admission`: policies of the API server, made from a contract.

That their expressions do what `attach` does is shown by tests/sandbox/test_admission_policies.py.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from attached_pods import contract_of
from typer.testing import CliRunner

from gpu_fabric.attach.admission import admission_policies
from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan

STACKS = ("dev", "host-network", "sriov-dpdk", "examples/spiderpool-ib")


def policies(stack: str = "dev") -> dict[str, dict[str, Any]]:
    return {f"{one['kind']} {one['metadata']['name']}": one for one in admission_policies(contract_of(stack))}


def expression(stack: str) -> str:
    (mutation,) = policies(stack)[f"MutatingAdmissionPolicy gpu-fabric-attach-{stack.split('/')[-1]}"]["spec"][
        "mutations"
    ]
    return str(mutation["jsonPatch"]["expression"])


def test_there_is_a_policy_that_attaches_for_pods_and_for_namespaces_with_the_label_and_one_that_warns() -> None:
    found = policies()

    assert list(found) == [
        "MutatingAdmissionPolicy gpu-fabric-attach-dev",
        "MutatingAdmissionPolicyBinding gpu-fabric-attach-dev-pods",
        "MutatingAdmissionPolicyBinding gpu-fabric-attach-dev-namespaces",
        "ValidatingAdmissionPolicy gpu-fabric-warn-dev",
        "ValidatingAdmissionPolicyBinding gpu-fabric-warn-dev",
    ]
    warning = found["ValidatingAdmissionPolicyBinding gpu-fabric-warn-dev"]["spec"]
    assert warning["validationActions"] == ["Warn"]


def test_pods_get_the_fabric_in_its_namespaces_only() -> None:
    (condition,) = policies("kueue")["MutatingAdmissionPolicy gpu-fabric-attach-kueue"]["spec"]["matchConstraints"][
        "namespaceSelector"
    ]["matchExpressions"]

    assert condition["values"] == ["default", "training"]


@pytest.mark.parametrize("stack", STACKS)
def test_everything_that_the_contract_asks_of_a_container_is_in_the_expression(stack: str) -> None:
    contract, text = contract_of(stack), expression(stack)

    for name in (*contract.resources, *contract.environment, *contract.capabilities, *contract.annotations):
        assert name.replace("/", "~1") in text or name in text
    assert all(file.config_map in text and file.mount_path in text for file in contract.files)


def test_no_contract_asks_for_a_field_of_a_pod_that_the_policies_do_not_know(root: Path) -> None:
    stacks = {path.name.split(".")[1] for folder in (".", "examples") for path in (root / folder).glob("Pulumi.*.yaml")}
    of_spec, of_container = set[str](), set[str]()
    for stack in sorted(stacks - {name for name in stacks if "split" in name}):
        patch: Any = contract_of(stack).pod_template_patch
        assert set(patch["metadata"]) <= {"annotations"}
        of_spec |= set(patch["spec"])
        of_container |= set(patch["spec"]["containers"][0])

    assert of_spec == {
        "containers",
        "dnsPolicy",
        "hostNetwork",
        "nodeSelector",
        "resourceClaims",
        "tolerations",
        "volumes",
    }
    assert of_container == {"env", "name", "resources", "securityContext", "volumeMounts"}


def test_every_variable_that_an_expression_uses_is_defined_before_it() -> None:
    for stack in STACKS:
        for policy in policies(stack).values():
            known = set[str]()
            for variable in policy["spec"].get("variables", ()):
                assert set(re.findall(r"variables\.(\w+)", variable["expression"])) <= known
                known.add(variable["name"])
            rest = str({key: value for key, value in policy["spec"].items() if key != "variables"})
            assert set(re.findall(r"variables\.(\w+)", rest)) <= known


def test_a_stacks_name_that_is_no_name_of_an_object_is_made_one(dev_plan: Plan) -> None:
    contract = dev_plan.workload.model_copy(update={"stack": "../Team_A/prod.yaml"})

    assert admission_policies(contract)[0]["metadata"]["name"] == "gpu-fabric-attach-team-a-prod-yaml"


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_the_command_prints_the_policies_for_the_version_that_a_cluster_serves(
    root: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.chdir(root)
    result = CliRunner().invoke(app, ["admission", "-s", "dev", "--api-version", version])

    found = list(yaml.safe_load_all(result.stdout))
    assert (result.exit_code, result.stderr) == (0, "")
    assert [one["apiVersion"].rpartition("/")[2] for one in found] == [version, version, version, "v1", "v1"]
    assert found == admission_policies(contract_of("dev"), version)  # type: ignore[arg-type]
