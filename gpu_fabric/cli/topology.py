"""`gpu-fabric topology`: print the topology file of a shape, or the reason why there is none."""

from __future__ import annotations

from typing import Annotated

import typer

from gpu_fabric.catalog import Catalog, catalog
from gpu_fabric.cli.conversation import refuse
from gpu_fabric.cli.shapes import known_shapes
from gpu_fabric.cli.stack_choice import StackChoice, StackFile, named_stack, planning, stack_option
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.nccl.topology import Form, topology_xml
from gpu_fabric.plan.case import case_of
from gpu_fabric.rules.checking import spec_findings
from gpu_fabric.spec.load import validated
from gpu_fabric.spec.suggestion import no_shape
from nccl_topology.dialect import Library


def topology(
    shape: Annotated[
        str,
        typer.Argument(
            help="a shape of the catalog, or with --stack one of that stack file", autocompletion=known_shapes
        ),
    ],
    library: Annotated[Library | None, typer.Option(help="who reads it; that of the shape's GPUs by default")] = None,
    form: Annotated[
        Form | None,
        typer.Option(help="cpu and pci alone, or all; by default full where it is published", show_default=False),
    ] = None,
    stack: Annotated[str | None, stack_option("the stack whose own shapes count, too")] = None,
    stack_file: StackFile = None,
) -> None:
    """Print the topology file of a shape for NCCL or RCCL."""
    choice = named_stack(stack, stack_file)
    known = catalog() if choice is None else _read_own_shapes(choice)
    row, tree = known.find(shape), known.topologies.get(shape)
    if row is None:
        refuse(no_shape(shape, known.shapes.values()))
    if tree is None:
        there = ", ".join(known.topologies)
        refuse(f"no PCI tree of {shape} is published, and none is guessed; there is one of: {there}")
    try:
        print_document(topology_xml(row, tree, form, library))
    except ValueError as error:
        refuse(str(error))


def _read_own_shapes(choice: StackChoice) -> Catalog:
    """The catalog with the shapes of a stack file; refuses a file that is unreadable or contains invalid trees."""
    with planning() as progress:
        progress.step(f"reading stack {choice.name}")
        document = choice.read()
        spec = validated(document)
        wrong = [entry for entry in spec_findings(case_of(spec)) if entry.id == "NCT001"]
        if wrong:
            raise ConfigurationError(wrong, document.file, document.places)
    return spec.catalog
