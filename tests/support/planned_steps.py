"""Plans with something else in one of their steps."""

from collections.abc import Iterable

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import Item


def with_items(plan: Plan, name: str, items: Iterable[Item]) -> Plan:
    """The plan with these items in a step that it has; without the step where there are none."""
    changed = tuple(items)
    assert plan.step(name) is not None, name
    steps = (step.model_copy(update={"items": changed}) if step.name == name else step for step in plan.steps)
    return plan.model_copy(update={"steps": tuple(step for step in steps if step.items)})
