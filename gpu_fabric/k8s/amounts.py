"""Quantities of Kubernetes: 1000 devices are `1k` where the API server has written them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

_AMOUNT = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,2}))?(m|k|[MGTPE]i?|Ki)?")
_SUFFIXES = {"m": Fraction(1, 1000), "k": Fraction(10**3), "Ki": Fraction(2**10)}
_SUFFIXES |= {letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("MGTPE", start=2)}
_SUFFIXES |= {f"{letter}i": Fraction(2 ** (10 * power)) for power, letter in enumerate("MGTPE", start=2)}


def amount(value: Any) -> Fraction | None:
    """A Kubernetes quantity as a number; None if it is not a valid quantity."""
    match = _AMOUNT.fullmatch(str(value)) if isinstance(value, str | int | float) else None
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    return Fraction(number) * Fraction(10) ** int(exponent or 0) * _SUFFIXES.get(suffix, Fraction(1))
