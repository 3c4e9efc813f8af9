"""The catalog's images of charts against the defaults in the real charts' values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.chart import value_at

# The charts whose values lie beside this repository at exactly the version of a line. Of the one of line 23.10 only a
# candidate is public, whose images come from a staging registry.
AT_HAND = [
    ("gpu-operator", "v26.3.3"),
    ("gpu-operator", "v23.9.1"),
    ("network-operator", "26.4.1"),
    ("spiderpool", "1.2.2"),
]
# Of subcharts, whose own values the chart's do not repeat.
ELSEWHERE = ("node-feature-discovery.", "sriov-network-operator.images.metricsExporter")

UpstreamValues = Callable[[str, str], dict[str, Any]]


@pytest.mark.parametrize(("chart", "version"), AT_HAND, ids=lambda value: str(value))
def test_images_and_switches_are_the_charts_own_defaults(
    upstream_values: UpstreamValues, chart: str, version: str
) -> None:
    theirs, known = upstream_values(chart, version), catalog().chart_versions[chart][version]

    for row in known.images:
        for key, ours in zip(known.keys_of(row), row.image, strict=True):
            default = value_at(theirs, key)
            # Without a tag the chart takes its own version.
            assert default in (ours, None, "") or key.startswith(ELSEWHERE), key
            assert default or key.endswith(("version", "tag")) or key.startswith(ELSEWHERE), key
        for path, ours in {**row.when, **row.any_of}.items():
            assert value_at(theirs, path) is ours, path


@pytest.mark.parametrize(
    ("chart", "version"),
    [*AT_HAND, ("jobset", "0.12.0"), ("lws", "0.8.0"), ("kueue", "0.19.2"), ("volcano", "1.15.1")],
    ids=lambda value: str(value),
)
def test_every_value_that_names_an_image_is_one_of_the_charts(
    upstream_values: UpstreamValues, chart: str, version: str
) -> None:
    theirs, known = upstream_values(chart, version), catalog().chart_versions[chart][version]
    keys = [key for row in known.images for key in known.keys_of(row) if not key.startswith(ELSEWHERE)]

    # A key that no template reads leaves the image where it was, mirror or not.
    lost = [key for key in keys if key.rpartition(".")[2] not in (value_at(theirs, key.rpartition(".")[0]) or {})]
    assert [key for key in lost if not key.endswith(("tag", "version"))] == []


@pytest.mark.parametrize(("chart", "version"), AT_HAND[:2], ids=lambda value: str(value))
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
