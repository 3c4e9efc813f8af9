"""`python -m fabric`: plan and explain, with no cloud and no engine.

Exit status: 0 good, 1 findings that the command was asked to judge, 2 bad input or usage.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from fabric.catalog import catalog
from fabric.nccl.topology import topology_xml
from fabric.plan import FabricContract
from fabric.prepare import prepare_stack
from fabric.reference import configuration_reference
from fabric.report import plan_report, print_report, summary
from fabric.rules import ConfigurationError, promise, rules
from fabric.rules_reference import rules_reference
from fabric.shape_listing import matching_shapes, shape_document, shape_page, shape_table
from fabric.spec import stack_file
from fabric.spec.suggestion import nearest
from fabric.stack_schema import stack_file_schema
from fabric.support_reference import support_reference

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


class Provider(StrEnum):
    """Who offers a shape."""

    OCI = "oci"
    DOKS = "doks"
    SERVER = "server"


class GpuVendor(StrEnum):
    """Who makes the GPUs."""

    NVIDIA = "nvidia"
    AMD = "amd"


class SchemaOf(StrEnum):
    """What a JSON Schema describes."""

    STACK = "stack"
    CONTRACT = "contract"


class ReferenceOf(StrEnum):
    """What a reference page describes."""

    CONFIGURATION = "configuration"
    RULES = "rules"
    SUPPORT = "support"


_PAGES = {
    ReferenceOf.CONFIGURATION: configuration_reference,
    ReferenceOf.RULES: rules_reference,
    ReferenceOf.SUPPORT: support_reference,
}

Stack = Annotated[str, typer.Option("-s", "--stack", help="the stack's name: Pulumi.<name>.yaml here or in examples/")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command()
def plan(
    stack: Stack = "dev",
    output: Annotated[Format, typer.Option("--format", help="how to print it")] = Format.TEXT,
    for_up: Annotated[bool, typer.Option("--for-up", help="also refuse what `up` would refuse")] = False,
    only_summary: Annotated[bool, typer.Option("--summary", help="print only the summary that ends `make up`")] = False,
) -> None:
    """Print everything that a stack would create, with the proof that its addresses fit."""
    try:
        planned = prepare_stack(stack, Path.cwd(), for_up=for_up)
    except ConfigurationError as error:
        _refuse(str(error))
    if output is Format.JSON:
        # pydantic's own writer: a plan of thousands of nodes has a million lines.
        print(planned.with_shares().model_dump_json(by_alias=True, indent=2))
    else:
        file = stack_file(stack, Path.cwd()).relative_to(Path.cwd())
        print_report(summary(planned, str(file)) if only_summary else plan_report(planned))


@app.command()
def topology(shape: Annotated[str, typer.Argument(help="a shape of the catalog")]) -> None:
    """Print the NCCL topology file of a shape."""
    known = catalog()
    if shape not in known.shapes:
        _refuse(f"no shape {shape!r}: {nearest(shape, known.shapes)}`python -m fabric shapes` lists them")
    if shape not in known.topologies:
        published = ", ".join(known.topologies)
        _refuse(f"no PCI tree of {shape} is published, and none is guessed; there is one of: {published}")
    sys.stdout.write(topology_xml(known.shapes[shape], known.topologies[shape]))


@app.command()
def shapes(
    name: Annotated[str | None, typer.Argument(help="show everything about this one")] = None,
    provider: Annotated[Provider | None, typer.Option(help="only what this provider offers")] = None,
    vendor: Annotated[GpuVendor | None, typer.Option(help="only with GPUs of this vendor")] = None,
    gpu: Annotated[str | None, typer.Option(help="only with GPUs whose model begins so, such as H100")] = None,
    rdma: Annotated[bool | None, typer.Option("--rdma/--no-rdma", help="only with, or without, RDMA NICs")] = None,
    as_json: AsJson = False,
) -> None:
    """List the shapes of the catalog, or show one."""
    known = catalog()
    if name is not None:
        shape = known.find(name)
        if shape is None:
            _refuse(f"no shape {name!r}: {nearest(name, known.shapes)}`python -m fabric shapes` lists them")
        if as_json:
            _print_json(shape_document(shape, known.topologies))
        else:
            print_report(shape_page(shape, known.topologies))
        return
    found = matching_shapes(known.shapes.values(), provider=provider, vendor=vendor, gpu=gpu, rdma=rdma)
    if not found:
        _refuse("no shape fits all of these filters; `python -m fabric shapes` lists them all")
    if as_json:
        _print_json({shape.name: shape_document(shape, known.topologies) for shape in found})
    else:
        print_report(shape_table(found, known.topologies))


@app.command()
def explain(rule: Annotated[str, typer.Argument(help="id of a rule, such as ADR001")]) -> None:
    """Say what a rule holds, what is wrong where it does not, why that matters, and on whose word."""
    book = rules()
    if rule not in book:
        _refuse(f"no rule {rule!r}: {nearest(rule, book)}allowed: {', '.join(sorted(book))}")
    found = book[rule]
    held = promise(rule)
    lines = [f"{found.id} ({found.severity})", found.title, found.why]
    lines += [f"Holds: {held}"] if held else []
    print("\n".join([*lines, f"Source: {found.source}."]))


@app.command()
def schema(of: Annotated[SchemaOf, typer.Argument(help="what a user may write, or the `fabric` output")]) -> None:
    """Print a JSON Schema."""
    _print_json(stack_file_schema() if of is SchemaOf.STACK else FabricContract.model_json_schema(by_alias=True))


@app.command()
def reference(
    of: Annotated[ReferenceOf, typer.Argument(help="every key, every rule, or what goes with what")] = (
        ReferenceOf.CONFIGURATION
    ),
) -> None:
    """Print a reference page as Markdown."""
    sys.stdout.write(_PAGES[of]())


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def _refuse(message: str) -> NoReturn:
    Console(stderr=True).print(message, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(2)
