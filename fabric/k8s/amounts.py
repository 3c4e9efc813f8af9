"""Amounts that several kinds share: how many may be down at once, and quantities of compute resources."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

_PERCENT = re.compile(r"([1-9]\d?|100)%")


def _number_or_percent(value: int | str) -> int | str:
    if isinstance(value, int):
        if value < 1:
            raise ValueError(f"{value}: with less than 1 nothing would ever be updated; write 1 or more")
    elif not _PERCENT.fullmatch(value):
        hint = f"; as a number write {value} without quotes" if value.isdigit() else ""
        raise ValueError(f"{value!r}: allowed are a whole number and a text from '1%' to '100%'{hint}")
    return value


NumberOrPercent = Annotated[
    int | str, AfterValidator(_number_or_percent), WithJsonSchema({"x-kubernetes-int-or-string": True})
]
"""How many of a set: a number from 1, or a percentage as text, for example `10%`."""

Quantity = Annotated[str, Field(pattern=r"^\d+(\.\d+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$")]
"""An amount of a compute resource as text, for example `100m` or `64Mi`."""
