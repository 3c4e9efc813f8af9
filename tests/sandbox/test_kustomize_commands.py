"""The files for kustomize, applied by the commands of their own page: the API server takes them, in that order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from changes import changed
from driver import STACK, Sandbox
from lacking_fields import lacking

from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.render.folder import write_files
from gpu_fabric.render.gitops.files import gitops_files
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.spec.load import read_document
from sandbox.home import project_root
from sandbox.kubernetes_api import object_path
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

# Each is a chart's folder in the place of the one that kustomize would download.
STAND_INS = project_root() / "sandbox" / "charts"


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The development stack with the vendors' charts."""
    document = changed(read_document(STACK, project_root()), {"software.charts": "upstream"})
    return prepare(document, for_up=False).plan


@pytest.fixture
def folder(plan: Plan, tmp_path: Path) -> Path:
    """Its files for kustomize, with the stand-in charts where kustomize looks before it downloads."""
    write_files(tmp_path / "out", gitops_files(plan, "kustomize", Place(stack=plan.stack, repository=None, path="out")))
    for release in plan.releases:
        charts = tmp_path / "out" / "steps" / release.name / "charts" / f"{release.chart.name}-{release.chart.version}"
        shutil.copytree(STAND_INS / plan.release_line / release.name, charts / release.chart.name)
    return tmp_path / "out"


def _commands(folder: Path) -> str:
    """The commands of the page, wave after wave, with the kustomize that is in kubectl."""
    blocks = re.findall(r"```sh\n(.*?)```", (folder / "NOTES.md").read_text(), re.DOTALL)
    assert len(blocks) > 3
    helm = ensure(["helm"], Progress()).folder("helm") / "helm"
    script = "".join(blocks).replace(
        "kustomize build --enable-helm", f"kubectl kustomize --enable-helm --helm-command={helm}"
    )
    return "set -e -o pipefail\n" + script.replace("kustomize build", "kubectl kustomize")


def test_a_stacks_files_are_applied_wave_after_wave_and_every_object_is_there_as_planned(
    cluster: Sandbox, plan: Plan, folder: Path
) -> None:
    cluster.run("up", "-s", STACK)
    path = f"{cluster.home.bin}:{os.environ['PATH']}"
    applied = subprocess.run(
        ["bash", "-c", _commands(folder)],
        cwd=folder,
        env={**os.environ, "PATH": path, "KUBECONFIG": str(cluster.home.kubeconfig)},
        capture_output=True,
        text=True,
    )
    assert applied.returncode == 0, applied.stdout + applied.stderr
    for entry in plan.objects:
        wanted = entry.object.manifest()
        assert lacking(wanted, _live(cluster, wanted)) == [], f"{wanted['kind']} {entry.name}"


def _live(sandbox: Sandbox, wanted: dict[str, Any]) -> dict[str, Any]:
    """An object as the API server has it."""
    path = object_path(sandbox.api, wanted, "default")
    assert path is not None
    return sandbox.api.get(path)
