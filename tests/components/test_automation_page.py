"""The program on the page about stacks from Python runs as it is printed there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import components
import components.automation

pytestmark = pytest.mark.components


@pytest.fixture
def programs(root: Path) -> list[str]:
    """The page's blocks of Python."""
    text = (root / "docs/automation.md").read_text(encoding="utf-8")
    return [token.content for token in MarkdownIt().parse(text) if token.type == "fence" and token.info == "python"]


def test_the_refused_stack_prints_what_the_page_shows(
    root: Path, programs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # In a checkout the wheel's package has another name.
    monkeypatch.setitem(sys.modules, "gpu_fabric.components", components)
    monkeypatch.setitem(sys.modules, "gpu_fabric.components.automation", components.automation)
    monkeypatch.chdir(root)
    exec(compile(programs[0], "docs/automation.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out

    assert printed.startswith("ADR001 gpu-fabric:fabric.addressing.supernet 600 nodes x 1 address = 600 per pool, but ")
    assert printed.endswith("-> use a supernet of /18 or larger\n")
    assert len(printed.splitlines()) == 1


def test_every_method_and_option_of_the_page_exists(programs: list[str], root: Path) -> None:
    compile(programs[1], "docs/automation.md", "exec")
    page = (root / "docs/automation.md").read_text(encoding="utf-8")
    public = [name for name in vars(components.automation.FabricStack) if not name.startswith("_")]
    options = components.automation.FabricStack.__init__.__kwdefaults__

    assert [name for name in public if f"`{name}(" not in page] == []
    assert [name for name in options if name != "project" and f"`{name}`" not in page] == []
