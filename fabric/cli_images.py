"""`python -m fabric images`: what a stack pulls, and from where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabric.cli_input import refuse
from fabric.cli_progress import shown_progress
from fabric.plan import build
from fabric.plan.images import ImageList, image_list
from fabric.rules import ConfigurationError
from fabric.spec import load_stack


def images(
    stack: Annotated[
        str, typer.Option("-s", "--stack", help="the stack's name: Pulumi.<name>.yaml here or in examples/")
    ] = "dev",
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List every image and chart that a stack uses, by digest where it is known, and what cannot be known."""
    try:
        with shown_progress() as progress:
            spec = load_stack(stack, Path.cwd())
            # Without its mirrors the plan names what there is to be mirrored.
            published = spec.model_copy(update={"software": spec.software.model_copy(update={"registries": {}})})
            planned = build(published, progress)
            progress.step("listing images")
            found = image_list(planned, spec.catalog, spec.software.registries)
    except ConfigurationError as error:
        refuse(str(error))
    print(found.model_dump_json(by_alias=True, indent=2) if as_json else "\n".join(_lines(found)))


def _lines(found: ImageList) -> list[str]:
    lines = [f"Images of stack {found.stack}, release line {found.release_line}"]
    for image in found.images:
        lines += ["", image.reference]
        if image.pulled_as != image.reference:
            lines.append(f"    pulled as  {image.pulled_as}")
        lines.append(f"    digest     {image.digest or 'unknown'}")
        lines.append(f"    used by    {', '.join(image.used_by)}")
        lines += [f"    note       {note}" for note in image.notes]
    lines += ["", "Charts"] + ([] if found.charts else ["", "none"])
    for chart in found.charts:
        lines += ["", f"{chart.name} {chart.version}"]
        lines.append(f"    source     {chart.source}")
        if chart.pulled_from != chart.source:
            lines.append(f"    {'stand-in ' if chart.stand_in else 'pulled as'}  {chart.pulled_from}")
        lines.append(f"    digest     {chart.digest or 'unknown'}")
    lines += ["", "Unknown"] + ([] if found.unknown else ["", "nothing"])
    for entry in found.unknown:
        lines += ["", f"{entry.used_by}: {entry.what}"]
    return lines
