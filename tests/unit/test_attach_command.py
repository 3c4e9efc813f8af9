"""`python -m fabric attach`: the result on stdout, all else on stderr, exit status 0, 1 or 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from attached_pods import MANIFESTS, text_of
from typer.testing import CliRunner, Result

from fabric.attach import InputError, attach_text, read_contract
from fabric.cli import app
from fabric.plan import FabricContract, Plan


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds the development stack and the manifests, as the current one."""
    shutil.copy(root / "Pulumi.dev.yaml", tmp_path)
    for path in MANIFESTS.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def outputs(project: Path, dev_plan: Plan) -> dict[str, Any]:
    """A stack's outputs as `make outputs` prints them, also in the file outputs.json."""
    fabric = dev_plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True)
    found = {"clusterId": "one", "fabric": fabric, "kubeconfig": "[secret]"}
    (project / "outputs.json").write_text(json.dumps(found))
    return found


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["attach", *arguments], input=stdin)


@pytest.mark.usefixtures("project")
def test_a_file_is_printed_with_the_fabric_of_a_stack_attached(dev_plan: Plan) -> None:
    result = run("mpijob.yaml", "-s", "dev")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == attach_text(text_of("mpijob.yaml"), dev_plan.workload).text


@pytest.mark.usefixtures("project")
def test_standard_input_is_read_and_line_ends_are_kept() -> None:
    text = text_of("pod.yaml").replace("\n", "\r\n")
    result = run("-", stdin=text.encode())

    assert result.exit_code == 0
    assert result.stdout_bytes.startswith(b"apiVersion: v1\r\nkind: Pod\r\n")
    assert result.stdout_bytes.count(b"\r\n") == result.stdout_bytes.count(b"\n")


@pytest.mark.usefixtures("outputs")
def test_the_contract_comes_from_a_stacks_outputs_as_well() -> None:
    assert run("job.yaml", "--contract", "outputs.json").stdout == run("job.yaml", "-s", "dev").stdout


def test_the_contract_comes_from_standard_input_as_well(outputs: dict[str, Any]) -> None:
    result = run("job.yaml", "--contract", "-", stdin=json.dumps(outputs))

    assert result.stdout == run("job.yaml").stdout != ""


@pytest.mark.usefixtures("project")
def test_what_is_kept_is_said_on_stderr_with_file_document_and_path() -> None:
    result = run("job.yaml")

    first = "job.yaml: document 1, spec.template.spec.containers[0].env[1]: NCCL_IB_HCA keeps 'mlx5_4'; the fabric's"
    assert result.exit_code == 0
    assert result.stderr.startswith(first)


@pytest.mark.usefixtures("project")
def test_refused_manifests_print_nothing_on_stdout() -> None:
    result = run("several-documents.yaml", "-n", "research")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("several-documents.yaml: 1 problem, nothing was attached.\n  document 5, metadata.")


@pytest.mark.usefixtures("project")
def test_options_reach_the_workloads() -> None:
    result = run("mpijob.yaml", "-c", "launcher", "--container", "worker", "--queue", "team-a")

    assert result.exit_code == 0
    assert result.stdout.count("k8s.v1.cni.cncf.io/networks") == 2
    assert "kueue.x-k8s.io/queue-name: team-a" in result.stdout


@pytest.mark.usefixtures("outputs")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.yaml"], "nowhere.yaml: No such file or directory"),
        (["."], ".: Is a directory"),
        (["pod.yaml", "-s", "dve"], "did you mean 'dev'?"),
        (["pod.yaml", "-s", "dev", "--contract", "outputs.json"], "not from both"),
        (["-", "--contract", "-"], "cannot be the same file"),
        (["pod.yaml", "--contract", "pod.yaml"], "cannot be the same file"),
        (["pod.yaml", "--contract", "job.yaml"], "job.yaml: no JSON (line 1: "),
        (["pod.yaml", "--contract", "job.json"], "job.json: no contract: there is no `fabric`"),
        ([], "Missing argument"),
        (["latin.yaml"], "latin.yaml: no UTF-8 text"),
        (["broken.yaml"], "broken.yaml: line 1: no YAML"),
        (["pod.yaml", "--contract", "deep.json"], "deep.json: no contract: it is nested too deep"),
    ],
)
def test_bad_input_and_wrong_usage_are_exit_status_2(project: Path, arguments: list[str], said: str) -> None:
    (project / "latin.yaml").write_bytes(b"a: \xe4\n")
    (project / "broken.yaml").write_text("a: [")
    (project / "deep.json").write_text("[" * 100_000)
    result = run(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_contract_alone_is_one_too(outputs: dict[str, Any], dev_plan: Plan) -> None:
    assert read_contract(json.dumps(outputs["fabric"])) == dev_plan.workload
    assert read_contract(json.dumps(outputs)) == dev_plan.workload


def test_a_contract_of_another_version_is_refused(outputs: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"schemaVersion 'v2' is not known here; known is 'v1'"):
        read_contract(json.dumps(outputs["fabric"] | {"schemaVersion": "v2"}))


def test_fields_that_a_newer_program_added_are_passed_over(outputs: dict[str, Any], dev_plan: Plan) -> None:
    newer = outputs["fabric"] | {"addedLater": {"a": 1}}
    newer["schedulerHints"] = newer["schedulerHints"] | {"addedLater": True}

    assert read_contract(json.dumps(newer)) == dev_plan.workload


def test_a_contract_with_wrong_fields_names_them_and_not_their_values(outputs: dict[str, Any]) -> None:
    wrong = outputs["fabric"] | {"nodes": "secret-looking"}
    del wrong["resources"]
    with pytest.raises(InputError, match=r"wrong or missing: nodes, resources \[ATT004\]$"):
        read_contract(json.dumps(wrong))


@pytest.mark.parametrize("name", ["dev", "spiderpool-ib", "host-network", "sriov-dpdk", "ipoib", "doks-b300"])
def test_every_field_of_a_contract_survives_the_way_through_json(root: Path, name: str) -> None:
    from fabric.prepare import prepare_stack

    contract: FabricContract = prepare_stack(name, root).workload

    assert read_contract(contract.model_dump_json(by_alias=True, exclude_none=True)) == contract
