"""The templates of reports and pages, which Jinja fills in."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def fill_template(name: str, **values: Any) -> str:
    """Fill in a template; in HTML and SVG the values are escaped, in Markdown they are not."""
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    # Imported here: it takes longer to import than a small plan takes to compute.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(disabled_extensions=("md.j2",), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
