"""The catalog's images of charts against the defaults in the real charts' values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
import yaml
from chart_values import TYPED
from upstream_definitions import UPSTREAM

from gpu_fabric.catalog import Component, catalog
from gpu_fabric.catalog.chart import value_at

# The charts whose values lie beside this repository at the version of a line, or of its last candidate. Of the one of
# line 23.10 only a candidate is public, whose images come from more staging registries than one.
AT_HAND = [
    ("gpu-operator", "v26.7.0"),
    ("gpu-operator", "v26.3.3"),
    ("gpu-operator", "v25.10.1"),
    ("gpu-operator", "v23.9.1"),
    ("network-operator", "26.7.0"),
    ("network-operator", "26.4.1"),
    ("network-operator", "26.1.2"),
    ("spiderpool", "1.2.2"),
]
# Of subcharts, whose own values the chart's do not repeat.
ELSEWHERE = ("node-feature-discovery.", "sriov-network-operator.images.metricsExporter")

# A candidate's values name the staging registry and its own tag; the published charts of the lines before have their
# controller in another repository than the candidates of the same lines.
CANDIDATES = {("network-operator", "26.7.0"): "26.7.0-rc.2"}

UpstreamValues = Callable[[str, str], dict[str, Any]]


def published(upstream_values: UpstreamValues, chart: str, version: str) -> dict[str, Any]:
    """The chart's values; of a candidate with the published registry and the release's tag."""
    candidate = CANDIDATES.get((chart, version))
    if candidate is None:
        return upstream_values(chart, version)
    text = json.dumps(upstream_values(chart, candidate))
    values: dict[str, Any] = json.loads(text.replace("nvcr.io/nvstaging", "nvcr.io/nvidia").replace(candidate, version))
    assert values["operator"]["repository"] == "nvcr.io/nvidia/mellanox"
    values["operator"]["repository"] = upstream_values(chart, "26.4.1")["operator"]["repository"]
    return values


@pytest.mark.parametrize(("chart", "version"), AT_HAND, ids=str)
def test_images_and_switches_are_the_charts_own_defaults(
    upstream_values: UpstreamValues, chart: str, version: str
) -> None:
    theirs, known = published(upstream_values, chart, version), catalog().chart_versions[chart][version]

    for row in known.images:
        for key, ours in zip(known.keys_of(row), row.image, strict=True):
            default = value_at(theirs, key)
            # Without a tag the chart takes its own version.
            assert default in (ours, None, "") or key.startswith(ELSEWHERE), key
            assert default or key.endswith(("version", "tag")) or key.startswith(ELSEWHERE), key
        for path, ours in {**row.when, **row.any_of}.items():
            assert value_at(theirs, path) is ours, path


@pytest.mark.parametrize(
    ("chart", "version"), [row for row in TYPED if row != ("network-operator", "23.10.0")], ids=str
)
def test_every_value_that_names_an_image_is_one_of_the_charts(
    upstream_values: UpstreamValues, chart: str, version: str
) -> None:
    theirs, known = published(upstream_values, chart, version), catalog().chart_versions[chart][version]
    keys = [key for row in known.images for key in known.keys_of(row) if not key.startswith(ELSEWHERE)]

    # A key that no template reads leaves the image where it was, mirror or not.
    lost = [key for key in keys if key.rpartition(".")[2] not in (value_at(theirs, key.rpartition(".")[0]) or {})]
    assert [key for key in lost if not key.endswith(("tag", "version"))] == []


@pytest.mark.parametrize(("chart", "version"), AT_HAND[:4], ids=str)
def test_no_image_of_the_gpu_operators_values_is_left_out(
    upstream_values: UpstreamValues, chart: str, version: str
) -> None:
    known = catalog().chart_versions[chart][version]
    places = {
        key.rpartition(".")[0] for row in known.images for key in known.keys_of(row) if key.endswith(".repository")
    }

    assert set(_places(upstream_values(chart, version))) <= places | {"vgpuManager"}


def _places(values: dict[str, Any], path: str = "") -> list[str]:
    found = [path] if isinstance(values.get("repository"), str) and isinstance(values.get("image"), str) else []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _places(value, f"{path}.{key}" if path else key)
    return found


# The components' names in the Network Operator's release files, which list what belongs together.
LISTED: dict[Component, str] = {
    "ofedDriver": "Mofed",
    "sriovDevicePlugin": "SriovDevicePlugin",
    "rdmaSharedDevicePlugin": "RdmaSharedDevicePlugin",
    "ibKubernetes": "IbKubernetes",
    "nvIpam": "nvIpam",
    "multus": "Multus",
    "cniPlugins": "CniPlugins",
    "ipoib": "Ipoib",
    "sriovCni": "SriovCni",
    "ibSriovCni": "SriovIbCni",
    "rdmaCni": "rdmaCni",
    "nicConfigurationOperator": "nicConfigurationOperator",
    "nicConfigurationDaemon": "nicConfigurationConfigDaemon",
    "spectrumXOperator": "spectrumXOperator",
    "xPlane": "xPlaneService",
}
OF_PLANES = {"nicConfigurationOperator", "nicConfigurationDaemon", "spectrumXOperator", "xPlane"}
# The release's own tag of the network drivers, which its candidate does not have yet.
TAG_OF_THE_RELEASE = {"26.7": ("doca3.5.0-26.07-0.7.1.0-0", "doca3.5.0-26.07-0.7.7.0-0")}


@pytest.mark.parametrize(("line", "file"), [("26.7", "26.7.0-rc.2"), ("26.4", "26.4.1"), ("26.1", "26.1.2")])
def test_the_operand_images_of_a_line_are_those_of_the_operators_release_file(line: str, file: str) -> None:
    release = file.partition("-")[0]
    text = (UPSTREAM / "releases" / f"network-operator-{file}.yaml").read_text()
    text = text.replace("nvcr.io/nvstaging", "nvcr.io/nvidia").replace(f"v{file}", f"v{release}")
    theirs = yaml.safe_load(text.replace(*TAG_OF_THE_RELEASE.get(line, ("", ""))))
    images, keys = catalog().releases[line].images, ("repository", "version", "image")

    assert set(LISTED) == set(get_args(Component))
    # Older lines are not offered with planes.
    assert set(LISTED) - set(images.names) == (set() if line == "26.7" else OF_PLANES)
    assert {name: images.image(name).model_dump() for name in images.names} == {
        name: {key: theirs[LISTED[name]][key] for key in keys} for name in images.names
    }
