"""`gpu-fabric attach`: the result on stdout, all else on stderr, exit status 0, 1 or 2."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from attached_pods import MANIFESTS, contract_of, text_of
from typer.testing import CliRunner, Result

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.attach.text.manifests import attach_text
from gpu_fabric.cli.app import app
from gpu_fabric.contract import read_contract
from gpu_fabric.findings import InputError
from gpu_fabric.plan import Plan


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

    worker = "mpijob.yaml: note ATT063 document 1, spec.mpiReplicaSpecs.Worker.template.spec.containers[0]"
    assert (result.exit_code, result.stderr) == (
        0,
        f"{worker}: mpi gets the fabric: 16 networks, 16 devices, 10 variables and 3 mounts\n",
    )
    assert result.stdout == attach_text(text_of("mpijob.yaml"), dev_plan.workload, AttachOptions(stamped=True)).text


def test_a_file_without_workloads_is_printed_as_it_was_and_that_is_said(project: Path) -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
    (project / "service.yaml").write_text(text)
    result = run("service.yaml", "-s", "dev")

    assert (result.exit_code, result.stdout) == (0, text)
    assert result.stderr.startswith("service.yaml: note ATT075: nothing was attached: no workload ")


@pytest.mark.usefixtures("project")
def test_standard_input_is_read_and_line_ends_are_kept() -> None:
    text = text_of("pod.yaml").replace("\n", "\r\n")
    result = run("-", stdin=text.encode())

    assert result.exit_code == 0
    assert result.stdout_bytes.startswith(b"apiVersion: v1\r\nkind: Pod\r\n")
    assert result.stdout_bytes.count(b"\r\n") == result.stdout_bytes.count(b"\n")


@pytest.mark.usefixtures("project")
def test_refused_manifests_print_nothing_on_stdout() -> None:
    result = run("several-documents.yaml", "-n", "research")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("several-documents.yaml: 1 problem, nothing was attached.\n  error ATT012 doc")


@pytest.mark.usefixtures("project")
def test_options_reach_the_workloads() -> None:
    result = run("mpijob.yaml", "-c", "launcher", "--container", "worker", "--queue", "team-a")

    assert result.exit_code == 0
    assert result.stdout.count("k8s.v1.cni.cncf.io/networks:") == 2
    assert "kueue.x-k8s.io/queue-name: team-a" in result.stdout


@pytest.mark.parametrize("name", ["mpijob.yaml", "job.json", "trainjob.yaml"])
def test_a_check_tells_what_is_attached_from_what_is_not_or_no_longer(project: Path, dev_plan: Plan, name: str) -> None:
    missing = run(name, "--check")
    (project / name).write_text(run(name).stdout)
    there = run(name, "--check")
    current = dev_plan.workload.files[0].config_map
    older_name = f"{current.rpartition('-')[0]}-00000000"
    (project / name).write_text((project / name).read_text().replace(current, older_name))
    older = run(name, "--check")

    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "is not attached, or not as the stack has it" in missing.stderr
    assert (there.exit_code, there.stdout) == (0, "")
    assert (older.exit_code, older.stdout) == (1, "")


def test_what_was_attached_before_the_stack_shrank_loses_that_or_is_refused_where_nothing_says_what_it_was(
    project: Path, dev_plan: Plan
) -> None:
    (project / "stamped.yaml").write_text(run("job.yaml").stdout)
    (project / "attached.yaml").write_text(attach_text(text_of("job.yaml"), dev_plan.workload).text)
    text = dev_plan.workload.model_dump_json(by_alias=True, exclude_none=True)
    fewer = json.loads(text)
    fewer["networks"] = fewer["networks"][:8]
    fewer["resources"] = {key: value for key, value in fewer["resources"].items() if not key.endswith(("8", "9"))}
    fewer["resources"] = {key: value for key, value in fewer["resources"].items() if "rail_1" not in key}
    annotation = json.loads(fewer["annotations"]["k8s.v1.cni.cncf.io/networks"])[:8]
    fewer["annotations"]["k8s.v1.cni.cncf.io/networks"] = json.dumps(annotation)
    (project / "outputs.json").write_text(json.dumps(fewer))
    for option in ([], ["--check"]):
        result = run("attached.yaml", "--contract", "outputs.json", *option)

        assert (result.exit_code, result.stdout) == (1, "")
        assert "the stack has no network rail-08 any more" in result.stderr
        assert "resources.limits[nvidia.com/rail_15]: the stack has no such device any more" in result.stderr
    assert run("job.yaml", "--contract", "outputs.json").exit_code == 0
    assert run("stamped.yaml", "--contract", "outputs.json", "--check").exit_code == 1
    less = run("stamped.yaml", "--contract", "outputs.json")
    assert (less.exit_code, less.stdout.count("rail_15")) == (0, 0)
    assert "loses what was added and is not asked for any more: network rail-08, network rail-09" in less.stderr
    (project / "stamped.yaml").write_text(less.stdout)
    assert run("stamped.yaml", "--contract", "outputs.json", "--check").exit_code == 0


@pytest.mark.usefixtures("project")
def test_detach_prints_a_manifest_as_it_was_before() -> None:
    attached = run("deployment.yaml").stdout
    result = CliRunner().invoke(app, ["detach", "-"], input=attached)

    assert (result.exit_code, result.stdout, result.stderr) == (0, text_of("deployment.yaml"), "")


def test_detach_says_where_nothing_is_known_and_refuses_what_it_cannot_read(project: Path) -> None:
    plain = CliRunner().invoke(app, ["detach", "deployment.yaml"])
    stamped = run("pod.yaml").stdout.replace('"contract":', '"contrast":')
    wrong = CliRunner().invoke(app, ["detach", "-"], input=stamped)
    (project / "broken.yaml").write_text("a: [")
    broken = CliRunner().invoke(app, ["detach", "broken.yaml"])

    assert (plain.exit_code, plain.stdout) == (0, text_of("deployment.yaml"))
    assert "no pod template has the annotation gpu-fabric.dev/attached" in plain.stderr
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "1 problem, nothing was detached." in wrong.stderr
    assert (broken.exit_code, broken.stdout) == (2, "")


@pytest.mark.usefixtures("outputs")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.yaml"], "nowhere.yaml: No such file or directory"),
        (["."], "folders and several files are not printed: write --in-place, --out DIR or --check"),
        (["pod.yaml", "-s", "dve"], "did you mean 'dev'?"),
        (["pod.yaml", "-s", "dev", "--contract", "outputs.json"], "not from both"),
        (["-", "--contract", "-"], "cannot be the same file"),
        (["pod.yaml", "--contract", "pod.yaml"], "cannot be the same file"),
        (["pod.yaml", "--contract", "job.yaml"], "job.yaml: error ATT004: no JSON (line 1: "),
        (["pod.yaml", "--contract", "job.json"], "job.json: error ATT004: no contract: there is no `fabric`"),
        ([], "Missing argument"),
        (["latin.yaml"], "latin.yaml: no UTF-8 text"),
        (["broken.yaml"], "broken.yaml: error ATT001: line 1: no YAML"),
        (["pod.yaml", "--contract", "deep.json"], "deep.json: error ATT004: no contract: it is nested too deep"),
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


def test_the_contract_comes_from_a_stacks_outputs_and_from_standard_input_as_well(outputs: dict[str, Any]) -> None:
    result = run("job.yaml", "-s", "dev")

    first = "job.yaml: note ATT051 document 1, spec.template.spec.containers[0].env[1]: NCCL_IB_HCA keeps 'mlx5_4';"
    assert result.stderr.startswith(first)
    assert run("job.yaml", "--contract", "outputs.json").stdout == result.stdout != ""
    assert run("job.yaml", "--contract", "-", stdin=json.dumps(outputs)).stdout == result.stdout


@pytest.mark.parametrize("name", ["dev", "spiderpool-ib", "host-network", "sriov-dpdk", "ipoib", "doks-b300"])
def test_every_field_of_a_contract_survives_the_way_through_json_alone_or_in_outputs(name: str) -> None:
    contract = contract_of(name)
    text = contract.model_dump_json(by_alias=True, exclude_none=True)

    assert read_contract(text) == contract == read_contract(f'{{"fabric": {text}}}')


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
    with pytest.raises(InputError, match=r"^error ATT004: .* wrong or missing: nodes, resources$"):
        read_contract(json.dumps(wrong))
