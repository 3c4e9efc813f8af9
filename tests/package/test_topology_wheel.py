"""`pip install` of the linter's wheel, which lints files where there is nothing else of this repository."""

import json
import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from installed_wheel import Installed, built_wheel, install_in_environment, run_in
from topology_texts import LEAN, full, put

from gpu_fabric.nccl.machines import machines_json

# What a checkout alone needs: how the wheel is made.
LEFT_OUT = {"hatch_build.py", "pyproject.toml"}
BAD = put("0000:0f", "0000:0F")(LEAN)
# What a new environment has.
SEEDED = {"pip", "setuptools", "wheel", "packaging"}


@pytest.fixture(scope="session")
def topology_wheel(root: Path) -> Path:
    """The wheel of this checkout's linter."""
    return built_wheel(root / "nccl_topology", root / "gpu_fabric")


@pytest.fixture(scope="session")
def linter(topology_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a clean environment, and a folder with files."""
    made = install_in_environment(topology_wheel, tmp_path_factory.mktemp("topology"))
    for name, text in (("good", LEAN), ("bad", BAD), ("h100", full("BM.GPU.H100.8"))):
        (made.work / f"{name}.xml").write_text(text, encoding="utf-8")
    return made


def test_the_wheel_has_every_file_of_the_linter_and_the_machines_of_the_catalog(
    root: Path, topology_wheel: Path
) -> None:
    files = (path for path in (root / "nccl_topology").iterdir() if path.is_file() and path.name not in LEFT_OUT)
    with ZipFile(topology_wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}

    assert packed == {
        "gpu_fabric_nccl_topology/machines.json": machines_json().encode(),
        **{f"gpu_fabric_nccl_topology/{path.name}": path.read_bytes() for path in files},
    }


def test_it_installs_nothing_else(linter: Installed) -> None:
    assert linter.packages - SEEDED == {"gpu-fabric-nccl-topology"}


def test_it_lints_good_and_bad_files_and_knows_the_machines(linter: Installed) -> None:
    def lint(*arguments: str) -> tuple[int, str]:
        done = run_in([linter.programs / "nccl-topology", "lint", *arguments], linter.work)
        assert done.stderr == ""
        return done.returncode, done.stdout

    assert lint("good.xml") == (0, "1 file: no findings\n")
    assert lint("h100.xml") == lint("h100.xml", "--shape", "BM.GPU.H100.8") == (0, "1 file: no findings\n")
    assert lint("good.xml", "bad.xml") == (
        1,
        "bad.xml:4: error TOP028: busid '0000:0F:00.0': it never equals a device's, and NCCL drops what hangs here\n"
        "    -> write dddd:bb:dd.f in lower case, such as 0000:0c:00.0\n"
        "2 files: 1 error, 0 warnings\n",
    )
    status, report = lint("h100.xml", "--shape", "BM.GPU.B4.8", "--format", "json")
    assert (status, "TOP036" in {found["id"] for found in json.loads(report)["files"][0]["findings"]}) == (1, True)


def test_the_pages_program_runs_with_it(root: Path, linter: Installed) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (root / "docs/topology-lint.md").read_text("utf-8"), re.DOTALL)
    assert linter.python("-c", f"{program}\nprint(len(reading.elements), *(each.rule for each in problems))") == "1\n"
