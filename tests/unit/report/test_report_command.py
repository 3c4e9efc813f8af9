"""`gpu-fabric plan --format html|markdown`: a document on stdout and nothing beside it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpu_fabric.cli.app import app


@pytest.mark.parametrize(("form", "begins"), [("html", "<!doctype html>\n"), ("markdown", "# Fabric plan of dev\n")])
def test_the_report_is_printed_and_nothing_else(
    form: str, begins: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    result = CliRunner().invoke(app, ["plan", "-s", "dev", "--format", form])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(begins)


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_stack_that_cannot_be_planned_gives_no_report(form: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    result = CliRunner().invoke(app, ["plan", "-s", "no-such-stack", "--format", form])
    assert (result.exit_code, result.stdout) == (2, "")


def test_the_bytes_are_utf_8_whatever_the_terminal_has(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    result = CliRunner(charset="latin-1").invoke(app, ["plan", "-s", "dev", "--format", "html"])
    assert "… (17 resources)" in result.stdout_bytes.decode("utf-8")
