"""What the release workflow makes, by its own steps in a copy of the checkout, and an installation from that."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from own_files import own_files
from workflow_steps import Ended, job_of, run_steps

from gpu_fabric import __version__
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.recipes import choose, user_cache

# What a tag gives; files that the tests have in the place of the service.
TAG = {"github.ref_name": f"v{__version__}"}


@pytest.fixture(scope="module")
def checkout(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project's own files."""
    copy = tmp_path_factory.mktemp("release") / "checkout"
    for name in own_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, copy / name, follow_symlinks=False)
    return copy


def _run(root: Path, checkout: Path, job: str, expressions: Mapping[str, str], *left_out: str) -> list[Ended]:
    """The ends of a job's steps; the packages that it installs first are those of the tests."""
    found = job_of(root / ".github/workflows/release.yaml", job)
    caches = {"UV_CACHE_DIR": _uv_cache(), "XDG_CACHE_HOME": str(user_cache().parent)}
    steps: list[dict[str, Any]] = [
        {**step, "env": caches | step.get("env", {})}
        for step in found["steps"]
        if "run" in step and step["name"] not in ("Install what builds", *left_out)
    ]
    home = checkout.parent / f"home-{job}"
    home.mkdir(exist_ok=True)
    return list(run_steps({"steps": steps}, checkout, home / "summary.md", expressions, home))


def _uv_cache() -> str:
    found = subprocess.run([sys.executable, "-m", "uv", "cache", "dir"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def test_a_tag_that_is_not_the_version_ends_the_release_before_anything_is_built(root: Path, checkout: Path) -> None:
    first, *_ = _run(root, checkout, "wheels", {"github.ref_name": "v0.0.1"})

    assert (first.name, first.status) == ("Compare the tag with the version", 1)
    assert first.output == f"the tag is v0.0.1, and gpu_fabric/__init__.py has {__version__}\n"
    assert not (checkout / "dist").exists()


def test_the_wheels_are_built_installed_listed_and_checked(root: Path, checkout: Path) -> None:
    ended = _run(root, checkout, "wheels", TAG)
    dist = checkout / "dist"
    wheels = {file.name.split("-")[0] for file in dist.glob("*.whl")}
    listed = json.loads((dist / "gpu-fabric.cdx.json").read_text())

    assert {step.name: step.output for step in ended if step.status} == {}
    assert wheels == {"gpu_fabric", "gpu_fabric_nccl_topology", "gpu_fabric_policy", "gpu_fabric_sandbox"}
    assert listed["bomFormat"] == "CycloneDX"
    names = {entry["name"]: entry.get("version") for entry in listed["components"]}
    assert names.keys() >= {"gpu-fabric", "gpu-fabric-policy", "gpu-fabric-sandbox", "pydantic", "pulumi"}
    assert names["gpu-fabric"] == __version__
    assert (dist / "CHANGES.md").read_text().startswith(f"## {__version__}")
    assert (dist / "CHANGES.md").read_text().count("\n## ") == 0

    shutil.copytree(dist, checkout / "release")
    [sums] = _run(root, checkout, "attest", {}, "Keep the signed statements with the files")
    assert (sums.status, sums.output) == (0, "")
    checked = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=checkout / "release", capture_output=True
    )
    assert (checked.returncode, checked.stdout) == (0, b"")
    assert len((checkout / "release/SHA256SUMS").read_text().splitlines()) == len(list(dist.iterdir()))


# Four hundred megabytes are built, packed, and unpacked twice.
@pytest.mark.timeout(1500)
def test_the_packed_toolchain_takes_the_place_of_every_build(
    root: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ensure(["core"], Progress(), built=True)
    address = {"github.server_url": f"file://{tmp_path}", "github.repository": "acme/gpu-fabric", **TAG}
    ended = _run(root, checkout, "toolchain", address)
    assert {step.name: step.output for step in ended if step.status} == {}
    published = tmp_path / "acme/gpu-fabric/releases/download" / TAG["github.ref_name"]
    shutil.copytree(checkout / "toolchain", published)
    [listed] = published.glob("prebuilt-*.yaml")
    [modules] = published.glob("modules-linux-*.txt")
    assert "github.com/pulumi/pulumi/pkg/v3" in modules.read_text()

    # A machine with nothing: no Go, no caches.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PREBUILT", str(listed))
    ensure(None, Progress())
    monkeypatch.delenv("PREBUILT")
    toolchain = ensure(None, Progress())

    for recipe in choose(None):
        folder = toolchain.folder(recipe.name)
        assert folder.is_relative_to(tmp_path / "cache"), recipe.name
        assert {file.name for file in folder.iterdir()} == set(recipe.outputs)
    version = subprocess.run([*toolchain.role("kwok"), "--version"], capture_output=True, text=True)
    assert version.stdout.startswith("kwok version")
    pulumi = subprocess.run([toolchain.engine_programs()[0], "version"], capture_output=True, text=True)
    assert pulumi.stdout == "v3.259.0\n"
