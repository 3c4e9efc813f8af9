"""The Dockerfile and the devcontainer, as far as they are checked without Docker; the workflow `image` tries them."""

import json
import re
from pathlib import Path

import pytest
import yaml


@pytest.fixture
def instructions(root: Path) -> list[tuple[str, str]]:
    """The Dockerfile's instructions with what follows each, on one line."""
    text = re.sub(r"^#.*\n", "", (root / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(words[0], words[1]) for line in text.splitlines() if (words := line.split(maxsplit=1))]


def test_both_stages_have_the_same_system_so_that_the_virtual_environment_is_at_home_in_both(
    instructions: list[tuple[str, str]],
) -> None:
    assert [value for name, value in instructions if name == "FROM"] == ["${BASE} AS base", "base AS built", "base"]
    copied = [value for name, value in instructions if name == "COPY" and "gpu-fabric" in value]
    [workdir] = [value for name, value in instructions if name == "WORKDIR"]
    assert copied == [f"--from=built --chown=fabric:fabric {workdir} ."]


def test_it_builds_what_up_needs_by_commands_that_there_are(root: Path, instructions: list[tuple[str, str]]) -> None:
    run = " ".join(value for name, value in instructions if name == "RUN")
    assert re.findall(r"make ([\w-]+)", run.partition("useradd")[2]) == ["setup"]
    assert re.search(r"^setup:", (root / "Makefile").read_text(), re.MULTILINE)
    commands = re.findall(r"python -m sandbox (\w+)([^&]*)", run)
    assert [name for name, _ in commands] == ["build", "build"]
    # What was packed is what is fetched; without a Go the second can do nothing else.
    assert "--pack /home/fabric/packed --url file:///home/fabric/packed" in commands[0][1]
    assert "PREBUILT=$(echo /home/fabric/packed/prebuilt-*.yaml)" in run


def test_the_devcontainer_is_that_image_and_the_workflow_tries_what_it_runs(root: Path) -> None:
    container = json.loads((root / ".devcontainer/devcontainer.json").read_text())
    assert (root / ".devcontainer" / container["build"]["dockerfile"]).resolve() == root / "Dockerfile"
    steps = yaml.safe_load((root / ".github/workflows/image.yaml").read_text())["jobs"]["image"]["steps"]
    assert any(f"&& {container['postCreateCommand']} &&" in step.get("run", "") for step in steps)


def test_nothing_of_a_machines_own_is_copied_into_it(root: Path) -> None:
    ignored = set((root / ".dockerignore").read_text().split("\n"))
    made = {line.strip("/") for line in (root / ".gitignore").read_text().splitlines()}
    assert {".git", ".venv", ".sandbox", ".site", "**/__pycache__"} <= ignored
    assert {name for name in made if name.startswith(".") and "/" not in name} <= ignored
