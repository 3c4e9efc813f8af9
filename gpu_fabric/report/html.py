"""A plan as one self-contained HTML page: a drawing of the fabric, its addresses, findings, versions and contract."""

from __future__ import annotations

import base64
import hashlib

from gpu_fabric.plan import Plan
from gpu_fabric.report import address_map, content, drawing
from gpu_fabric.report.pages.rule_explanation import rule_explanation
from gpu_fabric.report.template import TEMPLATES, fill_template


def html_report(plan: Plan) -> str:
    """The whole page; it depends on the plan only.

    Style and script are inline, and the page's policy forbids the browser to run or fetch anything else.
    """
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return fill_template(
        "page.html.j2",
        plan=plan,
        content=content,
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        explain=rule_explanation,
        fabric=drawing.drawing_of(plan),
        draw=drawing,
        field=drawing.node_field(plan),
        space=address_map.address_map(plan),
        bars=address_map,
        nccl=[(row.variable, row.value, row.scope, row.why, row.stated_by) for row in plan.nccl.settings],
    )


def _hash(text: str) -> str:
    """The hash of an inline element's text for a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
