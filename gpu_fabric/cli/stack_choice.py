"""Select the stack of a command: a stack of the project by its name, or a stack file in any folder.

What reads and plans a stack is imported where it is used, since many commands need only the options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpu_fabric.cli.conversation import refuse, refuse_stack, text_of
from gpu_fabric.findings import ConfigurationError, InputError
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.report.terminal_progress import show_progress

if TYPE_CHECKING:
    from gpu_fabric.contract import FabricContract
    from gpu_fabric.live.bundle import Bundle
    from gpu_fabric.plan import Plan
    from gpu_fabric.spec.stack import StackSpec
    from gpu_fabric.spec.stack_text import StackDocument

DEFAULT = "dev"


def known_stacks(incomplete: str) -> list[str]:
    """The stacks whose names begin with a text, for the shell's completion."""
    from gpu_fabric.spec.load import stack_names

    return [name for name in stack_names(Path.cwd()) if name.startswith(incomplete)]


def known_lines(incomplete: str) -> list[str]:
    """The release lines that begin with a text, for the shell's completion."""
    from gpu_fabric.catalog import catalog

    return [name for name in catalog().releases if name.startswith(incomplete)]


def known_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    """The fabrics of the stack that the options before name, for the shell's completion; none of an unreadable one."""
    from gpu_fabric.spec.further_fabric import MAIN

    given = ctx.params
    try:
        sections = StackChoice(given.get("stack") or DEFAULT, given.get("stack_file")).read().sections
    except ConfigurationError:
        return []
    fabrics = sections.get("fabrics")
    return [name for name in (MAIN, *(fabrics if isinstance(fabrics, dict) else ())) if name.startswith(incomplete)]


def stack_option(help_text: str, default: str | bool = True) -> Any:
    """The option `--stack` of a command; `default` is shown as its default value."""
    return typer.Option("-s", "--stack", help=help_text, show_default=default, autocompletion=known_stacks)


StackName = Annotated[str | None, stack_option("the stack's name: Pulumi.<name>.yaml here or in examples/", DEFAULT)]
StackFile = Annotated[Path | None, typer.Option("-f", "--stack-file", help="a stack file of any name, in any folder")]
ContractFile = Annotated[
    str | None, typer.Option("--contract", help="its outputs as JSON instead, from `make outputs`; - for stdin")
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="FABRIC",
        help="which of several fabrics; more than once for a compute and storage fabrics",
        autocompletion=known_groups,
    ),
]
StackArgument = Annotated[
    str | None, typer.Argument(metavar="STACK", help="the same as --stack", autocompletion=known_stacks)
]


@dataclass(frozen=True)
class StackChoice:
    """The stack that the user named; `file` is None if it is found by its name."""

    name: str = DEFAULT
    file: Path | None = None

    def read(self) -> StackDocument:
        """The stack file, parsed but not validated.

        Raises:
            ConfigurationError: the file is missing, unreadable or not a YAML mapping.
        """
        from gpu_fabric.spec.load import read_document, read_file

        return read_document(self.name, Path.cwd()) if self.file is None else read_file(self.file)

    def plan(self, progress: Progress = NO_PROGRESS) -> Plan:
        """The stack's plan; see `prepare`.

        Raises:
            ConfigurationError: with every error in the stack.
        """
        from gpu_fabric.prepare import prepare

        progress.step(f"reading stack {self.name}")
        return prepare(self.read(), for_up=False, progress=progress).plan

    def kubeconfig(self) -> tuple[Path, str, str | None]:
        """The kubeconfig of the stack's cluster: its path, as the file writes it, and its context.

        Raises:
            ConfigurationError: with every error in the stack.
        """
        from gpu_fabric.spec.existing import ExistingClusterSpec
        from gpu_fabric.spec.kubeconfig import kubeconfig_path
        from gpu_fabric.spec.load import validated

        document = self.read()
        cluster = validated(document).cluster
        path = kubeconfig_path(cluster, document.root) if isinstance(cluster, ExistingClusterSpec) else None
        if not isinstance(cluster, ExistingClusterSpec) or path is None or cluster.kubeconfig is None:
            refuse(f"stack {self.name} names no kubeconfig file: write its outputs' one into a file, for --kubeconfig")
        return path, cluster.kubeconfig, cluster.context


@contextmanager
def planning(output: str = "text") -> Iterator[Progress]:
    """Show the progress of planning in this context; a stack with errors ends the process with all its findings."""
    try:
        with show_progress() as progress:
            yield progress
    except ConfigurationError as error:
        refuse_stack(error, output)


def plan_stack(
    choice: StackChoice, output: str = "text", bundle: Bundle | None = None
) -> tuple[StackDocument, StackSpec, Plan]:
    """The file of a stack, or what a bundle has of it, with its settings and plan; see `planning`."""
    from gpu_fabric.prepare import prepare

    with planning(output) as progress:
        progress.step(f"reading stack {choice.name}")
        document = choice.read() if bundle is None else bundle.document
        return document, *prepare(document, for_up=False, progress=progress)


def named_stack(name: str | None, file: Path | None, argument: str | None = None) -> StackChoice | None:
    """The named stack, or None; refuses a stack that is named in two ways."""
    if name is not None and argument is not None:
        refuse(f"the stack is named twice, {argument} and --stack {name}: leave one out")
    stack = argument if name is None else name
    if stack is not None and file is not None:
        refuse(f"the stack is named twice, {stack} and --stack-file {file}: leave one out")
    if file is not None:
        return StackChoice(str(file), file)
    if stack is None:
        return None
    if stack.endswith((".yaml", ".yml")) and Path(stack).is_file():
        refuse(f"{stack} is a file, and a stack is called by its name: write -f {stack}")
    return StackChoice(stack)


def chosen_stack(name: str | None, file: Path | None, argument: str | None = None) -> StackChoice:
    """The named stack, by default `dev`; refuses a stack that is named in two ways."""
    return named_stack(name, file, argument) or StackChoice()


def chosen_contract(
    name: str | None, file: Path | None, contract: str | None, groups: Sequence[str] = ()
) -> FabricContract:
    """The contract of the named stack, or from its outputs; refuses a stack without one, with every reason.

    Of several fabrics it is that of the named `groups`, a compute fabric with storage fabrics of its nodes.
    """
    from gpu_fabric.contract.several import chosen_of

    try:
        return chosen_of(chosen_contracts(name, file, contract), groups)
    except InputError as error:
        refuse(str(error))


def chosen_contracts(name: str | None, file: Path | None, contract: str | None) -> dict[str, FabricContract]:
    """The contracts of all fabrics of the named stack, by name; one fabric alone has the empty name."""
    from gpu_fabric.contract.several import read_contracts

    if contract is not None:
        if name is not None or file is not None:
            option = "--stack" if file is None else "--stack-file"
            refuse(f"the contract comes from {option} or from --contract, not from both")
        try:
            return read_contracts(text_of(contract))
        except InputError as error:
            refuse(f"{contract}: {error}")
    choice = chosen_stack(name, file)
    with planning() as progress:
        plan = choice.plan(progress)
    if plan.part == "cluster":
        refuse(f"stack {plan.stack} creates a cluster only; the fabric is in the stack with part platform")
    return {fabric: one.workload for fabric, one in plan.by_fabric.items()}
