"""`gpu-fabric`: plan, lint and explain, with no cloud and no engine.

Exit status: 0 good, 1 findings that the command was asked to judge, 2 bad input or usage.
"""

from __future__ import annotations

from typing import Annotated

import typer

from gpu_fabric import __version__
from gpu_fabric.cli.attach import attach, detach
from gpu_fabric.cli.diff import diff
from gpu_fabric.cli.explain import explain
from gpu_fabric.cli.images import images
from gpu_fabric.cli.job import job_app
from gpu_fabric.cli.lint import lint
from gpu_fabric.cli.pages import reference, schema
from gpu_fabric.cli.plan import plan
from gpu_fabric.cli.review import review
from gpu_fabric.cli.shapes import shapes
from gpu_fabric.cli.topology import topology
from gpu_fabric.cli.verdict import verdict

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=__doc__,
)
# As `--help` lists them.
for command in (
    plan,
    topology,
    lint,
    attach,
    detach,
    verdict,
    images,
    diff,
    review,
    shapes,
    explain,
    schema,
    reference,
):
    app.command()(command)
app.add_typer(job_app, name="job")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"gpu-fabric {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    """Options of the program as a whole."""
