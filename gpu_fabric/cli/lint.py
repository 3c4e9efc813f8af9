"""`gpu-fabric lint`: how NCCL reads topology files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gpu_fabric.base.user_files import argument_content
from gpu_fabric.catalog import catalog
from gpu_fabric.cli.conversation import Output, print_as, refuse
from gpu_fabric.findings import Finding, finding
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.machines import machine_of, published_machines
from gpu_fabric.report.terminal_progress import show_progress
from gpu_fabric.spec.places import printable
from gpu_fabric.spec.suggestion import no_shape
from nccl_topology.dialect import Library
from nccl_topology.linter import Linter, LintReport
from nccl_topology.problem import Problem


class LintedFile(FrozenModel):
    """What was found in a file, whether NCCL takes it, and how many elements it has."""

    file: str
    accepted: bool
    nodes: int | None
    findings: tuple[Finding, ...]


class Linted(FrozenModel):
    """The report for scripts; `nccl` and `shape` are null if none was named."""

    schema_version: Literal["v1"]
    library: str
    nccl: str | None
    newer_than: str | None
    shape: str | None
    errors: int
    warnings: int
    files: tuple[LintedFile, ...]


def lint(
    files: Annotated[list[Path], typer.Argument(help="NCCL topology files")],
    output: Output = "text",
    nccl: Annotated[str | None, typer.Option(help="the release that reads them; without it, any release")] = None,
    shape: Annotated[str | None, typer.Option(help="the catalog's shape that they are for")] = None,
    library: Annotated[Library | None, typer.Option(help="who reads them; the shape's, or else nccl")] = None,
    dump: Annotated[Path | None, typer.Option(help="what NCCL_TOPO_DUMP_FILE wrote on such a machine")] = None,
) -> None:
    """Judge NCCL topology files: what NCCL makes of them, line by line."""
    known = None
    if shape is not None and (known := catalog().find(shape)) is None:
        refuse(no_shape(shape, catalog().shapes.values()))
    try:
        dumped = None if dump is None else argument_content(dump)
        machine = None if known is None else machine_of(known)
        linter = Linter.of(library, nccl, machine, dumped, published_machines())
        contents = {printable(str(file)): argument_content(file) for file in files}
        with show_progress() as progress:
            report = LintReport.of(linter, progress.each("judging", contents.items(), "files"))
    except OSError as error:
        refuse(f"{error.filename}: {error.strerror}")
    except ValueError as error:
        refuse(str(error))
    lines = report.lines(lambda file, problem: _finding(file, problem).lines())
    print_as(output, Linted.model_validate(report.value(_finding)), lines)
    if any(file.problems for file in report.files):
        raise typer.Exit(1)


def _finding(file: str, problem: Problem) -> Finding:
    return finding(*problem).model_copy(update={"file": file})
