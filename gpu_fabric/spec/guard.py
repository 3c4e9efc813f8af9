"""`gpu-fabric:guard`: what is compared before a change, and dangerous changes that the stack's owners acknowledged."""

from __future__ import annotations

from datetime import date
from operator import attrgetter
from typing import Annotated

from pydantic import Field, StringConstraints

from gpu_fabric.base.grammar import Day
from gpu_fabric.base.repeats import require_unique
from gpu_fabric.model import FrozenModel

MOST_DAYS = 31
"""Limit of an acknowledgement's duration in days: it is for one change, and is not a permanent setting."""

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class AcknowledgementSpec(FrozenModel):
    """Permission to delete, replace or shrink one resource, until a date."""

    resource: Words = Field(
        description="the resource that may be replaced, deleted or made smaller, as the refusal names it; or a "
        "component, such as `ip-pools`, for all of its resources"
    )
    expires: Day = Field(description="the last day (UTC) on which it counts, at most 31 days ahead, such as 2026-12-01")
    reason: Words = Field(description="why it may be lost, for readers of the stack file")


class GuardSpec(FrozenModel):
    """What is compared before anything changes, and changes that the stack's owners have acknowledged."""

    acknowledge: Annotated[
        tuple[AcknowledgementSpec, ...],
        require_unique(attrgetter("resource"), "{} is acknowledged twice; keep one entry for each resource"),
    ] = Field(
        default=(),
        description="one entry for each resource that may be lost; entries that are no longer needed may stay",
    )
    preflight: bool = Field(
        default=True,
        description="whether `up` and previews on an existing cluster compare the plan with it first, and end where "
        "something stands in the way",
    )


def days_after(day: date, number: int) -> date:
    """The date that number of days later."""
    return date.fromordinal(day.toordinal() + number)
