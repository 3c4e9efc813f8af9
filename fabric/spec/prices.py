"""`gpu-fabric:cluster.prices`: what machines cost their buyer."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from fabric.catalog.price import Currency
from fabric.model import FrozenModel

# How the engine hands over a date that is written without quotes.
_FIRST_MOMENT = " 00:00:00 +0000 UTC"


def _day(value: Any) -> date:
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value).removesuffix(_FIRST_MOMENT))
    except ValueError:
        raise ValueError("write a day as 2026-11-01") from None


Day = Annotated[date, BeforeValidator(_day)]


class Price(FrozenModel):
    """An hour of one machine, whole: with its GPUs, volumes and whatever else the buyer wants to count."""

    hourly: float = Field(gt=0, le=1e6, allow_inf_nan=False, description="price of an hour, or the least of a range")
    hourly_most: float | None = Field(
        default=None, gt=0, le=1e6, allow_inf_nan=False, description="the most, where the price is a range"
    )
    currency: Currency = Field(default="USD", description="three letters, such as USD")
    as_of: Day | None = Field(default=None, description="day from which the price is, such as 2026-11-01")
    source: str | None = Field(default=None, min_length=1, description="where it is from, such as a contract's number")

    @model_validator(mode="after")
    def _least_before_most(self) -> Self:
        if self.hourly_most is not None and self.hourly_most < self.hourly:
            raise ValueError("hourlyMost must not be less than hourly")
        return self
