"""What a user wrote is printed as written, on terminals and in files: the text is not markup and no emoji's name."""

import ast
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from terminal_screen import at_terminal
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.cli.conversation import say
from sandbox.control_plane import ControlPlane, ServiceStatus
from sandbox.home import SandboxHome
from sandbox.overview import show
from sandbox.toolchain.progress import Progress

SIZE = "gpu-mi325x8-2048gb-fabric-contracted"
LIKE_MARKUP = {
    "ends a tag that nobody began": "offer 12 [/2026]",
    "a style and an emoji": "[draft] our :fire: contract",
    "a link and a backslash": "[link=https://example.org]offer[/link] \\[b]",
}
# Together in one text: where one of them is taken for more than text, that text is not whole.
SOURCES = (*LIKE_MARKUP.values(), "x" * 200)
PACKAGES = ("gpu_fabric", "components", "stacks", "nccl_topology", "sandbox", "policy")
BEYOND_TEXT = {"Console", "from_markup", "render_markup", "rprint"}
"""Of Rich, what makes more of a text than text."""


@pytest.fixture
def source(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The source of a price in the stack file `priced`, which is alone in the current folder."""
    text = ", ".join(SOURCES)
    document = yaml.safe_load((root / "examples/Pulumi.doks-mi325x.yaml").read_text(encoding="utf-8"))
    price = {"hourly": 20, "asOf": "2026-11-01", "source": text}
    document["config"]["gpu-fabric:cluster"]["prices"] = {SIZE: price}
    (tmp_path / "Pulumi.priced.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return text


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.stderr
    return result.stdout


def unbroken(text: str) -> str:
    """A text without the spaces at which, or in place of which, a table breaks its lines."""
    return "".join(text.split())


def test_a_users_text_is_whole_in_the_report_and_in_the_summary(source: str) -> None:
    for text in (printed("plan", "-s", "priced"), printed("plan", "-s", "priced", "--summary")):
        assert unbroken(source) in unbroken(text)


def test_a_users_text_is_whole_in_the_rendered_plans_of_one_stack_and_of_all(source: str) -> None:
    printed("plan", "-s", "priced", "--out", "one")
    printed("plan", "--all", "--out", "all")
    for folder in ("one", "all/priced"):
        assert unbroken(source) in unbroken(Path(folder, "report.txt").read_text(encoding="utf-8"))


def test_a_users_text_is_whole_on_a_terminal(root: Path, source: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(root), "TERM": "xterm-256color", "COLUMNS": "100"}
    ended = at_terminal(Path.cwd(), "-m", "gpu_fabric", "plan", "-s", "priced", environment=environment)
    assert ended.status == 0
    assert unbroken(source) in unbroken(" ".join(ended.screen))


@pytest.mark.parametrize("text", LIKE_MARKUP.values(), ids=LIKE_MARKUP)
def test_what_is_said_beside_the_result_of_a_build_and_of_logs_is_said_as_it_is(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say(f"gpu-fabric:guard: {text}")
    stream = io.StringIO()
    Progress(Console(file=stream)).say(text)
    log = tmp_path / text / "etcd.log"
    monkeypatch.setattr(ControlPlane, "status", lambda plane: [ServiceStatus("etcd", 1, 2, "running", log)])
    show(SandboxHome(tmp_path))
    said = capsys.readouterr()
    assert (said.err, stream.getvalue()) == (f"gpu-fabric:guard: {text}\n", f"{text}\n")
    assert str(log) in said.out


def test_the_help_says_which_stack_is_meant_without_one() -> None:
    assert "[default: (dev)]" in printed("attach", "--help")


def test_nothing_prints_but_through_the_console_that_takes_text_as_it_is(root: Path) -> None:
    found = [
        f"{path.relative_to(root)}:{call.lineno} calls {name}"
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        for name, call in _calls(path)
        if name in BEYOND_TEXT
    ]
    assert found == []


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """What a module calls, by the last part of its name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield node.func.id if isinstance(node.func, ast.Name) else node.func.attr, node
