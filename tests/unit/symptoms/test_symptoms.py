"""Error texts: each text that people have posted leads to its row, with other names; others lead to none."""

import re
from pathlib import Path

import pytest
import yaml
from each_case import each
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.findings import rules
from gpu_fabric.report.pages.references import symptoms_reference
from gpu_fabric.symptoms import Subject, Symptom, recognised, subjects, symptoms

FOLDER = Path(__file__).parent
TEXTS = [entry for path in sorted(FOLDER.glob("*.yaml")) for entry in yaml.load(path.read_bytes(), yaml.CSafeLoader)]
KNOWN = [entry for entry in TEXTS if entry["row"]]
UNKNOWN = [entry for entry in TEXTS if not entry["row"]]
ROWS = each("row", symptoms().values(), ids=lambda row: row.name)
A_PART = re.compile(r"<(?:[a-z][a-z_]*|\.\.\.)>")


def names(text: str) -> list[str]:
    return [entry.symptom.name for entry in recognised(text)]


@each("entry", KNOWN, ids=lambda entry: entry["text"])
def test_a_posted_text_leads_to_its_row_and_to_no_other(entry: dict[str, str]) -> None:
    assert names(entry["text"]) == [entry["row"]]


@each("entry", UNKNOWN, ids=lambda entry: entry["why"])
def test_a_near_neighbour_and_other_software_lead_to_no_row(entry: dict[str, str]) -> None:
    assert names(entry["text"]) == []


def test_there_are_as_many_texts_as_rows_and_most_were_posted() -> None:
    assert {entry["row"] for entry in KNOWN} == set(symptoms())
    assert len([entry for entry in KNOWN if entry["posted"] != "not posted"]) >= 130


@ROWS
def test_a_row_stands_on_a_source_and_leads_somewhere(root: Path, row: Symptom) -> None:
    page, _, anchor = row.page.partition("#")
    headings = (root / "docs" / page).read_text(encoding="utf-8") if page else ""

    assert set(row.rules) <= set(rules())
    assert set(row.follows) <= set(symptoms()) - {row.name}
    assert row.posted or "thread" not in row.source
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#[0-9]+|https://\S+", thread) for thread in row.posted)
    assert not anchor or anchor in {anchor_of(line) for line in headings.splitlines() if line.startswith("#")}


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lstrip("# ").lower()).replace(" ", "-")


@ROWS
def test_a_form_has_enough_words_of_its_own_to_be_unmistakable(row: Symptom) -> None:
    for says in row.says:
        assert len(re.sub(r"\W", "", A_PART.sub("", says))) >= 12


@given(row=st.sampled_from(list(symptoms().values())), data=st.data())
def test_a_form_is_found_whatever_names_blanks_quotes_and_lines_are_about_it(row: Symptom, data: st.DataObject) -> None:
    part = st.from_regex(r"[A-Za-z0-9:./_-]{0,30}", fullmatch=True)
    line = st.from_regex(r"[A-Za-z0-9:./_ -]{0,60}", fullmatch=True)
    says = data.draw(st.sampled_from(row.says))
    text = A_PART.sub(lambda found: data.draw(line if found[0] == "<...>" else part), says)
    if "<...>" not in says:
        # A blank beside a part may be the part's own.
        text = re.sub(r"(?<=\S) (?=\S)", data.draw(st.sampled_from([" ", "  ", "\n    "])), text)
    quoted = text.replace('"', '\\"') if data.draw(st.booleans()) else text

    assert row.name in names(f"2026-01-02 {quoted}\nanother line") or row.general


def test_several_texts_are_told_causes_first() -> None:
    order = [row.name for subject in subjects() for row in subject.rows]
    following = [(row, before) for row in symptoms().values() for before in row.follows]
    text_of = {entry["row"]: entry["text"] for entry in KNOWN}

    assert following
    for row, before in following:
        found = names(f"{text_of[row.name]}\n{text_of[before]}")
        # A row that only wraps others is silent beside its cause.
        assert found in ([before, row.name], [before])
    two = [row for row in order if not symptoms()[row].general and not symptoms()[row].follows]
    text = "\n".join(text_of[name] for name in reversed((two[0], two[-1])))
    assert names(text) == [two[0], two[-1]]


def explain(*arguments: str, given: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["explain", *arguments], input=given)
    return result.exit_code, result.output


def test_a_text_is_read_from_standard_input_and_the_line_is_named() -> None:
    entry = KNOWN[0]
    status, output = explain("-", given=f"first\nsecond\n{entry['text']}\n")

    assert status == 0
    assert output.startswith(f"{entry['row']} (")
    assert re.search(r"^  line [3-9]: ", output, re.MULTILINE)


def test_a_row_is_printed_by_its_name_and_a_word_that_is_a_known_text_by_itself() -> None:
    row = next(iter(symptoms().values()))

    assert explain(row.name)[1].startswith(f"{row.name} ({row.printed_by})\n  seen as: ")


def test_the_ids_of_rules_in_a_text_are_explained_and_a_former_id_is_the_new_one() -> None:
    status, output = explain("error DOC050 of a pasted log; ABC123 is none")

    assert status == 0
    assert output.startswith("PRE020 (")
    assert "ABC123" not in output


def test_what_is_not_known_is_said_with_the_place_to_look_next() -> None:
    status, output = explain("multus has another trouble of its own")

    assert status == 1
    assert "no known error text is in it" in output
    assert "docs/networks.md" in output
    assert explain("a text of other software")[0] == 1


@pytest.mark.parametrize("subject", subjects(), ids=lambda subject: subject.name)
def test_a_subject_has_rows_and_a_page_to_look_at(root: Path, subject: Subject) -> None:
    page, _, _ = subject.page.partition("#")

    assert subject.rows
    assert (root / "docs" / page).exists()


def test_the_page_is_fresh(root: Path) -> None:
    assert (root / "docs/symptoms.md").read_text(encoding="utf-8") == symptoms_reference(), "run `make docs`"
