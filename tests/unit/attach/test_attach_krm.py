"""`gpu-fabric krm`: the fabric attached by a function of the KRM Functions Specification."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS, documents_of, text_of
from typer.testing import CliRunner, Result

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fabric"}, "data": {"contract": "outputs.json"}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dev_plan: Plan) -> Path:
    """A folder with the outputs of the development stack, as the current one."""
    contract = dev_plan.workload.model_dump_json(by_alias=True, exclude_none=True)
    (tmp_path / "outputs.json").write_text(f'{{"fabric": {contract}}}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def placed(document: Any, path: str, index: int = 0) -> Any:
    """A document as an orchestrator gives it: with its file, and its place there."""
    document = copy.deepcopy(document)
    annotations = document["metadata"].setdefault("annotations", {})
    annotations["internal.config.kubernetes.io/path"] = path
    annotations["internal.config.kubernetes.io/index"] = str(index)
    return document


def resource_list(*items: Any, **data: str) -> dict[str, Any]:
    config = {**CONFIG, "data": {**CONFIG["data"], **data}}  # type: ignore[dict-item]
    return {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": list(items),
        "functionConfig": config,
    }


def run(given: Any) -> Result:
    text = given if isinstance(given, str) else yaml.safe_dump(given, sort_keys=False)
    return CliRunner().invoke(app, ["krm"], input=text)


JOB, POD, SERVICE = (documents_of(text_of(name))[0] for name in ("job.yaml", "pod.yaml", "several-documents.yaml"))


def test_the_items_are_those_that_attach_gives_with_their_files_kept(dev_plan: Plan) -> None:
    items = [placed(JOB, "train/job.yaml", 2), placed(POD, "pod.yaml"), SERVICE]
    result = run(resource_list(*items))

    assert (result.exit_code, result.stderr) == (0, "")
    answer = yaml.safe_load(result.stdout)
    assert answer["items"] == list(attach(items, dev_plan.workload, AttachOptions(stamped=True)).documents)
    assert {key: answer[key] for key in ("apiVersion", "kind")} == {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
    }


def test_the_configuration_on_the_page_is_taken(root: Path) -> None:
    page = (root / "docs/attach.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)]
    (config,) = (block for block in blocks if block.get("kind") == "ConfigMap")
    result = run(resource_list(POD) | {"functionConfig": config})

    assert result.exit_code == 0
    assert NETWORKS in result.stdout


def test_a_result_says_of_which_object_field_and_file_it_is_and_by_which_rule() -> None:
    result = run(resource_list(placed(JOB, "train/job.yaml", 2)))

    assert yaml.safe_load(result.stdout)["results"][0] == {
        "message": "NCCL_IB_HCA keeps 'mlx5_4'; the fabric's value is 'mlx5'",
        "severity": "info",
        "tags": {"rule": "ATT051"},
        "resourceRef": {"apiVersion": "batch/v1", "kind": "Job", "name": "bench"},
        "field": {"path": "spec.template.spec.containers[0].env[1]"},
        "file": {"path": "train/job.yaml", "index": 2},
    }


def test_a_refusal_has_every_problem_as_an_error_leaves_all_items_and_ends_with_status_1() -> None:
    items = [placed(JOB, "job.yaml"), placed(POD, "pod.yaml")]
    result = run(resource_list(*items, namespace="research"))

    assert result.exit_code == 1
    answer = yaml.safe_load(result.stdout)
    assert answer["items"] == items
    assert [(one["severity"], one["tags"]["rule"]) for one in answer["results"]] == [("error", "ATT012")] * 2
    assert answer["results"][0]["message"].startswith("the fabric is not offered in research; use default (")
    assert "error ATT012 document 2, metadata.namespace: the fabric is not offered in research" in result.stderr


def test_the_wishes_are_those_of_the_command() -> None:
    mpi = documents_of(text_of("mpijob.yaml"))[0]
    result = run(resource_list(mpi, POD, containers="launcher, worker", queue="team-a", skip="Pod"))

    assert result.exit_code == 0
    assert result.stdout.count(f"{NETWORKS}:") == 2
    assert "kueue.x-k8s.io/queue-name: team-a" in result.stdout


def test_comments_of_the_items_are_kept_and_attaching_again_changes_nothing() -> None:
    text = yaml.safe_dump(resource_list(POD), sort_keys=False).replace("kind: Pod\n", "kind: Pod # of mine\n")
    first = run(text)
    again = run(first.stdout)

    assert "  kind: Pod # of mine\n" in first.stdout
    assert yaml.safe_load(again.stdout)["items"] == yaml.safe_load(first.stdout)["items"]
    assert "results" not in yaml.safe_load(again.stdout)


def test_json_is_answered_with_json() -> None:
    result = run(json.dumps(resource_list(POD)))

    assert result.exit_code == 0
    assert NETWORKS in str(json.loads(result.stdout)["items"])


def test_a_list_without_items_is_answered_as_it_is() -> None:
    given = resource_list()
    result = run(given)

    assert (result.exit_code, yaml.safe_load(result.stdout)) == (0, given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "apiVersion: v1\nkind: List\nitems: []\n",
            "error ATT030: no ResourceList of config.kubernetes.io with a list of items",
        ),
        ("a: [", "line 1: no YAML"),
        ("", "no ResourceList"),
        (resource_list(POD, contracts="a"), "functionConfig.data: wrong are contracts; texts may be given as stack, "),
        (resource_list(POD) | {"functionConfig": {"kind": "Fabric"}}, "functionConfig must be a ConfigMap, whose data"),
        (resource_list(POD, contract="nowhere.json"), "nowhere.json: No such file or directory"),
        (resource_list(POD, contract="-"), "standard input is the ResourceList; name a file"),
        (resource_list(POD, stack="dev"), "the contract comes from --stack or from --contract, not from both"),
    ],
)
def test_bad_input_is_exit_status_2_and_nothing_is_printed(given: Any, said: str) -> None:
    result = run(given)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
