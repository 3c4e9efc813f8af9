"""A stack's outputs as its program reads them back from the engine."""

from typing import Any

from gpu_fabric.changes.footprint import applied_document, footprint
from gpu_fabric.plan import Plan


def outputs_of(plan: Plan) -> dict[str, Any]:
    """The outputs after an `up` of a plan, as far as the guard reads them."""
    return on_the_wire(
        {
            "applied": applied_document(footprint(plan)),
            "addressPlan": plan.addresses.model_dump(mode="json", by_alias=True, exclude_none=True),
            "fabric": plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
    )


def on_the_wire(value: Any) -> Any:
    """A value that went to the engine and back: it knows one kind of numbers, and keeps no key without a value."""
    if isinstance(value, dict):
        return {key: on_the_wire(entry) for key, entry in sorted(value.items()) if entry is not None}
    if isinstance(value, list):
        return [on_the_wire(entry) for entry in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
