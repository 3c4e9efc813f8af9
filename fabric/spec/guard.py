"""`gpu-fabric:guard`: which dangerous changes the stack's owners have agreed to, and until when."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, field_validator

from fabric.model import FrozenModel

MOST_DAYS = 31
"""How far ahead a day may lie: an acknowledgement is of one change, and no setting."""

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]

# The engine hands over a day without quotes as the first moment of it, and writes it so into the stack file.
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})([T ]00:00:00(\.0+)?( ?\+00:?00)?( ?UTC|Z)?)?")


def _day(value: Any) -> date:
    found = _DAY.fullmatch(str(value))
    try:
        return date.fromisoformat(found[1] if found else "")
    except ValueError:
        raise ValueError("this is no day; write one as year-month-day, such as 2026-12-01") from None


Day = Annotated[date, BeforeValidator(_day, json_schema_input_type=date)]


class Acknowledgement(FrozenModel):
    """A word that what goes may go: for one resource, until a day."""

    resource: Words = Field(
        description="the resource that may be replaced, deleted or made smaller, as the refusal names it; or a "
        "component, such as `ip-pools`, for all of its resources"
    )
    expires: Day = Field(description="the last day (UTC) on which it counts, at most 31 days ahead, such as 2026-12-01")
    reason: Words = Field(description="why it may go, for whoever reads the stack file")


class Guard(FrozenModel):
    """Changes that lose nodes, networks or addresses in use, and are wanted all the same."""

    acknowledge: tuple[Acknowledgement, ...] = Field(
        default=(), description="one entry for each resource that may go; an entry that is no longer needed can stay"
    )

    @field_validator("acknowledge")
    @classmethod
    def _each_resource_once(cls, value: tuple[Acknowledgement, ...]) -> tuple[Acknowledgement, ...]:
        names = [entry.resource for entry in value]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{', '.join(repeated)} is acknowledged twice; keep one entry for each resource")
        return value


def days_after(day: date, number: int) -> date:
    """The day that many days later."""
    return date.fromordinal(day.toordinal() + number)
