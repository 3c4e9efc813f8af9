"""What several commands read from the user, and what they say to him."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import typer

from fabric.cli_progress import shown_progress
from fabric.plain_console import plain_console
from fabric.plan import FabricContract
from fabric.prepare import prepare_stack
from fabric.rules import ConfigurationError


def workload_contract(stack: str) -> FabricContract:
    """The contract of a stack; refuses, with every reason, one that cannot be planned."""
    try:
        with shown_progress() as progress:
            plan = prepare_stack(stack, Path.cwd(), progress=progress)
    except ConfigurationError as error:
        refuse(str(error))
    if plan.part == "cluster":
        refuse(f"stack {stack} makes a cluster alone; the fabric is that of the stack with part platform")
    return plan.workload


def text_of(file: str) -> str:
    """A file as it is, line ends included; - is standard input."""
    try:
        return (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode()
    except OSError as error:
        refuse(f"{file}: {error.strerror}")
    except UnicodeDecodeError:
        refuse(f"{file}: no UTF-8 text")


def say(message: str) -> None:
    """Say something to the user that is no result."""
    plain_console(stderr=True).print(message, soft_wrap=True)


def refuse(message: str) -> NoReturn:
    """End with the status of bad input, and say why."""
    say(message)
    raise typer.Exit(2)
