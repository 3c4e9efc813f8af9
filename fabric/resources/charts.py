"""Charts of the plan as resources."""

from __future__ import annotations

from typing import Any

from fabric.plan import ChartReference, HelmRelease
from fabric.plan.values import merged
from fabric.resources.resource import Handling, Resource

RELEASE = "kubernetes:helm.sh/v3:Release"
"""The type of a release."""


def release_resource(component: str, planned: HelmRelease) -> Resource:
    """A release exactly as planned; ready when every object of the chart is.

    Decisions made here once: a fixed name (so that names inside the chart stay), an own Namespace resource (so that
    Pod Security labels are there), all values from this run alone, failed upgrades cleaned up but kept for a look.
    """
    chart = planned.chart
    repository = _repository(chart)
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
            # Each revision keeps a secret with all values in the cluster; unlimited by default.
            "maxHistory": 5,
            # Helm otherwise keeps the old values when the new set is empty.
            "resetValues": True,
            # Not atomic: that would remove a failed installation together with the evidence.
            "cleanupOnFail": True,
            "skipAwait": False,
            "waitForJobs": True,
            # The provider's own mark of its newer form of releases, which its Python class always sends.
            "compat": "true",
        },
        # The name is fixed, so the old release must be gone before a replacement can be made.
        handling=Handling(delete_before_replace=True),
    )


def _values(planned: HelmRelease) -> dict[str, Any]:
    """The planned values, with a leaf for each that comes from a secret of the stack's configuration."""
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


def _repository(chart: ChartReference) -> str | None:
    return None if chart.repository is None or chart.repository.startswith("oci://") else chart.repository
