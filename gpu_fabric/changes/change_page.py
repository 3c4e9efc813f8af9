"""A change as one HTML page: figures and drawings of both plans, and their difference with the guard's judgement."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from markdown_it import MarkdownIt

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.changes.diff_markdown import markdown
from gpu_fabric.changes.guard import group_answers
from gpu_fabric.changes.guard_section import section
from gpu_fabric.changes.model import Judgement, PlanDiff
from gpu_fabric.changes.review import Review, Side
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.plan import PlannedPool
from gpu_fabric.plan.rail import Rail
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.report import drawing
from gpu_fabric.report.fabric import Fabric
from gpu_fabric.report.figure import Figure
from gpu_fabric.report.html import html_page, program_figure
from gpu_fabric.resources import Loss

_MOST_CHARACTERS = 400_000
"""Of the difference; a browser opens a page of that size at once."""


class FigureChange(NamedTuple):
    """A figure before and after; None where the plan has no such figure."""

    name: str
    before: Figure | None
    after: Figure | None

    @property
    def differs(self) -> bool:
        """Whether value or detail differ."""
        return self.before != self.after


class DrawnSide(NamedTuple):
    """The drawing of one plan; None where the plan has no rails, or cannot be drawn by this version."""

    name: str
    id: str
    drawing: drawing.Drawing | None


def change_page(diff: PlanDiff, base: RenderedPlan, head: RenderedPlan, judgement: Judgement) -> str:
    """The whole page; it depends on the two plans, the judgement and the program only."""
    before, after = drawn_fabrics(base), drawn_fabrics(head)
    # The text is Markdown in which user's text is escaped already, so its HTML is this program's own.
    text = markdown(diff, _MOST_CHARACTERS, section(judgement, escape(f"Pulumi.{diff.stack}.yaml")))
    return html_page(
        "change.html.j2",
        diff=diff,
        quantity=quantity,
        figures=tuple(figure_changes(base, head)),
        program=program_figure(),
        lost="" if diff.lost == Loss() else str(diff.lost),
        refused=len(group_answers(judgement.refused)),
        acknowledged=len(group_answers(judgement.answers)),
        sides=tuple(side for name in {**before, **after} for side in _sides(name, before.get(name), after.get(name))),
        draw=drawing,
        text=MarkdownIt("commonmark", {"html": True}).enable("table").render(text),
    )


def change_pages(base: Side, head: Side, review: Review) -> dict[str, str]:
    """A page for every stack whose two plans were compared and differ, by the name of its file."""
    pages = {}
    for stack in review.stacks:
        before, after = base.get(stack.name), head.get(stack.name)
        if stack.diff is None or stack.judgement is None:
            continue
        assert isinstance(before, RenderedPlan), "the guard judges two plans"
        assert isinstance(after, RenderedPlan), "the guard judges two plans"
        pages[f"{stack.name}.html"] = change_page(stack.diff, before, after, stack.judgement)
    return pages


def figure_changes(base: RenderedPlan, head: RenderedPlan) -> Iterator[FigureChange]:
    """Every figure of both plans; folders of an earlier version have none."""
    before, after = ({figure.name: figure for figure in plan.figures} for plan in (base, head))
    for name in dict.fromkeys([*after, *before]):
        yield FigureChange(name, before.get(name), after.get(name))


def drawn_fabrics(plan: RenderedPlan) -> dict[str, Fabric | None]:
    """Every fabric of a rendered plan by its name; the first one's is empty."""
    return {name: drawn_fabric(one) for name, one in plan.by_fabric.items()}


def drawn_fabric(plan: RenderedPlan) -> Fabric | None:
    """The fabric of a rendered plan; None where it has no rails, or where its folder is of another version."""
    cluster = plan.decisions.get("cluster", {})
    try:
        rails = tuple(map(Rail.model_validate, plan.decisions["rails"]))
        pools = tuple(map(PlannedPool.model_validate, cluster["pools"]))
        groups = {
            group["shape"]: tuple(map(Rail.model_validate, group["rails"])) for group in plan.decisions["nodeGroups"]
        }
        shape, addresses = plan.contract["shape"], AddressPlan.of_document(plan.proof)
    # A pydantic error is a ValueError.
    except (KeyError, TypeError, ValueError):
        return None
    return Fabric(shape, pools, rails, groups, addresses) if rails else None


def _sides(fabric_name: str, before: Fabric | None, after: Fabric | None) -> tuple[DrawnSide, ...]:
    """Both drawings of a fabric, or one where they are the same."""
    of, own = (f", fabric {fabric_name}", f"{fabric_name}-") if fabric_name else ("", "")
    if before == after:
        drawn = None if before is None else drawing.drawing_of(before)
        return (DrawnSide(f"before and after{of}", f"{own}after-", drawn),)
    pairs = (("before", before, after), ("after", after, before))
    return tuple(
        DrawnSide(f"{name}{of}", f"{own}{name}-", None if fabric is None else drawing.drawing_of(fabric, other))
        for name, fabric, other in pairs
    )
