"""A figure of a plan; rendered plans record them."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A name, a value with its unit, and what it is made of; a value that is not known is `unknown`."""

    name: str
    value: str
    detail: str
