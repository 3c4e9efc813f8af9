"""The stack files that `gpu-fabric init` writes, previewed by the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run
from previews import Engine
from whole_lives import assert_just_what_is_planned

from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file

pytestmark = pytest.mark.engine

ANSWERS = {
    "existing": ("--shape", "BM.GPU.H100.8", "--kubeconfig", "kubeconfig"),
    "doks": ("--shape", "gpu-h200x8-1128gb-fabric-contracted", "--region", "nyc2"),
    "oke": (
        *("--shape", "BM.GPU.H100.8", "--region", "us-ashburn-1", "--api-from", "203.0.113.0/24"),
        *("--compartment", "ocid1.compartment.oc1..aaaaaaaaexample"),
    ),
}


@pytest.mark.parametrize("provider", ANSWERS)
def test_a_written_file_previews_and_creates_just_what_its_plan_holds(
    provider: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"written-{provider}"
    done = run("init", name, "--provider", provider, "--nodes", "2", *ANSWERS[provider])
    assert done.exit_code == 0, done.stderr
    file = tmp_path / f"Pulumi.{name}.yaml"

    preview = engine.preview(file)

    assert preview.status == 0, preview.printed
    assert set(preview.steps.values()) == {"create"}
    plan = prepare(read_file(file), for_up=False)
    assert_just_what_is_planned((step["newState"] for step in preview.digest["steps"]), plan)
