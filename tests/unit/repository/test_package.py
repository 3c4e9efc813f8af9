"""What the package asks of pip, and its one version."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import gpu_fabric
import policy
from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS

EXTRAS = {"pulumi", "signing", "sandbox", "policy"}


@pytest.fixture
def project(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return found


@pytest.fixture
def pack(root: Path) -> dict[str, Any]:
    """The policy pack's own project file."""
    return tomllib.loads((root / "policy/pyproject.toml").read_text())


def named(project: dict[str, Any]) -> list[str]:
    return [
        *project["dependencies"],
        *(entry for extra in project["optional-dependencies"].values() for entry in extra),
    ]


def pins(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9-]+)==(\S+)$", file.read_text(), re.MULTILINE))


def name_of(requirement: str) -> str:
    return re.split(r"[<>=\[ ]", requirement, maxsplit=1)[0]


def test_the_base_needs_nothing_of_pulumis(project: dict[str, Any]) -> None:
    core = {"pydantic", "PyYAML", "typer", "rich", "Jinja2", "markdown-it-py"}
    assert {name_of(entry) for entry in project["dependencies"]} == core
    assert set(project["optional-dependencies"]) == EXTRAS


def test_the_extras_have_the_pins_that_the_programs_are_tested_with(root: Path, project: dict[str, Any]) -> None:
    tested = (
        pins(root / "requirements.txt") | pins(root / "requirements-dev.txt") | pins(root / "policy/requirements.txt")
    )
    for entry in named(project):
        name = name_of(entry)
        if name == "gpu-fabric":
            continue
        assert name in tested, entry
        if "==" in entry:
            assert entry == f"{name}=={tested[name]}"


def test_every_package_that_the_program_is_pinned_to_is_in_an_extra_or_the_base(
    root: Path, project: dict[str, Any]
) -> None:
    assert set(pins(root / "requirements.txt")) <= {name_of(entry) for entry in named(project)}


def test_stacks_ask_for_the_plug_ins_whose_packages_the_tests_read(root: Path) -> None:
    asked = {f"pulumi-{name}": version for name, version in PLUGIN_VERSIONS.items()}

    assert asked.items() <= pins(root / "requirements-dev.txt").items()


def test_the_version_stands_in_one_file(project: dict[str, Any]) -> None:
    assert "version" not in project
    assert re.fullmatch(r"\d+\.\d+\.\d+", gpu_fabric.__version__)


def test_the_policy_packs_version_stands_in_one_file_and_what_repeats_it_agrees(
    root: Path, pack: dict[str, Any]
) -> None:
    assert "version" not in pack["project"]
    assert pack["tool"]["hatch"]["version"]["path"] == "__init__.py"
    assert yaml.safe_load((root / "policy/PulumiPolicy.yaml").read_text())["version"] == policy.__version__


def test_the_policy_pack_needs_what_it_is_tested_with_and_this_program(root: Path, pack: dict[str, Any]) -> None:
    needed = dict(re.fullmatch(r"([\w-]+)(.*)", entry).groups() for entry in pack["project"]["dependencies"])  # type: ignore[union-attr,misc]
    assert needed["pulumi-policy"] == f"=={pins(root / 'policy/requirements.txt')['pulumi-policy']}"

    lowest, above = needed["gpu-fabric"].removeprefix(">=").split(",<")
    assert numbers(lowest) <= numbers(gpu_fabric.__version__) < numbers(above)


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_the_changelog_begins_with_this_version(root: Path) -> None:
    headings = re.findall(r"^## (\d+\.\d+\.\d+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert headings[0] == gpu_fabric.__version__
    assert headings == sorted(headings, key=numbers, reverse=True)
