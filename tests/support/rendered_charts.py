"""The stand-in charts, rendered by Helm."""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from rich.console import Console
from rows import rows

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.operators.releases import merged
from sandbox.crds import CHARTS
from sandbox.failure import SandboxError
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

Values = dict[str, Any]
Objects = list[dict[str, Any]]

PINNED = {
    f"{line}/{name}": chart for line, release in catalog().releases.items() for name, chart in release.charts.items()
}
"""The release lines' charts, by `<line>/<chart>`."""

NODES_SYSTEM: Values = {"image": {"OSName": "ubuntu", "OSVer": "22.04", "Arch": "amd64"}}
"""What a stack has to tell the chart ofed-driver, which knows no default of it."""

# Values as stacks of each kind set them.
TYPICAL: tuple[tuple[str, Values], ...] = rows(__file__, "typical")


class Helm:
    """The sandbox's own Helm; every release is named like its chart's folder and lies in namespace `operators`."""

    def __init__(self) -> None:
        try:
            self.command = str(ensure(["helm"], Progress(Console(stderr=True))).folder("helm") / "helm")
        except SandboxError as error:
            pytest.fail(f"the toolchain cannot be had: {error.message} {error.remedy}", pytrace=False)

    def template(self, chart: str, values: Mapping[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
        """What Helm says to a chart with its own defaults but for the values given."""
        release = [chart.rpartition("/")[2], str(CHARTS / chart), "--namespace", "operators"]
        return subprocess.run(
            [self.command, "template", *release, "--kube-version", "1.36.3", "--values", "-", *options],
            input=json.dumps(values),
            capture_output=True,
            text=True,
        )

    def objects(self, chart: str, values: Values | None = None, *options: str) -> Objects:
        """What a chart makes of the values that its release line always sets and of those given."""
        result = self.template(chart, merged(PINNED[chart].values, values or {}), *options)
        assert result.returncode == 0, result.stderr
        return [document for document in yaml.safe_load_all(result.stdout) if document]


def of_kind(objects: Objects, kind: str) -> Objects:
    """Those of one kind."""
    return [entry for entry in objects if entry["kind"] == kind]


def only(objects: Objects, kind: str) -> dict[str, Any]:
    """The one object of a kind."""
    (found,) = of_kind(objects, kind)
    return found


def names(objects: Objects, kind: str) -> set[str]:
    """The names of all objects of a kind."""
    return {entry["metadata"]["name"] for entry in of_kind(objects, kind)}
