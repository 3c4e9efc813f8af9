"""`gpu-fabric` in the test's own process: a result on stdout with status 0, or a refusal on stderr with status 2."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from gpu_fabric.cli.app import app


def run(*arguments: str, text: str | None = None) -> Result:
    """A command's result; `text` is what it reads on standard input."""
    return CliRunner().invoke(app, list(arguments), input=text)


def result_of(*arguments: str) -> str:
    """What a command prints that ends well and says nothing beside it."""
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def refusal_of(*arguments: str) -> str:
    """The message of a command that refuses its input and prints no result."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr
