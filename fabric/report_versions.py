"""Which software a plan brings, with its versions: charts, and the images that the stack itself names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabric.plan import Plan

CHART_COLUMNS = ("chart", "version", "namespace", "from")
IMAGE_COLUMNS = ("image", "named by")


def chart_rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    """A row per chart, in the order in which they are installed."""
    for release in plan.releases:
        chart = release.chart
        place = f"{chart.path}, a stand-in" if chart.path else chart.repository or "-"
        yield (chart.name, chart.version, release.namespace, place)


def image_rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    """A row per image that the stack's objects or its values of charts name; a chart's own defaults are the chart's."""
    named: dict[str, dict[str, None]] = {}
    holders: list[tuple[str, Any]] = [(f"values of chart {entry.name}", entry.values) for entry in plan.releases]
    holders += [(f"{entry.object.kind} {entry.name}", entry.object.manifest()) for entry in plan.objects]
    for holder, content in holders:
        for image in _images(content):
            named.setdefault(image, {})[holder] = None
    for image in sorted(named):
        yield image, ", ".join(named[image])


def _images(value: Any) -> Iterator[str]:
    """References anywhere in a manifest: whole ones, and the policy's in three fields."""
    if isinstance(value, dict):
        image, repository, version = (value.get(field) for field in ("image", "repository", "version"))
        if isinstance(image, str):
            reference = f"{repository}/{image}:{version}" if repository and version else image
            # Without a version it is no more than a name among a chart's values.
            if ":" in reference:
                yield reference
        for inner in value.values():
            yield from _images(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _images(inner)
