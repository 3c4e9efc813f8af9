"""The catalog's values for pull secrets and proxies against those of the real charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chart_values import TYPED, upstream_version

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.chart import value_at

UpstreamValues = Callable[[str, str], dict[str, Any]]

# Read by templates, and in the values as a comment or not at all.
BY_TEMPLATES_ALONE = {
    "node-feature-discovery.imagePullSecrets",
    "sriov-network-operator.imagePullSecrets",
    "dcgm.imagePullSecrets",
    "dcgmExporter.imagePullSecrets",
    "ofedDriver.env",
}
# In the values, and read by no template, or of a part that no stack installs.
NOT_READ = {
    "kataManager.imagePullSecrets",
    # Of the DRA driver, which no stack installs.
    "draDriver.imagePullSecrets",
    "kueueViz.backend.imagePullSecrets",
    "kueueViz.frontend.imagePullSecrets",
    "multus.multusCNI.image.imagePullSecrets",
    "plugins.image.imagePullSecrets",
    "rdma.rdmaSharedDevicePlugin.image.imagePullSecrets",
    "spiderpoolInit.image.imagePullSecrets",
}
NAMES = ("imagePullSecrets", "pullSecrets", "image_pull_secret")


def places(values: dict[str, Any], path: str = "") -> Iterator[str]:
    """The paths of all values for pull secrets."""
    for key, value in values.items():
        where = f"{path}.{key}" if path else key
        if key in NAMES:
            yield where
        elif isinstance(value, dict):
            yield from places(value, where)


@pytest.mark.parametrize(("chart", "version"), TYPED, ids=str)
def test_every_value_for_pull_secrets_is_one_of_the_charts_and_none_is_left_out(
    upstream_values: UpstreamValues, chart: str, version: str
) -> None:
    theirs, keys = (
        upstream_values(chart, upstream_version(chart, version)),
        catalog().chart_versions[chart][version].pull_secrets,
    )
    ours = {*keys.names, *keys.objects, *keys.single}

    assert ours - BY_TEMPLATES_ALONE == {*places(theirs)} - NOT_READ - BY_TEMPLATES_ALONE
    assert {key: value_at(theirs, key) for key in ours & {*places(theirs)}} == {
        key: "" if key in keys.single else [] for key in ours & {*places(theirs)}
    }


@pytest.mark.parametrize(("chart", "version"), TYPED, ids=str)
def test_a_proxys_variables_go_into_a_list_of_the_chart_and_its_switches_are_the_charts(
    upstream_values: UpstreamValues, chart: str, version: str
) -> None:
    theirs, known = upstream_values(chart, upstream_version(chart, version)), catalog().chart_versions[chart][version]

    for row in known.proxy:
        assert row.at in BY_TEMPLATES_ALONE or value_at(theirs, row.at) == []
        assert {path: value_at(theirs, path) for path in row.when} == row.when
    for part in known.pull_secrets.lacking:
        assert {path: value_at(theirs, path) for path in part.when} == part.when
