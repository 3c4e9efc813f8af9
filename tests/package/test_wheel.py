"""`pip install` of the built wheel, and what can be done with it outside of any checkout."""

import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from installed_wheel import Installed, run_in
from typer.testing import CliRunner

import gpu_fabric
from gpu_fabric.cli.app import app

JOB = """apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  containers:
    - name: main
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 8
"""


@pytest.fixture
def stack_file(root: Path, installed: Installed) -> str:
    """A stack file that is no project's."""
    shutil.copy(root / "examples/Pulumi.doks-h200.yaml", installed.work / "some.yaml")
    return "some.yaml"


def test_the_base_brings_no_package_of_pulumis(installed: Installed) -> None:
    assert "gpu-fabric" in installed.packages
    assert [name for name in installed.packages if name.startswith("pulumi")] == []
    assert installed.packages.isdisjoint({"kubernetes", "grpcio", "cryptography"})


def test_the_wheel_has_every_file_of_core_components_program_and_a_teams_repository_and_nothing_else(
    root: Path, wheel: Path
) -> None:
    files = {
        str(place / path.relative_to(folder)): path.read_bytes()
        for folder, place in (
            (root / "gpu_fabric", Path("gpu_fabric")),
            (root / "components", Path("gpu_fabric/components")),
            (root / "nccl_topology", Path("nccl_topology")),
            (root / "stacks", Path("gpu_fabric/program")),
            (root / "templates/repository", Path("gpu_fabric/templates/repository")),
        )
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("hatch_build.py", "pyproject.toml")
        # What Python and ruff keep.
        if not {"__pycache__", ".ruff_cache"} & {*path.parts}
    }
    with ZipFile(wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}

    assert packed.keys() == files.keys()
    # The program's modules find the components beside them, and nothing at the top of what is installed.
    of_program = {name for name, text in packed.items() if text != files[name]}
    assert {str(Path(name).parent) for name in of_program} == {"gpu_fabric/program"}
    for name in of_program:
        assert packed[name].replace(b"from ..components", b"from components") == files[name]


def test_every_module_but_components_and_program_can_be_imported_from_the_base_alone(installed: Installed) -> None:
    program = (
        "import gpu_fabric, importlib, pkgutil, sys\n"
        "for found in pkgutil.walk_packages(gpu_fabric.__path__, 'gpu_fabric.'):\n"
        "    if not found.name.endswith('__main__') and found.name.split('.')[1] not in ('components', 'program'):\n"
        "        importlib.import_module(found.name)\n"
        "print(gpu_fabric.__file__)\n"
    )

    assert str(installed.programs.parent) in installed.python("-c", program)


def test_with_the_extra_pulumi_a_program_of_ones_own_uses_the_components(
    root: Path, installed_with_pulumi: Installed
) -> None:
    shutil.copy(root / "examples/Pulumi.oke-h200.yaml", installed_with_pulumi.work / "some.yaml")
    shutil.copy(Path(__file__).with_name("program_with_components.py"), installed_with_pulumi.work / "program.py")

    done = json.loads(installed_with_pulumi.python("program.py", "some.yaml"))

    assert str(installed_with_pulumi.programs.parent) in done["file"]
    assert ["kubernetes:helm.sh/v3:Release", "gpu-operator-gpu-operator"] in done["registered"]
    assert ["pulumi-python:dynamic/gpu-fabric:QueueRelease", "kueue-release"] in done["registered"]
    assert done["modules"] == []
    assert done["recorded"] != []
    assert all("gpu_fabric.components." in text for text in done["recorded"])


def test_a_clones_folder_serves_the_components_of_the_wheel(
    root: Path, installed_with_pulumi: Installed, tmp_path: Path
) -> None:
    folder = shutil.copytree(root / "components", tmp_path / "clone" / "components")
    done = run_in([installed_with_pulumi.programs / "python", folder, "schema"], tmp_path)

    assert done.stdout == (root / "docs/schema/components.json").read_text(encoding="utf-8"), done.stderr
    assert installed_with_pulumi.python("-m", "gpu_fabric.components", "schema") == done.stdout


def test_a_stack_file_is_planned_and_what_is_printed_is_what_the_checkout_prints(
    root: Path, installed: Installed, stack_file: str
) -> None:
    here = CliRunner().invoke(app, ["plan", "-f", str(installed.work / stack_file), "--format", "json"])
    assert json.loads(installed.output("plan", "-f", stack_file, "--format", "json")) == json.loads(here.stdout)
    assert installed.output("--version") == f"gpu-fabric {gpu_fabric.__version__}\n"


def test_the_plug_in_of_kubectl_is_installed_and_takes_the_arguments_of_attach(installed: Installed) -> None:
    usage = run_in([installed.programs / "kubectl-fabric_attach", "--help"], installed.work).stdout

    assert usage == installed.output("attach", "--help") != ""


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "-h"),
        ("plan", "-f", "some.yaml"),
        ("plan", "-f", "some.yaml", "--format", "json"),
        ("plan", "-f", "some.yaml", "--format", "html"),
        ("attach", "job.yaml", "-f", "some.yaml"),
        ("verdict", "healthy.json", "--bar", "1"),
        ("schema", "stack"),
        ("schema", "contract"),
        ("reference", "configuration"),
        ("shapes",),
    ],
)
def test_the_oldest_versions_that_are_allowed_print_the_same(
    words: tuple[str, ...], root: Path, installed_oldest: Installed
) -> None:
    work = installed_oldest.work
    shutil.copy(root / "examples/Pulumi.doks-h200.yaml", work / "some.yaml")
    shutil.copy(root / "examples/results/healthy.json", work)
    (work / "job.yaml").write_text(JOB)

    printed = installed_oldest.output(*words)

    if words[0] in ("attach", "verdict", "reference") or "json" in words:
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(work)
            assert printed == CliRunner().invoke(app, list(words)).stdout
