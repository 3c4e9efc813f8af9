"""`python -m fabric topology`: the topology file of a shape, or the reason why there is none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fabric.catalog import Catalog, catalog
from fabric.cli_input import refuse
from fabric.cli_progress import shown_progress
from fabric.nccl.dialect import Library
from fabric.nccl.topology import Form, topology_xml
from fabric.plan.case import case_of
from fabric.rules import ConfigurationError, findings
from fabric.spec import load_stack
from fabric.spec.suggestion import nearest


def topology(
    shape: Annotated[str, typer.Argument(help="a shape of the catalog, or with --stack one of that stack file")],
    library: Annotated[Library | None, typer.Option(help="who reads it; that of the shape's GPUs by default")] = None,
    form: Annotated[
        Form | None,
        typer.Option(help="cpu and pci alone, or all; by default full where it is published", show_default=False),
    ] = None,
    stack: Annotated[
        str | None, typer.Option("-s", "--stack", help="the stack whose own shapes count, too", show_default=False)
    ] = None,
) -> None:
    """Print the topology file of a shape for NCCL or RCCL."""
    known = catalog() if stack is None else _with_own_shapes(stack)
    row, tree = known.find(shape), known.topologies.get(shape)
    if row is None:
        refuse(f"no shape {shape!r}: {nearest(shape, known.shapes)}`python -m fabric shapes` lists them")
    if tree is None:
        there = ", ".join(known.topologies)
        refuse(f"no PCI tree of {shape} is published, and none is guessed; there is one of: {there}")
    try:
        sys.stdout.write(topology_xml(row, tree, form, library))
    except ValueError as error:
        refuse(str(error))


def _with_own_shapes(stack: str) -> Catalog:
    """The catalog with the shapes of a stack file; refuses one that cannot be read, or whose trees are wrong."""
    try:
        with shown_progress() as progress:
            progress.step(f"reading stack {stack}")
            spec = load_stack(stack, Path.cwd())
            wrong = [entry for entry in findings(case_of(spec), "spec") if entry.id == "NCT001"]
        if wrong:
            raise ConfigurationError(wrong, f"Pulumi.{stack}.yaml")
    except ConfigurationError as error:
        refuse(str(error))
    return spec.catalog
