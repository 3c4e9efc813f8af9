"""Helm releases of the plan as resources."""

from __future__ import annotations

from typing import Any

from gpu_fabric.plan.operators.releases import merged
from gpu_fabric.plan.records import ChartReference, HelmRelease
from gpu_fabric.resources.resource import Handling, Resource

RELEASE = "kubernetes:helm.sh/v3:Release"
"""The type of a release's resource."""


def release_resource(component: str, planned: HelmRelease) -> Resource:
    """A release as planned, which is ready when every object of the chart is ready.

    The name is fixed, so that names inside the chart do not change. The namespace is a resource of its own, so that it
    has its Pod Security labels. All values come from this run. New objects of a failed upgrade are deleted, and a
    failed installation is kept for inspection.
    """
    chart = planned.chart
    repository = None if chart.repository is None or chart.repository.startswith("oci://") else chart.repository
    return Resource(
        component=component,
        name=f"{component}-{planned.name}",
        type=RELEASE,
        properties={
            "name": planned.name,
            "namespace": planned.namespace,
            "chart": _location(chart),
            "version": chart.version,
            **({} if repository is None else {"repositoryOpts": {"repo": repository}}),
            "values": _values(planned),
            "timeout": planned.timeout,
            "createNamespace": False,
            # Each revision is stored with all values as a secret in the cluster; by default without limit.
            "maxHistory": 5,
            # Without it, Helm keeps the old values when the new set is empty.
            "resetValues": True,
            # Not atomic, which would delete a failed installation and its evidence.
            "cleanupOnFail": True,
            "skipAwait": False,
            "waitForJobs": True,
            # The provider's mark of its newer form of releases, which its Python class always sends.
            "compat": "true",
        },
        # The name is fixed, so the old release must be deleted before its replacement can be created.
        handling=Handling(delete_before_replace=True),
    )


def _values(planned: HelmRelease) -> dict[str, Any]:
    """The planned values, with a leaf for each value from a secret of the stack's configuration."""
    values: dict[str, Any] = dict(planned.values)
    for entry in planned.secret_values:
        *folders, last = entry.path.split(".")
        nested: dict[str, Any] = {last: entry}
        for key in reversed(folders):
            nested = {key: nested}
        values = merged(values, nested)
    return values


def _location(chart: ChartReference) -> str:
    if chart.path is not None:
        return f"./{chart.path}"
    if chart.repository is not None and chart.repository.startswith("oci://"):
        return f"{chart.repository}/{chart.name}"
    return chart.name
