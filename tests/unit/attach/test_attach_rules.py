"""Every rule about manifests: it finds what is wrong at its place, accepts the rest, and is silent about others."""

from __future__ import annotations

import pytest
from attach_cases import CASES, AttachCase
from attached_pods import contract_of
from each_case import each

from gpu_fabric.attach.attachment import attach_text
from gpu_fabric.attach.place import AttachError, describe_place
from gpu_fabric.contract import read_contract
from gpu_fabric.findings import InputError, rules

BOOK = {name for name, rule in rules().items() if rule.group == "attach"}
CONTRACT = "ATT004"
# Of tests/unit/attach/test_attach_krm.py.
KRM = "ATT030"
# Of tests/unit/attach/test_attach_groups.py.
GROUPS = "ATT031"


def found_in(case: AttachCase) -> list[tuple[str, str]]:
    """Rules and places of what is said about a case's text."""
    try:
        said = attach_text(case.text, contract_of(case.stack), case.wishes).notes
    except AttachError as error:
        return [(entry.rule, describe_place(entry.document, entry.path)) for entry in error.problems]
    except InputError as error:
        return [(error.rule, "")]
    return [(entry.rule, describe_place(entry.document, entry.path)) for entry in said]


@each("case", CASES, ids=[f"{case.rule}-{case.sort}" for case in CASES])
def test_a_rule_finds_what_is_wrong_and_nothing_else(case: AttachCase) -> None:
    assert [place for rule, place in found_in(case) if rule == case.rule] == list(case.places)


@each("rule", sorted(BOOK - {CONTRACT, KRM, GROUPS}))
def test_every_rule_has_a_good_a_bad_and_an_irrelevant_case(rule: str) -> None:
    assert {case.sort for case in CASES if case.rule == rule} == {"good", "bad", "irrelevant"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"fabric": {}}', '{"schemaVersion": "v9"}', '{"schemaVersion": "v1"}']
)
def test_what_is_no_contract_is_said_with_its_rule(text: str) -> None:
    with pytest.raises(InputError, match=rf"\[{CONTRACT}\]$") as raised:
        read_contract(text)

    assert raised.value.rule == CONTRACT


def test_every_problem_is_printed_with_its_rule() -> None:
    for case in CASES:
        if case.sort == "bad" and rules()[case.rule].severity == "error":
            with pytest.raises((AttachError, InputError)) as raised:
                attach_text(case.text, contract_of(case.stack), case.wishes)
            assert f"[{case.rule}]" in str(raised.value)


def test_every_note_is_printed_with_its_rule() -> None:
    (case, *_) = (case for case in CASES if case.rule == "ATT051")
    notes = attach_text(case.text, contract_of(case.stack)).notes

    assert str(notes[0]) == f"{case.places[0]}: NCCL_IB_TC keeps '106'; the fabric's value is '41' [ATT051]"
    assert all(str(note).endswith(f" [{note.rule}]") for note in notes)


def test_problems_are_no_notes_and_notes_no_problems() -> None:
    for case in CASES:
        try:
            said = attach_text(case.text, contract_of(case.stack), case.wishes).notes
        except (AttachError, InputError):
            continue
        assert {rules()[note.rule].severity for note in said} <= {"note"}
