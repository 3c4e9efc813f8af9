"""Every workflow by actionlint, and every shell script by shellcheck, as they are run: whole."""

from __future__ import annotations

import base64
import binascii
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from own_files import own_files

from gpu_fabric.prepare import prepare_stack
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.load import stack_names
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
SHELLCHECK = Path(sys.executable).parent / "shellcheck"


@pytest.fixture(scope="module")
def actionlint() -> Path:
    return ensure(["lint"], Progress()).folder("actionlint") / "actionlint"


def _actionlint(command: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Judge the workflows of a repository, with the shell in them."""
    arguments = [str(command), "-no-color", "-oneline", "-shellcheck", str(SHELLCHECK), "-pyflakes", ""]
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True)


def _shellcheck(script: str) -> str:
    """Findings that weigh more than a matter of taste."""
    arguments = [str(SHELLCHECK), "--severity", "warning", "--format", "gcc", "-"]
    return subprocess.run(arguments, input=script, capture_output=True, text=True).stdout


def test_actionlint_and_shellcheck_find_nothing_in_the_workflows(actionlint: Path) -> None:
    assert len(list(WORKFLOWS.glob("*.yaml"))) >= 6
    ended = _actionlint(actionlint, ROOT)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        ("preview.yaml", "runs-on: ubuntu-24.04", "runs-on: ubuntu-24.4", "label \"ubuntu-24.4\" is unknown"),
        ("preview.yaml", "cat review/comment/comment.md", "cat $COMMENT", "SC2086"),
        ("preview.yaml", '"$NUMBER" >', "\"${{ github.head_ref }}\" >", "potentially untrusted"),
        ("stack.yaml", "persist-credentials: false", "persist-credential: false", "persist-credential"),
        ("up.yaml", "needs.stacks.outputs.any", "needs.stacks.outputs.some", "\"some\" is not defined"),
        ("drift.yaml", "task: drift", "tusk: drift", "tusk"),
        ("comment.yaml", "pull-requests: write", "pull-request: write", "unknown permission scope"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_workflow_is_found(
    actionlint: Path, tmp_path: Path, file: str, old: str, new: str, finding: str
) -> None:
    folder = tmp_path / ".github" / "workflows"
    shutil.copytree(WORKFLOWS, folder)
    (tmp_path / ".git").mkdir()
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    ended = _actionlint(actionlint, tmp_path)
    assert ended.returncode == 1
    assert finding in ended.stdout


def _scripts_of_stacks() -> dict[str, str]:
    """Every script that some stack gives to nodes, pods or machines, with where it was first found."""
    found: dict[str, str] = {}
    for folder in (ROOT, ROOT / "tests" / "stacks"):
        for stack in stack_names(folder):
            for resource in rendered(prepare_stack(stack, folder)).resources:
                for text in _scripts(resource.properties):
                    found.setdefault(text, f"{stack}: {resource.name}")
    return found


def _scripts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _scripts(entry)
    elif isinstance(value, str):
        # What cloud-init runs is encoded.
        text = _decoded(value) if value.startswith("IyEv") else value
        if text.startswith("#!/"):
            yield text


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value


def test_shellcheck_warns_of_nothing_in_the_scripts_that_stacks_run_on_nodes_and_in_pods() -> None:
    scripts = _scripts_of_stacks()
    assert len(scripts) >= 12
    assert {where: said for text, where in scripts.items() if (said := _shellcheck(text))} == {}


def test_shellcheck_warns_of_nothing_in_the_repositorys_own_scripts() -> None:
    # Parts of scripts for nodes are judged above, put together.
    own = [ROOT / name for name in own_files() if not name.startswith("gpu_fabric/plan/")]
    scripts = {str(file): file.read_text() for file in own if _is_shell(file)}
    assert str(ROOT / ".ci" / "run") in scripts
    assert {name: said for name, text in scripts.items() if (said := _shellcheck(text))} == {}


def _is_shell(file: Path) -> bool:
    with file.open("rb") as content:
        first = content.readline(80)
    return first.startswith(b"#!") and first.rstrip().endswith((b"sh", b"bash"))


def test_a_mistake_in_a_script_is_found() -> None:
    assert "SC2154" in _shellcheck('#!/bin/bash\necho "$nobody_sets_this"\n')
