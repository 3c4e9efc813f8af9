"""`python -m fabric plan --out`: the rendered plan."""

from __future__ import annotations

import sys
from pathlib import Path

from fabric.cli_input import refuse, say
from fabric.plan import Plan
from fabric.render import FolderError, files, rendered, write_files


def write_plan(plan: Plan, folder: Path) -> None:
    """Write the rendered plan; refuses, with the reason, a folder that cannot be written."""
    found = rendered(plan)
    written = files(found)
    try:
        write_files(folder, written)
    except FolderError as error:
        refuse(str(error))
    say(f"{folder}: plan of stack {plan.stack}, {len(found.resources)} resources in {len(written)} files")


def print_document(plan: Plan, form: str) -> None:
    """Print the report as `html` or `markdown`, in UTF-8 whatever the terminal has: it becomes a file."""
    # Only here: templates take longer to import than a small plan to make.
    from fabric.report_html import html_report
    from fabric.report_markdown import markdown_report

    document = {"html": html_report, "markdown": markdown_report}[form](plan)
    sys.stdout.buffer.write(document.encode())
