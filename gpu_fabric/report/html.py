"""A plan as one self-contained HTML page: figures, findings, a drawing of the fabric, addresses, versions, contract."""

from __future__ import annotations

import base64
import hashlib
import shlex
from typing import Any, NamedTuple

from gpu_fabric import __version__
from gpu_fabric.plan import Plan
from gpu_fabric.report import address_map, alike, content, drawing
from gpu_fabric.report.csv_table import csv_report
from gpu_fabric.report.fabric import fabric_of
from gpu_fabric.report.figure import Figure
from gpu_fabric.report.figures import plan_figures
from gpu_fabric.report.pages.rule_explanation import rule_explanation
from gpu_fabric.report.template import TEMPLATES, fill_template

_MOST_AT_A_GLANCE = 6
"""Findings at the top of the page; more would push the drawing off the first screen."""


def html_report(plan: Plan) -> str:
    """The whole page; it depends on the plan and the program only."""
    (name, own), *others = plan.by_fabric.items()
    stack, fabric = shlex.quote(plan.stack), fabric_of(own)
    # The addresses of thousands of nodes would make the page large: a command writes them.
    is_small = len(fabric.places) <= drawing.MOST_WHOLE
    return html_page(
        "page.html.j2",
        plan=plan,
        content=content,
        alike=alike,
        figures=(*plan_figures(plan), program_figure()),
        MOST_AT_A_GLANCE=_MOST_AT_A_GLANCE,
        explain=rule_explanation,
        fabric=drawing.drawing_of(fabric),
        draw=drawing,
        field=drawing.node_field(fabric),
        first=name,
        further=tuple(
            FurtherFabric(name, one, drawing.drawing_of(fabric_of(one)), address_map.address_map(one))
            for name, one in others
        ),
        space=address_map.address_map(plan),
        bars=address_map,
        nccl=[(row.variable, row.value, row.scope, row.why, row.stated_by) for row in plan.nccl.settings],
        csv=csv_report(plan) if is_small else "",
        csv_command=f"gpu-fabric plan -s {stack} --format csv > {shlex.quote(plan.stack + '-nics.csv')}",
        attach_command=f"gpu-fabric attach job.yaml -s {stack}",
    )


class FurtherFabric(NamedTuple):
    """What the page shows of a fabric other than the first: its plan, its drawing, and its addresses as bars."""

    name: str
    plan: Plan
    drawing: drawing.Drawing
    space: address_map.AddressMap | None


def program_figure() -> Figure:
    """The version of the program that draws the page."""
    return Figure("version", __version__, "of gpu-fabric")


def html_page(template: str, **values: Any) -> str:
    """A page of a template; style and script are inline, and its policy forbids to run or fetch anything else."""
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    hashes = {"style_hash": _hash(style), "script_hash": _hash(script)}
    return fill_template(template, style=style, script=script, **hashes, **values)


def _hash(text: str) -> str:
    """The hash of an inline element's text for a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
