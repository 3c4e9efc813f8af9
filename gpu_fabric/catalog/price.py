"""Published hourly prices of machines (`prices.yaml`)."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import Field, StringConstraints

from gpu_fabric.model import FrozenModel

Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]


class ListPrice(FrozenModel):
    """A provider's price of a machine per GPU and hour, with the date on which it was read."""

    per_gpu_hour: Decimal = Field(gt=0)
    gpus: int = Field(ge=1)
    currency: Currency
    as_of: date
    regions: str
    source: str

    @property
    def hourly(self) -> Decimal:
        """The price of the whole machine for an hour."""
        return self.per_gpu_hour * self.gpus


class UnknownPrices(FrozenModel):
    """Reasons why prices are not known, by the end of a machine's name and by provider."""

    names: dict[str, str]
    providers: dict[str, str]

    def reason(self, machine: str, provider: str) -> str:
        """The reason why the price of a machine is not known."""
        by_name = (why for end, why in self.names.items() if machine.endswith(end))
        return next(by_name, self.providers[provider])


class PriceTable(FrozenModel):
    """List prices by machine type, and the reasons for missing ones."""

    prices: dict[str, ListPrice]
    unknown: UnknownPrices
