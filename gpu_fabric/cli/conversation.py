"""Input and error helpers that the commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from gpu_fabric.base.user_files import argument_content, stream_content
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.findings import ConfigurationError

AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


def refuse_stack(error: ConfigurationError, *, as_json: bool = False) -> NoReturn:
    """Print every finding of a stack, optionally also as JSON on stdout, and end with the status for bad input."""
    if as_json:
        findings = [entry.model_dump(mode="json", by_alias=True) for entry in error.located]
        print_json({"file": error.file, "findings": findings})
    refuse(str(error))


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    print_document(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def text_of(file: str) -> str:
    """The text of a file with its line ends; - is standard input."""
    try:
        return (stream_content(sys.stdin.buffer, file) if file == "-" else argument_content(Path(file))).decode()
    except OSError as error:
        refuse(f"{file}: {error.strerror}")
    except UnicodeDecodeError:
        refuse(f"{file}: no UTF-8 text")


def say(message: str) -> None:
    """Print a message that is not a result, to standard error."""
    # Here, since most runs of a command have only a result.
    from gpu_fabric.report.console import plain_console

    plain_console(stderr=True).print(message, soft_wrap=True)


def refuse(message: str) -> NoReturn:
    """Print the reason, and end with the status for bad input."""
    say(message)
    raise typer.Exit(2)
