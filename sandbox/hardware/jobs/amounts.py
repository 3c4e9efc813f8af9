"""Quantities of resources as whole numbers of thousandths, and what a pod asks for. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

Amounts = Counter[str]
"""Resource -> thousandths of its unit: a CPU is 1000, a GPU is 1000, a byte of memory is 1000."""

_UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_UNITS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")


def thousandths(quantity: str | int | float) -> int:
    """A quantity as Kubernetes writes it, `100m` or `64Gi`, rounded up. Raises ValueError for any other text."""
    found = _QUANTITY.fullmatch(str(quantity))
    if found is None or found[2] not in {**_UNITS, **_BINARY_UNITS}:
        raise ValueError(f"{quantity!r} is no quantity")
    unit = found[2]
    factor = Decimal(2) ** _BINARY_UNITS[unit] if unit in _BINARY_UNITS else Decimal(10) ** _UNITS[unit]
    exact = Decimal(found[1]) * factor * 1000
    return int(exact.to_integral_value(rounding="ROUND_CEILING"))


def written(amount: int) -> str:
    """Thousandths as a quantity."""
    return f"{amount}m" if amount % 1000 else str(amount // 1000)


def amounts_of(quantities: Mapping[str, Any] | None) -> Amounts:
    """A list of resources by name, in thousandths."""
    return Counter({name: thousandths(quantity) for name, quantity in (quantities or {}).items()})


def requests_of(spec: Mapping[str, Any]) -> Amounts:
    """What a pod of a spec asks for: the sum of its containers, or the largest init container where that is more.

    A limit without a request is a request. Sidecars (init containers that always restart) count as containers.
    """
    total, largest = amounts_of(spec.get("overhead")), Amounts()
    for container in spec.get("containers") or ():
        total.update(_container(container))
    for container in spec.get("initContainers") or ():
        asked = _container(container)
        if container.get("restartPolicy") == "Always":
            total.update(asked)
        else:
            largest |= asked
    return Amounts({name: amount for name, amount in (total | largest).items() if amount > 0})


def summed(several: Iterable[Mapping[str, int]]) -> Amounts:
    """The sum of amounts."""
    total = Amounts()
    for one in several:
        total.update(one)
    return total


def times(amounts: Mapping[str, int], count: int) -> Amounts:
    """So many of the same."""
    return Amounts({name: amount * count for name, amount in amounts.items()})


def _container(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})
