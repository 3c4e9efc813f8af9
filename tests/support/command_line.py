"""`gpu-fabric` in the test's own process: a result on stdout with status 0, or a refusal on stderr with status 2."""

import json
from functools import cache
from itertools import pairwise

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from typer.testing import CliRunner, Result

from gpu_fabric.cli.app import app


def run(*arguments: str, text: str | None = None) -> Result:
    """A command's result; `text` is what it reads on standard input. JSON that it prints is what its schema says."""
    result = CliRunner().invoke(app, list(arguments), input=text)
    if ("--json" in arguments or ("--format", "json") in pairwise(arguments)) and result.stdout:
        hold_by_schema(arguments[0], result.stdout)
    return result


def hold_by_schema(command: str, printed: str) -> None:
    """Fail where JSON is not what the schema of a command's output says."""
    error = best_match(_validator(command).iter_errors(json.loads(printed)))
    assert error is None, f"gpu-fabric {command}, {error.json_path}: {error.message[:500]}"


@cache
def _validator(command: str) -> Draft202012Validator:
    # Here, since it has the records of every command.
    from gpu_fabric.cli.pages import command_schema

    return Draft202012Validator(command_schema(command))


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
