"""`gpu-fabric attach` and `detach`: add the fabric to manifests, and remove what `attach` added."""

from __future__ import annotations

from typing import Annotated

import typer

from gpu_fabric.attach.attachment import Wishes, attach_text, detach_text
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.stamp import STAMP
from gpu_fabric.cli.conversation import refuse, say, text_of
from gpu_fabric.cli.progress import show_progress
from gpu_fabric.cli.stack_choice import ContractFile, StackFile, StackName, chosen_contract
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.findings import InputError


def attach(
    file: Annotated[str, typer.Argument(help="workload manifests, YAML or JSON; - for standard input")],
    stack: StackName = None,
    stack_file: StackFile = None,
    contract: ContractFile = None,
    container: Annotated[
        list[str] | None,
        typer.Option("-c", "--container", help="container, role, or role/container that gets it; more than once"),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("-n", "--namespace", help="namespace of manifests that name none; default where none is said"),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="queue of Kueue, or of Volcano for its own jobs")] = None,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", help="kind whose documents stay as they are; more than once")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="print nothing; status 1 where a workload is not, or no longer, attached")
    ] = False,
) -> None:
    """Print workload manifests with the fabric attached: networks, devices, files, settings; the rest as it was."""
    if file == contract:
        refuse("manifests and contract cannot be the same file")
    known = chosen_contract(stack, stack_file, contract)
    try:
        text = text_of(file)
        with show_progress() as progress:
            progress.step("attaching the fabric to the manifests")
            wishes = Wishes(tuple(container or ()), namespace, queue, tuple(skip or ()), stamped=True)
            attached = attach_text(text, known, wishes)
    except InputError as error:
        refuse(f"{file}: {error}; nothing was attached")
    except AttachError as error:
        say(error.explanation(file))
        raise typer.Exit(1) from None
    for note in attached.notes:
        say(f"{file}: {note}")
    if not check:
        print_document(attached.text)
    elif attached.text != text:
        say(f"{file}: the fabric is not attached, or not as the stack has it; nothing was attached")
        raise typer.Exit(1)


def detach(
    file: Annotated[str, typer.Argument(help="manifests that attach printed, YAML or JSON; - for standard input")],
) -> None:
    """Print workload manifests without the fabric: all that their stamps say was added; the rest as it is."""
    try:
        text = text_of(file)
        detached = detach_text(text)
    except InputError as error:
        refuse(f"{file}: {error}; nothing was detached")
    except AttachError as error:
        say(error.explanation(file, "detached"))
        raise typer.Exit(1) from None
    if STAMP not in text:
        say(f"{file}: no pod template has the annotation {STAMP}, so nothing is known to have been added")
    print_document(detached)
