"""What `make setup` shows while pip works: on a terminal one line, elsewhere a line now and then."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import install_packages

SAID = [
    "Collecting pulumi==3.259.0 (from -r requirements.txt (line 1))\n",
    "  Downloading pulumi-3.259.0-py3-none-any.whl (400 kB)\n",
    "Collecting pydantic (from -r requirements.txt (line 2))\n",
    "Successfully built gpu-fabric\n",
    "Installing collected packages: pydantic, pulumi\n",
    "",
    "",
    "Successfully installed pulumi-3.259.0 pydantic-2.12.0\n",
]


@pytest.fixture(autouse=True)
def _ten_seconds_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count(0.0, 10.0)
    monkeypatch.setattr(install_packages.time, "monotonic", lambda: next(ticks))


def test_where_there_is_no_terminal_a_line_now_and_then_says_how_far_it_is() -> None:
    out = io.StringIO()
    said = install_packages.show(SAID, out, is_terminal=False)

    assert out.getvalue().splitlines() == [
        "  package 1: pulumi==3.259.0, 20 s",
        "  package 2: pydantic, 40 s",
        "  writing 2 packages, 60 s",
        "  2 packages installed, 80 s",
    ]
    assert said == [line for line in SAID if line]


def test_on_a_terminal_one_line_is_written_again() -> None:
    out = io.StringIO()
    install_packages.show(SAID, out, is_terminal=True)

    assert out.getvalue().count("\n") == 1
    assert [part.strip() for part in out.getvalue().split("\r")][-1] == "2 packages installed, 80 s"
    assert max(map(len, out.getvalue().rstrip("\n").split("\r"))) < 80


def test_a_silence_is_passed_on_and_no_line_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_packages, "_LOOK", 0.01)

    def slow() -> Iterator[str]:
        import threading

        yield "one\n"
        threading.Event().wait(0.05)
        yield "two\n"

    found = list(install_packages.arriving(slow()))
    assert [line for line in found if line] == ["one\n", "two\n"]
    assert "" in found


def test_what_pip_said_is_printed_where_it_failed(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("./no-such-folder-of-a-package\n")
    out = io.StringIO()

    assert install_packages.main(["-r", str(tmp_path / "requirements.txt")], out) != 0
    assert "no-such-folder-of-a-package" in out.getvalue()
