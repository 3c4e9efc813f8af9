"""The page: the content of the reports and the drawings, formatted by the templates next to this file."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gpu_fabric.plan import Plan
from gpu_fabric.report import content
from gpu_fabric.report.html import address_map, drawing
from gpu_fabric.report.html.drawing import node_field
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
        overview=content.overview_rows(plan),
        findings=content.by_weight(plan),
        explained={entry.id: rule_explanation(entry.id) for entry in content.by_weight(plan)},
        fabric=fabric,
        nic_addresses=drawing.address_table(fabric),
        draw=drawing,
        field=node_field(plan),
        space=address_map.address_map(plan),
        kinds=address_map.KINDS,
        bar_width=address_map.WIDTH,
        no_addresses=content.address_summary(plan),
        rail_columns=content.RAIL_COLUMNS,
        rails=list(content.rail_rows(plan)),
        pool_columns=content.POOL_COLUMNS,
        pools=list(content.pool_rows(plan)),
        shares=list(content.share_lines(plan)) if plan.addresses.pools else [],
        proof=list(content.proof_lines(plan)) if plan.addresses.pools else [],
        steps=list(content.step_rows(plan)),
        chart_columns=content.CHART_COLUMNS,
        charts=list(content.chart_rows(plan)),
        image_columns=content.IMAGE_COLUMNS,
        images=list(content.image_rows(plan)),
        job=content.job_rows(plan),
        nccl=[(row.variable, row.value, row.scope, row.why, row.stated_by) for row in plan.nccl.settings],
        contract=plan.workload.model_dump_json(by_alias=True, indent=2),
    )


def _hash(text: str) -> str:
    """The hash of an inline element's text for a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
