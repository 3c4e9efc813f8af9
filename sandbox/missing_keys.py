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
    """A line for each chart of the plan without a stand-in, or whose stand-in lacks keys that the user wrote."""
    from gpu_fabric.plan.operators import own_charts

    bundled = {release.name for release in plan.releases if release.chart.path is not None}
    if not bundled:
        return
    missing = missing_keys()[spec.software.release_line]
    for name in sorted(bundled - missing.keys()):
        yield f"{name}: the sandbox has no stand-in of this chart, so it cannot be installed there"
    for name, values in ((chart.name, chart.written(spec)) for chart in own_charts() if chart.name in bundled):
        if keys := [key for key in missing.get(name) or () if _has_key(values, key)]:
            effect = "it has no effect" if len(keys) == 1 else "they have no effect"
            yield f"{name}: the stand-in chart does not have {', '.join(keys)}: {effect} in the sandbox"


def _has_key(values: Mapping[str, Any], path: str) -> bool:
    """Whether values have something at a dotted path, null included."""
    first, _, rest = path.partition(".")
    if not rest:
        return first in values
    below = values.get(first)
    return isinstance(below, Mapping) and _has_key(below, rest)
