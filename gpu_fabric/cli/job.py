"""`gpu-fabric job`: print the program's own jobs for a stack's fabric."""

from __future__ import annotations

from typing import Annotated

import typer

from gpu_fabric.attach.place import AttachError
from gpu_fabric.cli.conversation import refuse, say
from gpu_fabric.cli.stack_choice import ContractFile, Groups, StackFile, StackName, chosen_contract
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.contract import FabricContract
from gpu_fabric.workloads.nccl_test import JobError, JobScheduler, NcclTest, manifest_text, nccl_test

job_app = typer.Typer(add_completion=False, no_args_is_help=True, help="Print a job for a stack's fabric.")


@job_app.callback()
def job() -> None:
    """Print a job for a stack's fabric."""


@job_app.command("nccl-test")
def nccl_test_job(
    image: Annotated[str, typer.Option(help="image with Open MPI, ssh's server and the tests; none is published")],
    stack: StackName = None,
    stack_file: StackFile = None,
    contract: ContractFile = None,
    group: Groups = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="GPU nodes; all of the stack's by default")] = None,
    scheduler: Annotated[
        JobScheduler | None, typer.Option(help="what runs it; by default the scheduler that the stack installs")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option("-n", "--namespace", help="one of the fabric's; the first by default")
    ] = None,
    program: Annotated[
        str, typer.Option(help="the test in the image: a name on its PATH, or a path")
    ] = "all_reduce_perf",
) -> None:
    """Print the all-reduce test over the fabric as a job: one worker a node, one rank a GPU."""
    known = chosen_contract(stack, stack_file, contract, group or ())
    installed = _installed_schedulers(known)
    if scheduler is None and not installed:
        refuse("the stack installs no scheduler of jobs; write --scheduler volcano or --scheduler mpi-operator")
    chosen = scheduler or installed[0]
    if chosen not in installed:
        say(f"the stack does not install {chosen}: the cluster must have it")
    try:
        made = nccl_test(known, NcclTest(chosen, image, program, nodes, namespace))
    except JobError as error:
        refuse(str(error))
    except AttachError as error:
        say(error.explanation("nccl-test"))
        raise typer.Exit(1) from None
    for note in made.notes:
        say(f"nccl-test: {note.text}")
    print_document(manifest_text(made.documents[0]))


def _installed_schedulers(contract: FabricContract) -> list[JobScheduler]:
    """The schedulers that can run the job on the stack; first, the one whose jobs the stack's scheduler queues."""
    hints = contract.scheduler_hints
    found = [name for name in JobScheduler if name in hints.controllers or name == hints.scheduler]
    # Kueue queues every kind of job but Volcano's.
    return sorted(found, key=lambda name: (name == JobScheduler.VOLCANO) is (hints.scheduler == "kueue"))
