"""`gpu-fabric`: plan, lint and explain, with no cloud and no engine.

Exit status: 0 good, 1 findings that the command was asked to judge, 2 bad input or usage.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from gpu_fabric import __version__

# The module of each command, as `--help` lists them.
_MODULES = {
    "init": "init",
    "move": "move",
    "plan": "plan",
    "topology": "topology",
    "lint": "lint",
    "attach": "attach",
    "detach": "attach",
    "krm": "krm",
    "admission": "admission",
    "contract": "contract",
    "verdict": "verdict",
    "images": "images",
    "image-check": "image_check",
    "alarms": "alarms",
    "diff": "diff",
    "review": "review",
    "shapes": "shapes",
    "discover": "discover",
    "preflight": "preflight",
    "drift": "drift",
    "doctor": "doctor",
    "acceptance": "acceptance",
    "upgrade": "upgrade",
    "explain": "explain",
    "schema": "pages",
    "reference": "pages",
    "job": "job",
    "mcp": "mcp",
}

_HELP = frozenset({"-h", "--help"})


class _NotImported(TyperCommand):
    """The name of a command, and its description once that is asked for."""

    @property
    def help(self) -> str:
        """The first words of the command's own description."""
        return _docstring(str(self.name))

    @help.setter
    def help(self, text: str | None) -> None:
        """Nothing is kept of what Typer was given."""


class LazyGroup(TyperGroup):
    """The commands, each imported when it runs: a command does not wait for the imports of another.

    Help, completion and suggestions need names and docstrings alone, which are read without an import.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands.update({name: _NotImported(name) for name in _MODULES})

    def list_commands(self, ctx: Any) -> list[str]:
        """Our commands, and those that other packages add."""
        return [*super().list_commands(ctx), *added_commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command of ours, or one that another package adds."""
        return super().get_command(ctx, cmd_name) or _added_command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command of these arguments, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        if name not in _MODULES:
            return name, command, rest
        command = _import_command(name)
        add_examples(command, name, rest, Path(__file__).with_name("examples.yaml"))
        return name, command, _in_its_spelling(command, rest)


@cache
def _docstring(command: str) -> str:
    source = Path(__file__).with_name(f"{_MODULES[command]}.py").read_text(encoding="utf-8")
    functions = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    return next(ast.get_docstring(node) or "" for node in functions if node.name == _function(command))


def _function(command: str) -> str:
    return command.replace("-", "_")


@cache
def _import_command(name: str) -> Any:
    module = import_module(f"gpu_fabric.cli.{_MODULES[name]}")
    # A command with commands of its own is a program of Typer's, next to the function with its description.
    program = getattr(module, f"{name}_app", None)
    if program is None:
        program = typer.Typer(add_completion=False)
        program.command(name)(getattr(module, _function(name)))
    return typer.main.get_command(program)


def added_commands() -> dict[str, Any]:
    """The entry points by which other packages add commands, by name."""
    # Not every command waits for this import.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group="gpu_fabric.commands")}


def _added_command(name: str) -> Any:
    """The command of another package: a function that reads the arguments of the process, as those of scripts do."""
    if (entry := added_commands().get(name)) is None:
        return None
    program = typer.Typer(add_completion=False)
    unread = {"ignore_unknown_options": True, "allow_extra_args": True}

    @program.command(
        name, help=entry.dist and entry.dist.metadata["Summary"], add_help_option=False, context_settings=unread
    )
    def run(ctx: typer.Context) -> None:
        sys.argv = [name, *ctx.args]
        entry.load()()

    return typer.main.get_command(program)


def add_examples(command: Any, name: str | None, arguments: list[str], table: Path) -> None:
    """Have the help of a command, and of its own commands, end with the examples of a table, if it is asked for."""
    if _HELP.isdisjoint(arguments):
        return
    # Here, since no other run needs it.
    from gpu_fabric.base.tables import read_table

    rows = read_table(table)[name]
    lines = ["Examples:", *(line for text, purpose in rows.items() for line in (f"# {purpose}", text))]
    for each in (command, *getattr(command, "commands", {}).values()):
        # Typer keeps the line ends between paragraphs alone.
        each.epilog = "\n\n".join(lines)


def _in_its_spelling(command: Any, arguments: list[str]) -> list[str]:
    """Arguments in which `--json`, the only way of earlier releases, is written as `--format json`."""
    options = {name for parameter in command.params for name in parameter.opts}
    if "--format" not in options:
        return arguments
    end = arguments.index("--") if "--" in arguments else len(arguments)
    pairs = (["--format", "json"] if word == "--json" else [word] for word in arguments[:end])
    return [*chain.from_iterable(pairs), *arguments[end:]]


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=__doc__,
)


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
