"""What the machines cost an hour before and after, as far as prices are known."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from fabric.diff.model import CostDiff
from fabric.plan.cost import HourlyRange, PlannedCost
from fabric.render import RenderedPlan
from fabric.report_cost import cost_rows


def cost_diff(base: RenderedPlan, head: RenderedPlan) -> CostDiff | None:
    """The difference in cost; None where both plans say the same."""
    before, after = _cost(base.decisions.get("cost")), _cost(head.decisions.get("cost"))
    if before == after:
        return None
    difference = None
    if before and after and before.total and after.total and before.total.currency == after.total.currency:
        # The least change and the most: one end of each range against the same of the other.
        ends = (after.total.least - before.total.least, after.total.most - before.total.most)
        difference = HourlyRange(least=min(ends), most=max(ends), currency=after.total.currency)
    return CostDiff(old=_text(before), new=_text(after), difference=difference)


def _cost(document: Any) -> PlannedCost | None:
    """A plan's cost; None in a plan that says none, or says it in another form."""
    try:
        return PlannedCost.model_validate(document)
    except ValidationError:
        return None


def _text(cost: PlannedCost | None) -> str:
    return "unknown" if cost is None else cost_rows(cost)["cost an hour"]
