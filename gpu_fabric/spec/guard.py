"""`gpu-fabric:guard`: dangerous changes that the stack's owners have acknowledged, each until a date."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, field_validator

from gpu_fabric.model import FrozenModel

MOST_DAYS = 31
"""Limit of an acknowledgement's duration in days: it is for one change, and is not a permanent setting."""

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]

# Pulumi passes a date without quotes as midnight of that day, and writes it to the stack file in that form.
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})([T ]00:00:00(\.0+)?( ?\+00:?00)?( ?UTC|Z)?)?")


def _day(value: Any) -> date:
    found = _DAY.fullmatch(str(value))
    try:
        return date.fromisoformat(found[1] if found else "")
    except ValueError:
        raise ValueError("this is not a valid day; write one as year-month-day, such as 2026-12-01") from None


Day = Annotated[date, BeforeValidator(_day, json_schema_input_type=date)]


class AcknowledgementSpec(FrozenModel):
    """Permission to delete, replace or shrink one resource, until a date."""

    resource: Words = Field(
        description="the resource that may be replaced, deleted or made smaller, as the refusal names it; or a "
        "component, such as `ip-pools`, for all of its resources"
    )
    expires: Day = Field(description="the last day (UTC) on which it counts, at most 31 days ahead, such as 2026-12-01")
    reason: Words = Field(description="why it may be lost, for readers of the stack file")


class GuardSpec(FrozenModel):
    """Acknowledged changes that delete nodes, networks or addresses in use."""

    acknowledge: tuple[AcknowledgementSpec, ...] = Field(
        default=(),
        description="one entry for each resource that may be lost; an entry that is no longer needed can stay",
    )

    @field_validator("acknowledge")
    @classmethod
    def _each_resource_once(cls, value: tuple[AcknowledgementSpec, ...]) -> tuple[AcknowledgementSpec, ...]:
        names = [entry.resource for entry in value]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{', '.join(repeated)} is acknowledged twice; keep one entry for each resource")
        return value


def days_after(day: date, number: int) -> date:
    """The date that number of days later."""
    return date.fromordinal(day.toordinal() + number)
