"""What Oracle is asked for, held against the arguments that pulumi-oci has."""

from __future__ import annotations

import pytest
from planned_oke import EVERYTHING, PLACEMENTS, resources_of
from sdk_arguments import arguments_of, wrong_arguments

STACKS = {**PLACEMENTS, **EVERYTHING}


@pytest.mark.parametrize("name", STACKS)
def test_every_argument_is_one_that_the_sdk_has_and_none_lacks(name: str) -> None:
    for record in resources_of(*STACKS[name]).records:
        assert not list(wrong_arguments(record.kind, record.logical_name, record.arguments, arguments_of(record.kind)))


@pytest.mark.parametrize("name", STACKS)
def test_what_is_ignored_is_an_argument(name: str) -> None:
    ignorable = {"defined_tags", "freeform_tags"}
    for record in resources_of(*STACKS[name]).records:
        for path in record.ignore_changes:
            assert path.partition(".")[0] in {*arguments_of(record.kind), *ignorable}


@pytest.mark.parametrize("name", STACKS)
def test_every_reference_leads_to_a_record_or_a_question_of_the_plan(name: str) -> None:
    resources = resources_of(*STACKS[name])
    known = {record.logical_name for record in resources.records}
    asked = {lookup.logical_name for lookup in resources.lookups}
    access = resources.access.command.refs.values() if resources.access.command else ()

    referred = {reference.ref for record in resources.records for reference in record.references}
    referred |= {reference.ref for lookup in resources.lookups for reference in lookup.references}
    referred |= {reference.ref for reference in access}
    assert referred <= known | asked
    assert {entry for record in resources.records for entry in record.after} <= known | {"network"}


@pytest.mark.parametrize("name", STACKS)
def test_records_come_after_all_that_they_refer_to(name: str) -> None:
    resources = resources_of(*STACKS[name])
    lookups = {lookup.logical_name: lookup for lookup in resources.lookups}
    made: set[str] = set()
    for record in resources.records:
        needed = {reference.ref for reference in record.references} | (set(record.after) - {"network"})
        for lookup in needed & lookups.keys():
            needed |= {reference.ref for reference in lookups[lookup].references}
        assert needed - lookups.keys() <= made, record.logical_name
        made.add(record.logical_name)
