"""The table of upgrades against the vendors' own definitions and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest
from upstream_definitions import definitions_in

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.chart import value_at
from gpu_fabric.catalog.upgrade import DefinitionsOf, FieldChange

UpstreamValues = Callable[[str, str], dict[str, Any]]

FOLDERS: dict[str, dict[str, tuple[str, ...]]] = {
    "gpu-operator": {
        "v23.9.1": ("gpu-operator-23.9.1",),
        "v25.10.1": ("gpu-operator-25.10.1",),
        "v26.3.3": ("gpu-operator-26.3.3",),
        "v26.7.0": ("gpu-operator-26.7.0",),
    },
    "network-operator": {
        "23.10.0": ("network-operator-23.10.0-rc.5",),
        "26.1.2": ("network-operator-26.1.2", "sriov-network-operator-in-26.1.2"),
        "26.4.1": ("network-operator-26.4.1", "sriov-network-operator-in-26.4.1"),
        "26.7.0": ("network-operator-26.7.0-rc.2", "sriov-network-operator-in-26.7.0-rc.2"),
    },
}
# The SR-IOV operator's part of 23.10.0 was not at hand, so that its kinds cannot be said to be new after it.
NOT_AT_HAND = "sriovnetwork.openshift.io"
HOPS = [(chart, old, new) for chart, versions in FOLDERS.items() for old, new in pairwise(versions)]


def fields(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The paths of all fields of a schema; `[]` stands for a list's entries and `.*` for a map's values."""
    for name, field in schema.get("properties", {}).items():
        where = f"{path}.{name}" if path else name
        yield where
        yield from fields(field, where)
    for inner, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(inner), dict):
            yield from fields(schema[inner], path + mark)


def highest(paths: set[str]) -> tuple[str, ...]:
    """The paths that are below no other."""
    return tuple(
        path for path in sorted(paths) if not any(path.startswith((f"{other}.", f"{other}[")) for other in paths)
    )


def of(chart: str, version: str) -> dict[str, set[str]]:
    """The fields of every definition of a chart."""
    return {
        name: set(fields(spec["versions"][0]["schema"]["openAPIV3Schema"]))
        for folder in FOLDERS[chart][version]
        for name, spec in definitions_in(folder)
    }


@pytest.mark.parametrize(("chart", "old", "new"), HOPS)
def test_what_definitions_gain_and_lose_is_what_the_vendors_own_do(chart: str, old: str, new: str) -> None:
    before, after = of(chart, old), of(chart, new)
    left_out = NOT_AT_HAND if (chart, old) == ("network-operator", "23.10.0") else " "
    changes = {
        name: FieldChange(adds=highest(after[name] - before[name]), drops=highest(before[name] - after[name]))
        for name in sorted(before.keys() & after.keys())
    }

    assert catalog().upgrades.definitions_between(chart, old, new) == DefinitionsOf(
        new=tuple(sorted(name for name in after.keys() - before.keys() if left_out not in name)),
        gone=tuple(sorted(before.keys() - after.keys())),
        changed={name: change for name, change in changes.items() if change != FieldChange()},
    )


@pytest.mark.parametrize("chart", FOLDERS)
def test_the_oldest_definitions_are_those_of_the_oldest_chart(chart: str) -> None:
    oldest = next(iter(FOLDERS[chart]))
    assert catalog().upgrades.definitions[chart][oldest].present == tuple(sorted(of(chart, oldest)))


@pytest.mark.parametrize(
    ("chart", "version", "on"),
    [
        ("gpu-operator", "v23.9.1", False),
        ("gpu-operator", "v25.10.1", True),
        ("gpu-operator", "v26.3.3", True),
        ("gpu-operator", "v26.7.0", True),
        ("network-operator", "26.1.2", True),
        ("network-operator", "26.4.1", True),
        ("network-operator", "26.7.0-rc.2", True),
    ],
)
def test_a_chart_applies_its_definitions_by_its_own_job_from_the_version_that_the_table_names(
    upstream_values: UpstreamValues, chart: str, version: str, on: bool
) -> None:
    job = catalog().upgrades.applied_by[chart]

    assert value_at(upstream_values(chart, version), job.value) is on


@pytest.mark.parametrize(
    ("chart", "version", "path", "value"),
    [
        ("gpu-operator", "25.10.1", "cdi.enabled", True),
        ("gpu-operator", "25.10.1", "ccManager.enabled", False),
        ("gpu-operator", "26.3.3", "ccManager.enabled", True),
        ("gpu-operator", "26.3.3", "dcgmExporter.serviceMonitor.enabled", False),
        ("gpu-operator", "26.7.0", "dcgmExporter.serviceMonitor.enabled", True),
        ("gpu-operator", "26.3.3", "driver.version", "580.126.20"),
        ("gpu-operator", "26.7.0", "driver.version", "595.91.07"),
        (
            "network-operator",
            "26.1.2",
            "operator.maintenanceOperator.requestorID",
            "nvidia.network-operator-driver-upgrade-controller",
        ),
        ("network-operator", "26.4.1", "operator.maintenanceOperator.requestorID", "nvidia.doca-driver-upgrade"),
        ("network-operator", "26.7.0-rc.2", "operator.priorityClassName", "system-node-critical"),
    ],
)
def test_the_defaults_that_the_table_calls_new_are_the_charts(
    upstream_values: UpstreamValues, chart: str, version: str, path: str, value: object
) -> None:
    assert value_at(upstream_values(chart, version), path) == value
