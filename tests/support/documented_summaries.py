"""Summaries of a command's arguments, as `gpu-fabric plan [-s STACK] [--format text|json]`: are they true?"""

import re
from collections.abc import Iterator
from enum import EnumType
from typing import Any, cast, get_args

import typer
from typer.main import get_command

from gpu_fabric.cli.app import app as fabric_app
from sandbox.cli import app as sandbox_app


def imported(app: typer.Typer) -> Any:
    """A program with all its commands; `gpu-fabric` imports a command, and knows its options, when it is resolved."""
    group: Any = get_command(app)
    group.commands = {name: group.resolve_command(typer.Context(group), [name])[1] for name in group.commands}
    return group


PROGRAMS: dict[str, Any] = {"gpu-fabric": imported(fabric_app), "sandbox": imported(sandbox_app)}

_SUMMARY = re.compile(r"\[|[\w-]\|[\w-]|…")


def is_summary(command: str) -> bool:
    """Whether a command stands for many: it has arguments in brackets, alternatives, or is cut."""
    return bool(_SUMMARY.search(command))


def command_names() -> list[str]:
    """Every command of ours, as `gpu-fabric plan` or `gpu-fabric job nccl-test`."""
    return sorted(name for program, group in PROGRAMS.items() for name in _names(program, group))


def _names(name: str, command: Any) -> Iterator[str]:
    inner = getattr(command, "commands", {})
    if not inner:
        yield name
    for word, found in inner.items():
        yield from _names(f"{name} {word}", found)


def options_of(name: str) -> list[str]:
    """The options of a command, each by its shortest name; those that take something back are left out."""
    program, *words = name.split()
    command = PROGRAMS[program]
    for word in words:
        command = command.commands[word]
    named = (parameter.opts for parameter in command.params if parameter.opts[0].startswith("-"))
    return [min(names, key=len) for names in named]


def untrue(command: str) -> list[str]:
    """What a command of ours, or a summary of its arguments, says that the program does not know."""
    words = re.sub(r"[\[\]…]|\.\.\.", " ", command.partition(" | ")[0]).split()
    program = words.pop(0)
    if program == "python":
        del words[0]
    if words and words[0] in PROGRAMS:
        program = words.pop(0)
    names = words.pop(0).split("|") if words else []
    commands = PROGRAMS[program].commands
    wrong = [f"{program} has no command {name}" for name in names if name not in commands]
    for name in set(names) & set(commands):
        wrong += _untrue_arguments(commands[name], list(words))
    return wrong


def _untrue_arguments(command: Any, words: list[str]) -> Iterator[str]:
    while words and words[0] in getattr(command, "commands", ()):
        command = command.commands[words.pop(0)]
    options = {name: option for option in command.params for name in (*option.opts, *option.secondary_opts)}
    arguments = [parameter for parameter in command.params if not parameter.opts[0].startswith("-")]
    of = arguments[0] if arguments else None
    for word in words:
        if re.match(r"--?\w", word):
            of = options.get(word)
            if of is None:
                yield f"{command.name} has no option {word}"
        elif "|" in word and word.islower() and of is not None:
            annotation = of.type_descriptor.annotation
            if isinstance(annotation, EnumType):
                choices = [str(choice.value) for choice in cast(Any, annotation)]
            else:
                choices = [choice for choice in get_args(annotation) if isinstance(choice, str)]
            if choices and set(choices) != set(word.split("|")):
                yield f"{command.name}: {of.opts[0]} takes {'|'.join(choices)}"
