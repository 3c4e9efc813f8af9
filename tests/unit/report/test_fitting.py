"""Tables on screens of any width: nothing that a person copies is cut."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan
from gpu_fabric.report.console import FittingTable, Pairs, fitted
from gpu_fabric.report.content import step_rows
from gpu_fabric.report.pages.shapes import shape_table
from gpu_fabric.report.text import plan_report, print_report


def on_screen(report: Any, width: int) -> list[str]:
    console = Console(width=width, file=StringIO(), force_terminal=True, color_system=None)
    print_report(report, console)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


WORDS = st.text(alphabet="abcdefghij0123456789./-", min_size=1, max_size=30)
CELLS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


@given(st.integers(40, 160), st.data())
def test_no_word_of_a_table_is_ever_cut_or_lost(width: int, data: st.DataObject) -> None:
    columns = data.draw(st.lists(WORDS, min_size=2, max_size=6, unique=True))
    rows = data.draw(st.lists(st.tuples(*[CELLS] * len(columns)), min_size=1, max_size=4))
    lines = on_screen(FittingTable(columns, rows), width)
    shown = [word.rstrip(",:") for line in lines for word in line.split()]

    assert all(word in shown for row in rows for cell in row for word in cell.split())


@given(st.integers(60, 160), st.data())
def test_no_line_is_wider_than_a_screen_that_has_room_for_its_words(width: int, data: st.DataObject) -> None:
    columns = data.draw(st.lists(WORDS, min_size=2, max_size=6, unique=True))
    rows = data.draw(st.lists(st.tuples(*[CELLS] * len(columns)), min_size=1, max_size=4))

    assert max(map(len, on_screen(FittingTable(columns, rows), width))) <= width


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_list_of_shapes_names_model_and_rails_whole_on_every_screen(width: int) -> None:
    shapes = list(catalog().shapes.values())
    lines = on_screen(shape_table(shapes, catalog().topologies), width)

    for shape in shapes:
        (line,) = (line for line in lines if line.split()[:1] == [shape.name])
        model = f"{shape.gpus.count} {shape.gpus.model or shape.gpus.vendor}"
        assert f" {model} " in line
        assert str(shape.rails or "-") in line[len(shape.name) :].split()


MARKS = st.sampled_from(["", "- ", "  -> ", "    ", "12. "])


@given(st.integers(60, 160), st.lists(st.tuples(MARKS, CELLS).map("".join), min_size=1, max_size=6))
def test_a_text_fits_a_screen_and_keeps_its_words_in_their_order(width: int, lines: list[str]) -> None:
    shown = fitted("\n".join(lines), width)

    assert shown.split() == " ".join(lines).split()
    assert max(map(len, shown.split("\n"))) <= width
    assert fitted(shown, width) == shown


def test_a_line_goes_on_beneath_its_text_and_what_is_copied_stays_whole() -> None:
    command = f"  pulumi config set --secret gpu-fabric:{'k' * 60} -s dev < KUBECONFIG"
    fence = f"```yaml\nreason: {'word ' * 20}\n```"

    assert fitted("  -> one two three", 14) == "  -> one two\n     three"
    assert fitted("one two three", 8) == "one two\n    three"
    assert fitted(f"{command}\n{fence}", 80) == f"{command}\n{fence}"


def test_a_wide_table_of_markdown_is_a_table_of_the_screen() -> None:
    table = f"| what | why |\n|---|---|\n| `a` | {'because ' * 12}|"

    assert fitted(table, 200) == table
    head, *rows = fitted(f"{table}\nend", 40).split("\n")
    assert head == "what  why"
    assert (rows[0].startswith("`a`   because"), rows[-1]) == (True, "end")
    assert max(map(len, rows)) <= 40


def test_steps_are_sentences_where_no_table_fits(dev_plan: Plan) -> None:
    text = " ".join(" ".join(on_screen(plan_report(dev_plan), 80)).split())

    for title, what, waits in step_rows(dev_plan):
        assert f" {title}: {what}{f', then wait for {waits}' if waits else ''} " in text
    assert " step " not in text.partition("Applied, in this order")[2].partition("A job's pod carries")[0]


def test_a_value_wider_than_the_screen_stays_one_word() -> None:
    assert "x" * 200 in "".join(on_screen(Pairs({"name": f"a {'x' * 200} b"}), 80))


def test_in_a_pipe_no_line_ends_with_blanks(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    for command in (["plan", "-s", "dev"], ["shapes"], ["shapes", "BM.GPU.H100.8"], ["plan", "-s", "dev", "--summary"]):
        lines = CliRunner().invoke(app, command).stdout.splitlines()

        assert len(lines) > 5
        assert [line for line in lines if line != line.rstrip()] == []
