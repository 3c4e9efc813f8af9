"""`gpu-fabric schema` and `reference`: generated pages, independent of a stack."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gpu_fabric.cli.conversation import refuse
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.cluster import ClusterContract
from gpu_fabric.report.pages.references import (
    alarms_reference,
    clouds_reference,
    configuration_reference,
    libraries_reference,
    nccl_reference,
    rules_reference,
    support_reference,
    symptoms_reference,
)
from gpu_fabric.report.pages.schemas import published_schema, schema_text, stack_file_schema
from gpu_fabric.spec.places import printable

_PAGES = {
    "configuration": configuration_reference,
    "rules": rules_reference,
    "support": support_reference,
    "nccl": nccl_reference,
    "libraries": libraries_reference,
    "clouds": clouds_reference,
    "alarms": alarms_reference,
    "symptoms": symptoms_reference,
}


def schema(
    of: Annotated[
        Literal["stack", "contract", "cluster", "output"],
        typer.Argument(help="what a user may write, the output `fabric` or `cluster`, or what a command prints"),
    ],
    command: Annotated[
        str | None, typer.Argument(help="with output: the command whose `--format json` it is, such as plan")
    ] = None,
) -> None:
    """Print a JSON Schema, with a definition a line."""
    if (of == "output") != (command is not None):
        refuse("schema output COMMAND: name the command, such as plan; the other schemas have no command")
    if command is not None:
        # Here, since it has the records of every command.
        from gpu_fabric.cli.output_schemas import OUTPUTS, command_schema

        if command not in OUTPUTS:
            refuse(f"{printable(command)} prints no JSON of its own; one of: {', '.join(OUTPUTS)}")
        print_document(schema_text(command_schema(command)))
    elif of == "stack":
        print_document(schema_text(stack_file_schema()))
    else:
        print_document(schema_text(published_schema(FabricContract if of == "contract" else ClusterContract, of)))


def reference(
    of: Annotated[
        Literal["configuration", "rules", "support", "nccl", "libraries", "clouds", "alarms", "symptoms"],
        typer.Argument(
            help="every key, every rule, possible combinations, settings of NCCL, of other libraries, profiles of "
            "clouds, every alarm, or every error text"
        ),
    ] = "configuration",
) -> None:
    """Print a reference page as Markdown."""
    print_document(_PAGES[of]())
