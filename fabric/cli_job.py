"""`python -m fabric job`: jobs of our own, made for a stack's fabric."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fabric.attach import AttachError, InputError, read_contract
from fabric.cli_input import refuse, say, text_of, workload_contract
from fabric.plan import FabricContract
from fabric.workloads import JobError, JobScheduler, NcclTest, manifest_text, nccl_test

job_app = typer.Typer(no_args_is_help=True, help="Print a job of our own, made for a stack's fabric.")


@job_app.callback()
def job() -> None:
    """Print a job of our own, made for a stack's fabric."""


@job_app.command("nccl-test")
def nccl_test_job(
    image: Annotated[str, typer.Option(help="image with Open MPI, ssh's server and the tests; none is published")],
    stack: Annotated[
        str | None,
        typer.Option("-s", "--stack", help="the stack whose fabric is tested", show_default="dev"),
    ] = None,
    contract: Annotated[
        str | None, typer.Option("--contract", help="its outputs as JSON instead, from `make outputs`; - for stdin")
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="GPU nodes; all of the stack's by default")] = None,
    scheduler: Annotated[
        JobScheduler | None, typer.Option(help="who runs it; by default the scheduler that the stack brings")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option("-n", "--namespace", help="one of the fabric's; the first by default")
    ] = None,
    program: Annotated[
        str, typer.Option(help="the test in the image: a name on its PATH, or a path")
    ] = "all_reduce_perf",
) -> None:
    """Print the all-reduce test over the fabric as a job: one worker a node, one rank a GPU."""
    if stack is not None and contract is not None:
        refuse("the contract comes from --stack or from --contract, not from both")
    try:
        known = workload_contract(stack or "dev") if contract is None else read_contract(text_of(contract))
    except InputError as error:
        refuse(f"{contract}: {error}")
    brought = _brought(known)
    if scheduler is None and not brought:
        refuse("the stack brings no scheduler of jobs; write --scheduler volcano or --scheduler mpi-operator")
    chosen = scheduler or brought[0]
    if chosen not in brought:
        say(f"the stack does not bring {chosen}: the cluster must have it")
    try:
        made = nccl_test(known, NcclTest(chosen, image, program, nodes, namespace))
    except JobError as error:
        refuse(str(error))
    except AttachError as error:
        say(error.explanation("nccl-test"))
        raise typer.Exit(1) from None
    for note in made.notes:
        say(f"nccl-test: {note}")
    sys.stdout.write(manifest_text(made.documents[0]))


def _brought(contract: FabricContract) -> list[JobScheduler]:
    """Who can run the job on the stack, the one first whose jobs its scheduler queues."""
    hints = contract.scheduler_hints
    found = [name for name in JobScheduler if name in hints.controllers or name == hints.scheduler]
    # Kueue queues every kind of job but Volcano's.
    return sorted(found, key=lambda name: (name == JobScheduler.VOLCANO) is (hints.scheduler == "kueue"))
