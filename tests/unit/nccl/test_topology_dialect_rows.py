"""NCCL's dialect row by row: each has a changed file of every published tree, with the verdict of the table."""

from __future__ import annotations

from typing import NamedTuple

from each_case import each
from published_topologies import SHAPES
from topology_edits_content import CONTENT
from topology_edits_form import FORM
from topology_texts import full, is_accepted

from gpu_fabric.nccl.lint import Linter

MUTATIONS = {mutation.name: mutation for mutation in (*FORM, *CONTENT)}


class Row(NamedTuple):
    """What a file has, whether NCCL takes it, and the changed files that have it; `before` is another's verdict."""

    text: str
    taken: bool
    names: tuple[str, ...]
    before: tuple[str, bool] | None = None


ROWS = (
    Row("declaration, DOCTYPE or byte-order mark", False, ("xml declaration", "doctype", "byte-order mark")),
    Row("tab or text between elements", False, ("tab as indentation", "text between tags")),
    Row(
        "line end, carriage return or tab in a tag",
        False,
        ("line end after the name", "carriage return in a tag", "tab after the name", "attribute on the next line"),
    ),
    Row("space in a closing tag", False, ("space in a closing tag",)),
    Row("spaces around the equals sign, or no quotes", False, ("space around the equals sign", "no quotes")),
    Row("single quotes", True, ("single quotes",), before=("2.26.5", False)),
    Row("comment whose first word has an equals sign", False, ("equals sign in a comment's first word",)),
    Row("comment with a space", True, ("a comment with a space",)),
    Row(
        "wrong, missing or cut-off end",
        False,
        ("another name in a closing tag", "closing tag left out", "file cut in half"),
    ),
    Row("long name or value", False, ("value of 254 characters", "element's name of 254 characters")),
    Row("name or value of just the length", True, ("value of 253 characters",)),
    Row("CRLF", True, ("CRLF",)),
    Row("two spaces, or one before the slash", True, ("two spaces", "space before the slash")),
    Row("more than 16 attributes", True, ("17 attributes",)),
    Row("an attribute twice", True, ("an attribute twice",)),
    Row("an entity in a value", True, ("an entity",)),
    Row("CDATA", False, ("cdata",)),
    Row("more than 255 elements", False, ("256 elements",), before=("2.20.5", True)),
    Row("more than 200 elements", True, ("more than 200 elements",)),
    Row("wrong closing tags below an unknown element", True, ("an unknown element, wrongly nested",)),
)
CASES = [(row, name) for row in ROWS for name in row.names]


@each("shape", SHAPES)
@each(("row", "name"), CASES, ids=[f"{row.text}: {name}" for row, name in CASES])
def test_a_row_of_the_dialect_has_its_verdict(shape: str, row: Row, name: str) -> None:
    data = MUTATIONS[name].edit(full(shape)).encode("utf-8", "surrogateescape")

    assert is_accepted(data) is row.taken
    if row.before is not None:
        version, taken = row.before
        assert is_accepted(data, version) is taken


@each("shape", SHAPES)
@each(("row", "name"), CASES, ids=[f"{row.text}: {name}" for row, name in CASES])
def test_the_linter_says_what_people_should_write_instead(shape: str, row: Row, name: str) -> None:
    data = MUTATIONS[name].edit(full(shape)).encode("utf-8", "surrogateescape")
    found = Linter.of().lint("topo.xml", data).findings

    harmless = {"CRLF", "a comment with a space", "value of 253 characters"}
    assert bool(found) is (name not in harmless)
    assert all(finding.remedy for finding in found)
    assert row.taken or len(found) == 1
