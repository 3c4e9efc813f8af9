"""The definitions in the stand-in charts: written where they are missing or old, from the typed models of today."""

import shutil
from pathlib import Path

import pytest
import yaml

from sandbox import crds
from sandbox.crds import CHARTS, crd_files, write_definitions
from sandbox.failure import SandboxError


@pytest.fixture
def charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Charts as a clone has them: what definitions are written from, and none of these."""
    for table in (*CHARTS.glob("kind*.yaml"), *CHARTS.glob("**/crds.yaml")):
        copy = tmp_path / table.relative_to(CHARTS)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(table, copy)
    monkeypatch.setattr(crds, "CHARTS", tmp_path)
    monkeypatch.setattr(crds, "_WRITTEN_FROM", tmp_path / ".definitions")
    return tmp_path


def test_the_charts_that_the_tests_render_carry_the_definitions_of_today() -> None:
    assert {path: path.read_text() for path, _ in crd_files()} == dict(crd_files())


def test_a_clone_gets_every_definition_once_and_again_only_what_has_gone_or_is_old(charts: Path) -> None:
    first = write_definitions()
    assert len(first) > 30
    assert write_definitions() == []

    first[0].unlink()
    assert first[0] in write_definitions()

    patches = yaml.safe_load((charts / "crds.yaml").read_text())
    patches["ippools.nv-ipam.nvidia.com"] = {"properties": {"spec": {"properties": {"added": {"type": "string"}}}}}
    (charts / "crds.yaml").write_text(yaml.safe_dump(patches))
    write_definitions()
    texts = [path.read_text() for path in first if path.name == "nv-ipam.nvidia.com_ippools.yaml"]
    assert len(texts) > 3
    assert all("added:" in text for text in texts)


def test_a_line_whose_definitions_are_those_of_another_has_its_patches_too(charts: Path) -> None:
    write_definitions()
    name = "gpu-operator/crds/nvidia.com_clusterpolicies.yaml"

    assert (charts / "26.7" / name).read_text() == (charts / "26.4" / name).read_text()
    assert "all-disabled" in (charts / "26.7" / name).read_text()


def test_a_folder_that_cannot_be_written_to_is_named_with_what_to_do(charts: Path) -> None:
    (charts / "26.4/gpu-operator").write_text("a file, where a folder is needed")

    with pytest.raises(SandboxError, match=r"26\.4/gpu-operator") as refused:
        write_definitions()
    assert "virtual environment" in refused.value.remedy
