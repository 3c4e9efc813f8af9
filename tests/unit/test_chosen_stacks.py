"""Which stacks a workflow is for, out of the repository's variable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "chosen_stacks.py"
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


def test_without_the_variable_there_is_none_and_the_log_says_what_to_set(tmp_path: Path) -> None:
    ended, given = _run(tmp_path, "")
    assert (ended.returncode, given["any"]) == (0, "false")
    assert "set the variable GPU_FABRIC_STACKS" in ended.stdout


@pytest.mark.parametrize(
    ("stacks", "only", "reason"),
    [
        ("dev", "", "is no JSON"),
        ('{"stack": "dev"}', "", "is no list"),
        ('["dev"]', "", "each entry of GPU_FABRIC_STACKS has `stack`"),
        ('[{"stack": "dev", "enviroment": "lab"}]', "", "each entry of GPU_FABRIC_STACKS has `stack`"),
        ('[{"stack": "prod"}]', "", "there is no Pulumi.prod.yaml"),
        ('[{"stack": "dev"}, {"stack": "dev"}]', "", "names dev more than once"),
        ('[{"stack": "dev; rm -rf /"}]', "", "names are of letters, digits"),
        ('[{"stack": "../dev"}]', "", "names are of letters, digits"),
        ('[{"stack": "dev", "environment": 1}]', "", "names are of letters, digits"),
        (TWO, "prod", "has no stack 'prod'; it has: dev, doks-h200"),
    ],
)
def test_a_wrong_variable_is_refused_with_what_to_write(tmp_path: Path, stacks: str, only: str, reason: str) -> None:
    ended, given = _run(tmp_path, stacks, only)
    assert ended.returncode == 1
    assert reason in ended.stderr
    assert "Traceback" not in ended.stderr
    assert given == {}
