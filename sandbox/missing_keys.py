"""The chart values of a stack file that have no effect in the sandbox, because its stand-in charts lack the keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from gpu_fabric.plan import Plan
    from gpu_fabric.spec.stack import StackSpec

FILE = Path(__file__).parent / "charts" / "missing_keys.yaml"


def missing_keys() -> dict[str, dict[str, list[str] | None]]:
    """By release line and chart the real keys that the stand-in lacks; None where the real values were not at hand."""
    found: dict[str, dict[str, list[str] | None]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found


def values_without_effect(spec: StackSpec, plan: Plan) -> Iterator[str]:
    """A line for each stand-in chart of the plan with the keys that the user wrote and that it does not have."""
    from gpu_fabric.plan.operators import own_charts

    bundled = {release.name for release in plan.releases if release.chart.path is not None}
    written = {chart.name: chart.written(spec) for chart in own_charts() if chart.name in bundled}
    if not any(written.values()):
        return
    missing = missing_keys()[spec.software.release_line]
    for name, values in written.items():
        if keys := [key for key in missing[name] or () if _has_key(values, key)]:
            effect = "it has no effect" if len(keys) == 1 else "they have no effect"
            yield f"{name}: the stand-in chart does not have {', '.join(keys)}: {effect} in the sandbox"


def _has_key(values: Mapping[str, Any], path: str) -> bool:
    """Whether values have something at a dotted path, null included."""
    first, _, rest = path.partition(".")
    if not rest:
        return first in values
    below = values.get(first)
    return isinstance(below, Mapping) and _has_key(below, rest)
