"""Which stacks a workflow is for, out of the repository's variable."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rows import rows

SCRIPT = Path(__file__).parents[3] / ".ci" / "chosen_stacks.py"
TWO = '[{"stack": "dev", "environment": "lab", "organization": "acme", "cluster": "base"}, {"stack": "doks-h200"}]'


def _run(folder: Path, stacks: str, only: str = "") -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """The script's end, and what it gave to the job."""
    for name in ("dev", "doks-h200"):
        (folder / f"Pulumi.{name}.yaml").touch()
    output = folder / "output"
    output.touch()
    environment = {**os.environ, "STACKS": stacks, "ONLY": only, "GITHUB_OUTPUT": str(output)}
    ended = subprocess.run([sys.executable, str(SCRIPT)], cwd=folder, env=environment, capture_output=True, text=True)
    return ended, dict(line.split("=", 1) for line in output.read_text().splitlines())


def test_each_stack_has_its_environment_and_its_full_name(tmp_path: Path) -> None:
    ended, given = _run(tmp_path, TWO)
    assert ended.returncode == 0
    assert json.loads(given["matrix"]) == {
        "include": [
            {"stack": "dev", "environment": "lab", "full": "acme/dev", "cluster": "acme/base"},
            {"stack": "doks-h200", "environment": "doks-h200", "full": "doks-h200", "cluster": "doks-h200"},
        ]
    }
    assert given["any"] == "true"


def test_one_stack_can_be_asked_for(tmp_path: Path) -> None:
    _, given = _run(tmp_path, TWO, "doks-h200")
    assert [entry["stack"] for entry in json.loads(given["matrix"])["include"]] == ["doks-h200"]


def test_what_lies_on_a_cluster_comes_up_after_it_and_all_else_side_by_side(tmp_path: Path) -> None:
    on_dev = [{"stack": "doks-h200", "cluster": "dev"}, {"stack": "doks-b300", "cluster": "dev"}]
    (tmp_path / "Pulumi.doks-b300.yaml").touch()
    (tmp_path / "Pulumi.oke.yaml").touch()
    _, given = _run(tmp_path, json.dumps([on_dev[0], {"stack": "oke"}, {"stack": "dev"}, on_dev[1]]))
    assert len(json.loads(given["matrix"])["include"]) == 4
    order = json.loads(given["order"])["include"]
    assert [(entry["stack"], bool(entry["after"])) for entry in order] == [("oke", False), ("dev", True)]
    after = json.loads(order[1]["after"])["include"]
    assert [(entry["stack"], entry["full"], entry["environment"]) for entry in after] == [
        ("doks-h200", "doks-h200", "doks-h200"),
        ("doks-b300", "doks-b300", "doks-b300"),
    ]


def test_a_platform_alone_waits_for_nobody(tmp_path: Path) -> None:
    pair = json.dumps([{"stack": "dev"}, {"stack": "doks-h200", "cluster": "dev"}])
    _, given = _run(tmp_path, pair, "doks-h200")
    assert [(entry["stack"], entry["after"]) for entry in json.loads(given["order"])["include"]] == [("doks-h200", "")]


def test_a_cluster_of_the_same_name_in_another_organization_is_another_one(tmp_path: Path) -> None:
    pair = json.dumps([{"stack": "dev", "organization": "acme"}, {"stack": "doks-h200", "cluster": "dev"}])
    _, given = _run(tmp_path, pair)
    assert [entry["stack"] for entry in json.loads(given["order"])["include"]] == ["dev", "doks-h200"]


def test_without_the_variable_there_is_none_and_the_log_says_what_to_set(tmp_path: Path) -> None:
    ended, given = _run(tmp_path, "")
    assert (ended.returncode, given["any"]) == (0, "false")
    assert "set the variable GPU_FABRIC_STACKS" in ended.stdout


@pytest.mark.parametrize(("stacks", "only", "reason"), rows(__file__, "a wrong variable is refused with what to write"))
def test_a_wrong_variable_is_refused_with_what_to_write(tmp_path: Path, stacks: str, only: str, reason: str) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/Pulumi.oke-h100.yaml").touch()
    ended, given = _run(tmp_path, stacks, only)
    assert ended.returncode == 1
    assert reason in ended.stderr
    assert "Traceback" not in ended.stderr
    assert given == {}
