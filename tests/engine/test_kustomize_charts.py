"""Charts as kustomize builds them for `plan --as kustomize`: what Helm runs at a deletion is not in the output."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from rendered_charts import Helm
from rich.console import Console

from gpu_fabric.plan.records import ChartReference, HelmRelease
from gpu_fabric.render.gitops.kustomize import kustomize_files
from gpu_fabric.render.gitops.units import Unit
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

AT_APPLICATION = {"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
"""The events of Helm at which `kubectl apply` of a release is what Helm does (helm.sh/docs/topics/charts_hooks)."""

VERSION = "1.2.3"


@pytest.fixture
def build() -> list[str]:
    """kubectl's kustomize with Helm, as NOTES.md has `kustomize build --enable-helm`."""
    kubectl = ensure(["core"], Progress(Console(stderr=True))).role("kubectl")
    return [*kubectl, "kustomize", "--enable-helm", f"--helm-command={Helm().command}", "--helm-kube-version=1.36.3"]


def written(folder: Path, chart: Path) -> Path:
    """The files of a release of a chart; the chart is where kustomize looks before it downloads."""
    place = ChartReference(name=chart.name, version=VERSION, repository="https://charts.invalid")
    release = HelmRelease(name=chart.name, namespace="operators", chart=place, values={}, timeout=600)
    unit = Unit(name="unit", step="unit", after=(), wave=0, release=release, timeout=600)
    for path, text in kustomize_files([unit]).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    shutil.copytree(chart, folder / "steps" / "unit" / "charts" / f"{chart.name}-{VERSION}" / chart.name)
    return folder / "steps" / "unit"


def built(build: list[str], folder: Path) -> list[dict[str, Any]]:
    result = subprocess.run([*build, str(folder)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return [entry for entry in yaml.safe_load_all(result.stdout) if entry]


def names(objects: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(entry["kind"], entry["metadata"]["name"]) for entry in objects}


HOOK = """
apiVersion: {group}
kind: {kind}
metadata:
  name: {name}
  annotations: {{helm.sh/hook: "{event}"}}
---"""


def test_each_event_of_helm_is_decided_and_so_is_what_is_no_job(build: list[str], tmp_path: Path) -> None:
    """A chart with a hook of every event that Helm knows, and of those combinations that charts have."""
    single = ("pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", *sorted(AT_APPLICATION))
    chart = tmp_path / "hooked"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: hooked\nversion: {VERSION}\n")
    kinds = (("batch/v1", "Job"), ("v1", "ServiceAccount"), ("rbac.authorization.k8s.io/v1", "ClusterRole"))
    (chart / "templates" / "hooks.yaml").write_text(
        "".join(
            HOOK.format(group=group, kind=kind, event=event, name=event.replace(",", "-and-"))
            for event in (*single, "pre-install,pre-upgrade", "post-install,post-upgrade", "pre-install,pre-delete")
            for group, kind in kinds
        )
    )
    found = names(built(build, written(tmp_path / "out", chart)))
    expected = {*AT_APPLICATION, "pre-install-and-pre-upgrade", "post-install-and-post-upgrade"}
    assert found == {(kind, name) for _, kind in kinds for name in {*expected, "pre-install-and-pre-delete"}}
