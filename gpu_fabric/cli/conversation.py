"""Input and error helpers that the commands share."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TextIO

import typer
from pydantic import BaseModel

from gpu_fabric.base.user_files import argument_content, stream_content
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.model import FrozenModel

Output = Annotated[
    Literal["text", "json"], typer.Option("--format", help="how to print it; `--json` is short for `--format json`")
]


class Refused(FrozenModel):
    """What a command prints as JSON in place of its result, where a stack file is refused."""

    file: str
    findings: tuple[Finding, ...]


def refuse_stack(error: ConfigurationError, output: str = "text") -> NoReturn:
    """Print every finding of a stack, with JSON also as such on stdout, and end with the status for bad input."""
    if output == "json":
        print_json(Refused(file=error.file, findings=error.located))
    refuse(str(error))


def print_as(output: str, value: Any, lines: Iterable[str]) -> None:
    """Print a result, as lines for people or as JSON for scripts."""
    if output == "json":
        print_json(value)
    else:
        print_lines(lines)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines for people, as `print_text` does."""
    print_text("".join(f"{line}\n" for line in lines))


def print_text(text: str) -> None:
    """Print a text for people: in a file or a pipe whole lines, on a screen none that is wider than it."""
    if is_screen(sys.stdout):
        # Here, since most output goes elsewhere.
        from gpu_fabric.report.console import fitted

        print(fitted(text, shutil.get_terminal_size().columns), end="")
    else:
        print_document(text)
    # Other programs may write to it before the end.
    sys.stdout.flush()


def is_screen(stream: TextIO) -> bool:
    """Whether a person reads a stream as it is written."""
    return stream.isatty()


def print_json(value: Any) -> None:
    """Print a result, a model or several by names or in a list, as JSON."""
    print_document(json.dumps(value, indent=2, ensure_ascii=False, default=_plain) + "\n")


def _plain(model: BaseModel) -> Any:
    return model.model_dump(mode="json", by_alias=True)


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
    from gpu_fabric.report.console import fitted, plain_console

    if is_screen(sys.stderr):
        message = fitted(message, shutil.get_terminal_size().columns)
    plain_console(stderr=True).print(message, soft_wrap=True)


def is_terminal() -> bool:
    """Whether a person can be asked, and sees what is printed."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def refuse(message: str) -> NoReturn:
    """Print the reason, and end with the status for bad input."""
    say(message)
    raise typer.Exit(2)
