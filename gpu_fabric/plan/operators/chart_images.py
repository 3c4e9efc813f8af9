"""The images of a chart with its values: what they are, and the values by which they come from a mirror."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from gpu_fabric.catalog import ChartImage, ChartName, ChartVersion
from gpu_fabric.catalog.chart import value_at
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.values import merged

Values = Mapping[str, JsonValue]


class RunImage(NamedTuple):
    """An image that a chart runs: its reference, and what the catalog knows of it."""

    reference: str
    row: ChartImage
    digest: str | None


def run_images(known: ChartVersion, values: Values) -> Iterator[RunImage]:
    """The images that a chart runs with its values, as its pods name them."""
    for row in known.images:
        if not row.runs(values):
            continue
        parts = _parts(known, row, values)
        fixed = row.digest_key and value_at(values, row.digest_key)
        if isinstance(fixed, str) and fixed:
            parts = (*parts[:-1], fixed)
        tag = parts[-1] if len(parts) > 1 else ""
        path = "/".join(parts[:-1] if len(parts) > 1 else parts)
        reference = f"{path}{'@' if tag.startswith('sha256:') else ':'}{tag}" if tag else path
        yield RunImage(reference, row, row.digest if parts == row.image else None)


def with_mirrors(case: Case, name: ChartName, version: str, values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The values with every image that they make the chart run coming from the stack file's mirrors."""
    if not case.spec.software.registries:
        return values
    known, result = case.known.chart_versions[name][version], values
    for row in known.images:
        # The value that stands for all registries is one that the stack file itself named.
        if not row.runs(values) or (known.override and value_at(values, known.override)):
            continue
        place, key = _parts(known, row, values)[0], known.keys_of(row)[0]
        if place and (mirror := case.pulled(place)) != place:
            result = merged(result, _nested(key, mirror))
    return result


def _parts(known: ChartVersion, row: ChartImage, values: Values) -> tuple[str, ...]:
    found = (value_at(values, key) for key in known.keys_of(row))
    parts = tuple(
        value if isinstance(value, str) and value else default for value, default in zip(found, row.image, strict=True)
    )
    override = known.override and value_at(values, known.override)
    return (override, *parts[1:]) if isinstance(override, str) and override else parts


def _nested(path: str, value: JsonValue) -> dict[str, JsonValue]:
    first, _, rest = path.partition(".")
    return {first: _nested(rest, value) if rest else value}
