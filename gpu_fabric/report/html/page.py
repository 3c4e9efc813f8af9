"""The page: the content of the reports and the drawings, formatted by the templates next to this file."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gpu_fabric.plan import Plan
from gpu_fabric.report.content import (
    CHART_COLUMNS,
    IMAGE_COLUMNS,
    POOL_COLUMNS,
    RAIL_COLUMNS,
    address_summary,
    by_weight,
    chart_rows,
    image_rows,
    job_rows,
    overview_rows,
    pool_rows,
    proof_lines,
    rail_rows,
    share_lines,
)
from gpu_fabric.report.html import address_map, drawing
from gpu_fabric.report.html.node_field import node_field
from gpu_fabric.report.lines import lines
from gpu_fabric.report.pages.explanation import rule_explanation

_TEMPLATES = Path(__file__).parent / "templates"


def html_report(plan: Plan) -> str:
    """The whole page; it depends on the plan only.

    Style and script are inline, and the page's policy forbids the browser to run or fetch anything else.
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style, script = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    fabric = drawing.drawing_of(plan)
    return environment.get_template("page.html.j2").render(
        plan=plan,
        on_cluster=plan.part != "cluster",
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        overview=overview_rows(plan),
        findings=by_weight(plan),
        explained={entry.id: rule_explanation(entry.id) for entry in by_weight(plan)},
        fabric=fabric,
        nic_addresses=drawing.address_table(fabric),
        draw=drawing,
        field=node_field(plan),
        space=address_map.address_map(plan),
        kinds=address_map.KINDS,
        bar_width=address_map.WIDTH,
        no_addresses=address_summary(plan),
        rail_columns=RAIL_COLUMNS,
        rails=list(rail_rows(plan)),
        pool_columns=POOL_COLUMNS,
        pools=list(pool_rows(plan)),
        shares=list(share_lines(plan)) if plan.addresses.pools else [],
        proof=list(proof_lines(plan)) if plan.addresses.pools else [],
        steps=list(lines(plan)),
        chart_columns=CHART_COLUMNS,
        charts=list(chart_rows(plan)),
        image_columns=IMAGE_COLUMNS,
        images=list(image_rows(plan)),
        job=job_rows(plan),
        nccl=[(row.variable, row.value, row.scope, row.why, row.stated_by) for row in plan.nccl.settings],
        contract=plan.workload.model_dump_json(by_alias=True, indent=2),
    )


def _hash(text: str) -> str:
    """The hash of an inline element's text for a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
