"""The page: what the reports say and what is drawn, laid out by the templates beside this file."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fabric.plan import Plan
from fabric.plan_steps import steps
from fabric.report_content import (
    POOL_COLUMNS,
    RAIL_COLUMNS,
    address_summary,
    by_weight,
    job_rows,
    overview_rows,
    pool_rows,
    proof_lines,
    rail_rows,
    share_lines,
)
from fabric.report_html import address_map, drawing
from fabric.report_html.node_field import node_field
from fabric.report_versions import CHART_COLUMNS, IMAGE_COLUMNS, chart_rows, image_rows

_TEMPLATES = Path(__file__).parent / "templates"


def html_report(plan: Plan) -> str:
    """The whole page; the same plan gives the same bytes.

    Style and script are inside it, and its policy lets the browser run and fetch nothing else.
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
        steps=list(steps(plan)),
        chart_columns=CHART_COLUMNS,
        charts=list(chart_rows(plan)),
        image_columns=IMAGE_COLUMNS,
        images=list(image_rows(plan)),
        job=job_rows(plan),
        nccl=[(row.variable, row.value, row.scope, row.why, row.stated_by) for row in plan.nccl.settings],
        contract=plan.workload.model_dump_json(by_alias=True, indent=2),
    )


def _hash(text: str) -> str:
    """What a Content-Security-Policy calls an inline element's text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
