"""The commands on the page about workloads: each prints what the page shows."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from attached_pods import MANIFESTS, NETWORKS
from typer.testing import CliRunner

from fabric.attach import Wishes, attach
from fabric.cli import app
from fabric.plan import Plan

PAGE = (Path(__file__).parents[2] / "docs" / "workloads.md").read_text(encoding="utf-8")
PROGRAM = "python -m fabric "
# What other programs on the page make of the output, or read.
ELSEWHERE = ("make outputs", "kustomize build", "kubectl")


class Shown(NamedTuple):
    """A command of the page, and the lines under it."""

    command: str
    lines: list[str]


def shown() -> list[Shown]:
    """The commands of the page's consoles; comments behind them are no part."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            found.append(Shown(re.sub(r"\s{2,}#.*", "", command), lines))
    return found


COMMANDS = [entry for entry in shown() if not entry.command.startswith(ELSEWHERE)]


@pytest.fixture
def folder(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dev_plan: Plan) -> Path:
    """A folder with the development stack, its outputs and the manifests, as the current one."""
    shutil.copy(root / "Pulumi.dev.yaml", tmp_path)
    for path in MANIFESTS.iterdir():
        shutil.copy(path, tmp_path)
    fabric = dev_plan.workload.model_dump_json(by_alias=True, exclude_none=True)
    (tmp_path / "outputs.json").write_text(f'{{"fabric": {fabric}}}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def grep(words: list[str], text: str) -> list[str]:
    """What `grep` prints, as far as the page asks it."""
    *options, pattern = words
    lines = text.splitlines()
    hits = [number for number, line in enumerate(lines) if pattern in line]
    if "-c" in options:
        return [str(len(hits))]
    after = 1 if "-A1" in options else 0
    return [lines[number] for hit in hits for number in range(hit, hit + after + 1)]


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.command.removeprefix(PROGRAM))
@pytest.mark.usefixtures("folder")
def test_a_command_prints_what_the_page_shows(entry: Shown) -> None:
    command, _, further = entry.command.partition(" | ")
    words = shlex.split(command.partition(" > ")[0])
    result = CliRunner().invoke(app, words[3:])
    printed = result.stderr.splitlines()
    if further.startswith("grep "):
        printed += grep(shlex.split(further)[1:], result.stdout)

    assert entry.command.startswith(PROGRAM)
    assert printed == entry.lines
    assert result.exit_code == (1 if any("nothing was attached" in line for line in entry.lines) else 0)


def test_what_the_page_hands_to_another_program_is_known() -> None:
    others = [entry.command for entry in shown() if entry.command.startswith(ELSEWHERE)]

    assert len(COMMANDS) >= 12
    assert all(not entry.lines for entry in shown() if entry.command in others)


@pytest.mark.usefixtures("folder")
def test_the_function_is_called_as_the_page_shows() -> None:
    (code,) = (
        block for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S) if "documents, notes" in block
    )
    manifests = list(yaml.safe_load_all(Path("mpijob.yaml").read_text()))
    names: dict[str, object] = {"Path": Path, "manifests": manifests}
    with pytest.raises(Exception, match="not offered in research"):
        exec(code, names)  # noqa: S102  # the page's own text

    exec(code.replace("research", "default"), names)  # noqa: S102
    assert NETWORKS in str(names["documents"])
    assert attach(manifests, names["contract"], Wishes(("worker",))).documents == names["documents"]  # type: ignore[arg-type]
