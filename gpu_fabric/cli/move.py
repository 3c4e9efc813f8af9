"""`gpu-fabric move`: run a stack from here that a project in another folder, such as a checkout, has brought up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gpu_fabric.base.user_files import file_text
from gpu_fabric.cli.conversation import refuse, say
from gpu_fabric.cli.pulumi_command import Pulumi, PulumiError
from gpu_fabric.cli.stack_choice import planning


def move(
    stack: Annotated[str, typer.Argument(metavar="STACK", help="the stack, as `pulumi --stack` takes it")],
    source: Annotated[Path, typer.Option("--from", metavar="DIR", help="the project that has brought it up")],
) -> None:
    """Run a stack from here that the project in another folder has brought up, with nothing changed on its cluster."""
    from gpu_fabric.live.moved_state import UnknownProviderError, modules_of, renamed_providers
    from gpu_fabric.prepare import prepare
    from gpu_fabric.spec.load import document_of, read_document

    here, name = Path.cwd(), stack.rpartition("/")[2]
    target = here / f"Pulumi.{name}.yaml"
    _refuse_unlike_projects(source, here)
    with planning():
        written = read_document(name, source)
        prepare(document_of(written.text, name, here, target.name), for_up=True)
    if (there := target.exists()) and file_text(target) != written.text:
        refuse(f"{target.name} exists and differs from {source / written.file}: make them the same, or delete it")
    pulumi, own = Pulumi(source, stack, source.resolve() / written.file), Pulumi(here, stack)
    try:
        state = pulumi.exported()
        changed = renamed_providers(state.get("deployment") or {}, modules_of(here))
        if not there:
            target.write_text(written.text, encoding="utf-8")
        try:
            own.replace_state(json.dumps(state))
        except PulumiError:
            if not there:
                target.unlink()
            raise
    except PulumiError as error:
        refuse(f"nothing was moved: {error}\nboth folders must have one login of Pulumi, by which the stack exists")
    except UnknownProviderError as error:
        refuse(f"nothing was moved: the state has a provider in an unknown form: {error}")
    except OSError as error:
        refuse(f"nothing was moved: {target.name}: {error.strerror}")
    say(f"{stack}: {changed} names of classes in its state are those of the program here")
    say(f"See that nothing differs, and run it here alone from now on: pulumi preview --stack {stack}")
    say(f"Then delete {source / written.file}.")


def _refuse_unlike_projects(source: Path, here: Path) -> None:
    """Refuse folders that are no projects, or projects of two names: each resource has the project's in its name."""
    names = {folder: Pulumi(folder, "").project() for folder in (source, here)}
    missing = [
        f"{folder / 'Pulumi.yaml'}: there is no project with a name" for folder, name in names.items() if not name
    ]
    if missing:
        refuse(
            "\n".join(
                [*missing, "-> run it in the repository that shall have the stack, and name its project in --from"]
            )
        )
    if source.resolve() == here:
        refuse("--from is this folder: name the one that the stack is moved from")
    if names[source] != names[here]:
        refuse(
            f"the projects have other names, {names[source]} in {source} and {names[here]} here: write "
            f"`name: {names[source]}` into {here / 'Pulumi.yaml'}, since the name of each resource of the stack has it"
        )
