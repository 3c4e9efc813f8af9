"""`gpu-fabric schema` and `reference`: generated pages, independent of a stack."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from gpu_fabric.cli.conversation import print_json
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.contract import ClusterContract, FabricContract
from gpu_fabric.report.pages.references import (
    configuration_reference,
    nccl_reference,
    rules_reference,
    support_reference,
)
from gpu_fabric.report.pages.schemas import published_schema, stack_file_schema


class SchemaOf(StrEnum):
    """The subject of a JSON Schema."""

    STACK = "stack"
    CONTRACT = "contract"
    CLUSTER = "cluster"


class ReferenceOf(StrEnum):
    """The subject of a reference page."""

    CONFIGURATION = "configuration"
    RULES = "rules"
    SUPPORT = "support"
    NCCL = "nccl"


_PAGES = {
    ReferenceOf.CONFIGURATION: configuration_reference,
    ReferenceOf.RULES: rules_reference,
    ReferenceOf.SUPPORT: support_reference,
    ReferenceOf.NCCL: nccl_reference,
}


def schema(
    of: Annotated[SchemaOf, typer.Argument(help="what a user may write, or the output `fabric` or `cluster`")],
) -> None:
    """Print a JSON Schema."""
    if of is SchemaOf.STACK:
        print_json(stack_file_schema())
    else:
        model = FabricContract if of is SchemaOf.CONTRACT else ClusterContract
        print_json(published_schema(model, of.value))


def reference(
    of: Annotated[
        ReferenceOf, typer.Argument(help="every key, every rule, possible combinations, or NCCL's settings")
    ] = (ReferenceOf.CONFIGURATION),
) -> None:
    """Print a reference page as Markdown."""
    print_document(_PAGES[of]())
