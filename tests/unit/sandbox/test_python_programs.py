"""The programs beside a built CLI run the Python that the project's file names."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from sandbox.engine.python_programs import AMBIENT_PYTHON, DYNAMIC, HOST, place_dynamic, place_host

ECHO = '#!/bin/sh\nprintf "%s\\n" "$@"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project of mine"
    (folder / "inside").mkdir(parents=True)
    return folder


def program(path: Path, text: str = ECHO) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o700)
    return path


def arguments(tmp_path: Path, folder: Path, **environment: str) -> list[str]:
    """What the host behind the launcher is started with, in a folder."""
    place_host(tmp_path, program(tmp_path / "built host/host"))
    started = subprocess.run(
        [tmp_path / HOST, "127.0.0.1:1"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return started.stdout.splitlines()


def test_the_host_gets_the_virtual_environment_of_the_projects_file(tmp_path: Path, project: Path) -> None:
    for runtime in (
        "  name: python\n  options:\n    # virtualenv: other\n    toolchain: pip\n    virtualenv: '.venv' # of make\n",
        "  {name: python, options: {virtualenv: .venv, toolchain: pip}}\n",
    ):
        (project / "Pulumi.yaml").write_text(f"name: mine\nruntime:\n{runtime}")
        assert arguments(tmp_path, project) == ["-root", str(project), "-virtualenv", ".venv", "127.0.0.1:1"]
    assert arguments(tmp_path, project / "inside") == arguments(tmp_path, project)


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("name: mine\nruntime: python\n", {}),
        (None, {}),
        # The sandbox's own runs.
        ("name: mine\nruntime: {name: python, options: {virtualenv: .venv}}\n", {AMBIENT_PYTHON: "1"}),
    ],
)
def test_the_host_takes_the_python_on_path_where_no_file_names_one_or_the_sandbox_runs_it(
    tmp_path: Path, project: Path, text: str | None, environment: dict[str, str]
) -> None:
    if text is not None:
        (project / "Pulumi.yaml").write_text(text)
    assert arguments(tmp_path, project, **environment) == ["127.0.0.1:1"]


def test_a_policy_pack_inside_a_project_has_options_of_its_own(tmp_path: Path, project: Path) -> None:
    (project / "Pulumi.yaml").write_text("name: mine\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (project / "inside/PulumiPolicy.yaml").write_text("runtime: {name: python, options: {virtualenv: ../other}}\n")

    assert arguments(tmp_path, project / "inside")[:4] == ["-root", str(project / "inside"), "-virtualenv", "../other"]


def test_a_launcher_takes_the_place_of_a_linked_program_and_leaves_the_other_end_alone(tmp_path: Path) -> None:
    built = program(tmp_path / "cache/host", "\x7fELF of the cache")
    os.link(built, tmp_path / HOST)
    place_host(tmp_path, built)

    assert built.read_text() == "\x7fELF of the cache"
    assert (tmp_path / HOST).read_text().startswith("#!/bin/sh")


def test_dynamic_resources_run_in_the_virtual_environment_that_the_engine_names(tmp_path: Path, project: Path) -> None:
    place_dynamic(tmp_path)
    program(project / ".venv/bin/python", '#!/bin/sh\necho "of the environment: $*"\n')
    program(tmp_path / "path/python3", '#!/bin/sh\necho "of the path: $*"\n')
    path = f"{tmp_path / 'path'}{os.pathsep}{os.environ['PATH']}"

    def started(**environment: str) -> str:
        command = [tmp_path / DYNAMIC, "engine"]
        environment = {"PATH": path, **environment}
        return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=True).stdout

    named = {"PULUMI_RUNTIME_VIRTUALENV": ".venv"}
    assert started(**named) == "of the environment: -u -m pulumi.dynamic engine\n"
    assert started() == "of the path: -u -m pulumi.dynamic engine\n"
    assert started(**named, **{AMBIENT_PYTHON: "1"}) == started()


def test_plain_pulumi_and_make_use_one_virtual_environment(root: Path) -> None:
    made = next(line.split()[-1] for line in (root / "Makefile").read_text().splitlines() if line.startswith("VENV "))
    files = {name: yaml.safe_load((root / name).read_text()) for name in ("Pulumi.yaml", "policy/PulumiPolicy.yaml")}
    named = {name: content["runtime"]["options"] for name, content in files.items()}

    assert {options["toolchain"] for options in named.values()} == {"pip"}
    assert {(root / name).parent / options["virtualenv"] for name, options in named.items()} == {
        root / made,
        root / "policy/.." / made,
    }
