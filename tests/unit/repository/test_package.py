"""What the package asks of pip, and its one version."""

import json
import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gpu_fabric
from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS

LOCK, OF_UV, OF_RELEASE = "requirements.lock", "requirements-uv.lock", "requirements-release.lock"
PROJECTS_WITH_NPM = ["templates/existing-typescript", "examples/components/typescript"]


@pytest.fixture
def project(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return found


@pytest.fixture
def sandbox(root: Path) -> dict[str, Any]:
    """The sandbox's own project file."""
    found: dict[str, Any] = tomllib.loads((root / "sandbox/pyproject.toml").read_text())["project"]
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
    return dict(re.findall(r"^([A-Za-z0-9-]+)==([^\s;]+)(?:; .*)?$", file.read_text(), re.MULTILINE))


def name_of(requirement: str) -> str:
    return re.split(r"[<>=\[ ]", requirement, maxsplit=1)[0]


def locked(root: Path, lock: str = LOCK) -> dict[str, tuple[str, list[str]]]:
    """The versions and the hashes that a lock file allows, by package."""
    text = re.sub(r"^#.*\n", "", (root / lock).read_text(), flags=re.MULTILINE)
    entries = re.findall(
        r"^([\w.-]+)==(\S+)([^\n]*\\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE
    )
    assert "".join(f"{name}=={version}{rest}" for name, version, rest in entries) == text, "other lines than packages"
    return {
        canonicalize_name(name): (version, re.findall(r"--hash=sha256:[0-9a-f]{64}(?=\s)", rest))
        for name, version, rest in entries
    }


@pytest.mark.parametrize(
    ("lock", "files"),
    [
        (LOCK, ["requirements.txt", "policy/requirements.txt"]),
        (OF_UV, ["requirements-uv.txt"]),
        (OF_RELEASE, ["requirements-release.txt"]),
    ],
)
def test_a_lock_has_every_pin_of_its_files_with_hashes_and_names_no_index(
    root: Path, lock: str, files: list[str]
) -> None:
    found = locked(root, lock)
    pinned = {canonicalize_name(name): version for file in files for name, version in pins(root / file).items()}

    assert pinned
    assert pinned.items() <= {name: version for name, (version, _) in found.items()}.items()
    assert all(hashes for _, hashes in found.values())
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted", (root / lock).read_text())


def test_what_the_locked_packages_need_in_turn_is_locked_as_well(root: Path) -> None:
    found = locked(root)
    needed = {
        canonicalize_name(wanted.name): installed.metadata["Name"]
        for installed in distributions()
        if canonicalize_name(installed.metadata["Name"]) in found
        for wanted in map(Requirement, installed.requires or ())
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""})
    }

    assert len(needed) > 20
    assert {name: by for name, by in needed.items() if name not in found} == {}


def test_workflows_and_make_install_nothing_but_what_the_lock_has(root: Path) -> None:
    workflows = [step for file in (root / ".github/workflows").glob("*.yaml") for step in file.read_text().splitlines()]
    installs = [line for line in workflows if re.search(r"\b(pip3?|uv|npm|pipx)\b.* (install|ci|add|run)\b", line)]

    first, second = (f"--require-hashes --only-binary :all: -r {lock}" for lock in (OF_UV, LOCK))
    locks = (first, second, f"--require-hashes --only-binary :all: -r {OF_RELEASE}")
    # But the wheels that the release has just built.
    others = [line for line in installs if not line.endswith(locks)]
    assert [line.strip() for line in others] == [
        "uv pip install --quiet --python shipped --no-deps --no-index dist/*.whl"
    ]
    assert len(installs) == 11
    make = (root / "Makefile").read_text()
    assert f"pip install --quiet --disable-pip-version-check {first} " in make
    assert f"$(call install,--require-hashes -r {LOCK})\n" in make


@pytest.mark.parametrize("folder", PROJECTS_WITH_NPM)
def test_a_project_with_npm_has_a_lock_of_what_it_asks_for_with_hashes_and_without_a_registry(
    root: Path, folder: str
) -> None:
    asked = json.loads((root / folder / "package.json").read_text())
    packages = json.loads((root / folder / "package-lock.json").read_text())["packages"]
    project = packages.pop("")
    # A package that Pulumi generates in the project is a link to its folder, which is not there yet.
    fetched = {
        path: entry for path, entry in packages.items() if path.startswith("node_modules/") and "link" not in entry
    }

    assert {key: project.get(key) for key in asked if key != "main"} == {k: v for k, v in asked.items() if k != "main"}
    assert len(fetched) > 100
    assert all(entry["integrity"].startswith("sha512-") and "resolved" not in entry for entry in fetched.values())
    assert all(
        fetched[f"node_modules/{name}"]["version"] == version
        for name, version in (asked["dependencies"] | asked["devDependencies"]).items()
        if not version.startswith("file:")
    )


def test_every_project_with_npm_is_looked_at(root: Path) -> None:
    own = [path for path in root.rglob("package.json") if not {"node_modules", ".venv", ".sandbox"} & set(path.parts)]
    assert {str(path.parent.relative_to(root)) for path in own} == set(PROJECTS_WITH_NPM)


def test_the_extras_have_the_pins_that_the_programs_are_tested_with(
    root: Path, project: dict[str, Any], sandbox: dict[str, Any]
) -> None:
    tested = (
        pins(root / "requirements.txt") | pins(root / "requirements-dev.txt") | pins(root / "policy/requirements.txt")
    )
    for entry in (*named(project), *sandbox["dependencies"]):
        name = name_of(entry)
        if name in ("gpu-fabric", "gpu-fabric-sandbox"):
            continue
        assert name in tested, entry
        if "==" in entry:
            assert entry == f"{name}=={tested[name]}"


def test_every_package_that_the_program_is_pinned_to_is_in_an_extra_or_the_base(
    root: Path, project: dict[str, Any], sandbox: dict[str, Any]
) -> None:
    needed = (*named(project), *sandbox["dependencies"])
    assert set(pins(root / "requirements.txt")) <= {name_of(entry) for entry in needed}


def test_the_extra_and_the_sandbox_ask_for_each_other_in_this_version(
    project: dict[str, Any], sandbox: dict[str, Any]
) -> None:
    assert project["optional-dependencies"]["sandbox"] == [f"gpu-fabric-sandbox=={gpu_fabric.__version__}"]
    assert f"gpu-fabric[pulumi]=={gpu_fabric.__version__}" in sandbox["dependencies"]


def test_stacks_ask_for_the_plug_ins_whose_packages_the_tests_read(root: Path) -> None:
    asked = {f"pulumi-{name}": version for name, version in PLUGIN_VERSIONS.items()}

    assert asked.items() <= pins(root / "requirements-dev.txt").items()


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
