"""`python -m fabric`: plan, lint and explain, with no cloud and no engine.

Exit status: 0 good, 1 findings that the command was asked to judge, 2 bad input or usage.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fabric.attach import AttachError, InputError, Wishes, attach_text, read_contract
from fabric.catalog import catalog
from fabric.cli_diff import diff
from fabric.cli_images import images
from fabric.cli_input import refuse, say, text_of, workload_contract
from fabric.cli_job import job_app
from fabric.cli_plan import print_document, print_json, write_all, write_plan
from fabric.cli_progress import shown_progress
from fabric.cli_review import review
from fabric.cli_topology import topology
from fabric.cli_verdict import verdict
from fabric.explanation import rule_explanation, unknown_name, variable_explanation
from fabric.nccl.dialect import Library
from fabric.nccl.lint import Linter, lint_files, report_lines
from fabric.nccl_reference import nccl_reference
from fabric.plan import FabricContract
from fabric.plan.cluster_contract import ClusterContract
from fabric.prepare import prepare_stack
from fabric.reference import configuration_reference
from fabric.report import plan_report, print_report, summary
from fabric.rules import ConfigurationError, rules
from fabric.rules_reference import rules_reference
from fabric.shape_listing import matching_shapes, shape_document, shape_page, shape_table
from fabric.spec import stack_file
from fabric.spec.places import printable
from fabric.spec.suggestion import nearest
from fabric.stack_schema import stack_file_schema
from fabric.support_reference import support_reference

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
app.add_typer(job_app, name="job")


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"
    MARKDOWN = "markdown"


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
    CLUSTER = "cluster"


class ReferenceOf(StrEnum):
    """What a reference page describes."""

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

Stack = Annotated[str, typer.Option("-s", "--stack", help="the stack's name: Pulumi.<name>.yaml here or in examples/")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command()
def plan(
    stack: Stack = "dev",
    output: Annotated[Format, typer.Option("--format", help="how to print it")] = Format.TEXT,
    for_up: Annotated[bool, typer.Option("--for-up", help="also refuse what `up` would refuse")] = False,
    only_summary: Annotated[bool, typer.Option("--summary", help="print only the summary that ends `make up`")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="write it into this folder instead, as files")] = None,
    all_stacks: Annotated[
        bool, typer.Option("--all", help="write, with --out, a folder for every stack file; with a --format, a report")
    ] = False,
) -> None:
    """Print everything that a stack would create, with the proof that its addresses fit."""
    if all_stacks:
        if out is None or only_summary or output is Format.JSON:
            refuse("--all writes files: it needs --out, and takes --format html or markdown for reports")
        write_all(Path.cwd(), out, None if output is Format.TEXT else output.value, for_up=for_up)
        return
    if out is not None and (only_summary or output is not Format.TEXT):
        refuse("--out writes files, and --format and --summary say how to print: leave one out")
    try:
        with shown_progress() as progress:
            planned = prepare_stack(stack, Path.cwd(), for_up=for_up, progress=progress)
    except ConfigurationError as error:
        refuse(str(error))
    if out is not None:
        write_plan(planned, out)
    elif output is Format.JSON:
        print_json(planned)
    elif output in (Format.HTML, Format.MARKDOWN):
        print_document(planned, output.value)
    else:
        file = stack_file(stack, Path.cwd()).relative_to(Path.cwd())
        print_report(summary(planned, str(file)) if only_summary else plan_report(planned))


app.command()(topology)


@app.command()
def lint(
    files: Annotated[list[Path], typer.Argument(help="NCCL topology files")],
    as_json: AsJson = False,
    nccl: Annotated[str | None, typer.Option(help="the release that reads them; without it, any release")] = None,
    shape: Annotated[str | None, typer.Option(help="the catalog's shape that they are for")] = None,
    library: Annotated[Library | None, typer.Option(help="who reads them; the shape's, or else nccl")] = None,
    dump: Annotated[Path | None, typer.Option(help="what NCCL_TOPO_DUMP_FILE wrote on such a machine")] = None,
) -> None:
    """Judge NCCL topology files: what NCCL makes of them, line by line."""
    known = None
    if shape is not None and (known := catalog().find(shape)) is None:
        refuse(f"no shape {shape!r}: {nearest(shape, catalog().shapes)}`python -m fabric shapes` lists them")
    try:
        linter = Linter.of(library, nccl, known, None if dump is None else dump.read_bytes())
        with shown_progress() as progress:
            report = lint_files({printable(str(file)): file.read_bytes() for file in files}, linter, progress)
    except OSError as error:
        refuse(f"{error.filename}: {error.strerror}")
    except ValueError as error:
        refuse(str(error))
    print(report.model_dump_json(by_alias=True, indent=2) if as_json else "\n".join(report_lines(report)))
    if report.errors or report.warnings:
        raise typer.Exit(1)


@app.command()
def attach(
    file: Annotated[str, typer.Argument(help="workload manifests, YAML or JSON; - for standard input")],
    stack: Annotated[
        str | None,
        typer.Option("-s", "--stack", help="the stack whose fabric it is", show_default="dev"),
    ] = None,
    contract: Annotated[
        str | None, typer.Option("--contract", help="its outputs as JSON instead, from `make outputs`; - for stdin")
    ] = None,
    container: Annotated[
        list[str] | None,
        typer.Option("-c", "--container", help="container, role, or role/container that gets it; more than once"),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("-n", "--namespace", help="namespace of manifests that name none; default where none is said"),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="queue of Kueue, or of Volcano for its own jobs")] = None,
) -> None:
    """Print workload manifests with the fabric attached: networks, devices, files, settings; the rest as it was."""
    if stack is not None and contract is not None:
        refuse("the contract comes from --stack or from --contract, not from both")
    if file == contract:
        refuse("manifests and contract cannot be the same file")
    try:
        known = workload_contract(stack or "dev") if contract is None else read_contract(text_of(contract))
    except InputError as error:
        refuse(f"{contract}: {error}")
    try:
        text = text_of(file)
        with shown_progress() as progress:
            progress.step("attaching the fabric to the manifests")
            attached = attach_text(text, known, Wishes(tuple(container or ()), namespace, queue))
    except InputError as error:
        refuse(f"{file}: {error}; nothing was attached")
    except AttachError as error:
        say(error.explanation(file))
        raise typer.Exit(1) from None
    for note in attached.notes:
        say(f"{file}: {note}")
    sys.stdout.write(attached.text)


app.command()(verdict)
app.command()(images)
app.command()(diff)
app.command()(review)


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
            refuse(f"no shape {name!r}: {nearest(name, known.shapes)}`python -m fabric shapes` lists them")
        if as_json:
            _print_json(shape_document(shape, known.topologies))
        else:
            print_report(shape_page(shape, known.topologies))
        return
    found = matching_shapes(known.shapes.values(), provider=provider, vendor=vendor, gpu=gpu, rdma=rdma)
    if not found:
        refuse("no shape fits all of these filters; `python -m fabric shapes` lists them all")
    if as_json:
        _print_json({shape.name: shape_document(shape, known.topologies) for shape in found})
    else:
        print_report(shape_table(found, known.topologies))


@app.command()
def explain(
    name: Annotated[str, typer.Argument(help="id of a rule, such as ADR001, or a variable, such as NCCL_IB_HCA")],
    stack: Annotated[
        str | None, typer.Option("-s", "--stack", help="also say what this stack makes of a variable")
    ] = None,
) -> None:
    """Say what a rule holds, or what a variable of NCCL is set to: for whom, why, since when, and on whose word."""
    if name in rules():
        print("\n".join(rule_explanation(name)))
        return
    variable = catalog().nccl_variables.get(name)
    if variable is None:
        refuse(unknown_name(name))
    try:
        with shown_progress() as progress:
            planned = None if stack is None else prepare_stack(stack, Path.cwd(), progress=progress)
    except ConfigurationError as error:
        refuse(str(error))
    print("\n".join(variable_explanation(variable, planned)))


@app.command()
def schema(
    of: Annotated[SchemaOf, typer.Argument(help="what a user may write, or the output `fabric` or `cluster`")],
) -> None:
    """Print a JSON Schema."""
    if of is SchemaOf.STACK:
        _print_json(stack_file_schema())
    else:
        _print_json((FabricContract if of is SchemaOf.CONTRACT else ClusterContract).model_json_schema(by_alias=True))


@app.command()
def reference(
    of: Annotated[
        ReferenceOf, typer.Argument(help="every key, every rule, what goes with what, or NCCL's settings")
    ] = (ReferenceOf.CONFIGURATION),
) -> None:
    """Print a reference page as Markdown."""
    sys.stdout.write(_PAGES[of]())


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
