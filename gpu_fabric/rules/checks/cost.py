"""Prices that the stack file states."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.cost import machine_types
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.suggestion import nearest


@check("CST001")
def price_a_pool(case: Case) -> Iterator[Problem]:
    """Every price is for machines of the stack."""
    types = machine_types(case)
    for name in case.spec.cluster.prices:
        if name not in types:
            remedy = f"{nearest(name, types)}write one of {', '.join(types)}, or take the price out"
            yield Problem(dotted(("cluster", "prices", name)), f"no pool has machines of type {name}", remedy)


@check("CST002")
def have_a_date(case: Case) -> Iterator[Problem]:
    """Every price of the stack file says from which day it is."""
    for name, price in case.spec.cluster.prices.items():
        if price.as_of is None:
            yield Problem(
                dotted(("cluster", "prices", name)),
                f"the price of {name} has no date",
                "write asOf: the day of the price",
            )
