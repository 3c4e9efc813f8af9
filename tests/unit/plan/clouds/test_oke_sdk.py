"""What Oracle is asked for, held against the arguments that pulumi-oci has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from planned_fabrics import plan_of
from planned_oke import EVERYTHING, PLACEMENTS, resources_of
from sdk_arguments import arguments_of, wrong_arguments

from gpu_fabric.plan.clouds.record import Record, Ref, Text, Value

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


@pytest.mark.parametrize("name", STACKS)
def test_logical_names_are_those_of_one_resource_each(name: str) -> None:
    names = [record.logical_name for record in resources_of(*STACKS[name]).records]

    assert len(set(names)) == len(names)


def test_the_text_of_every_reference_has_its_place() -> None:
    def texts(value: Value) -> Iterator[Text]:
        if isinstance(value, Text):
            yield value
        elif isinstance(value, dict):
            for entry in value.values():
                yield from texts(entry)
        elif isinstance(value, list):
            for entry in value:
                yield from texts(entry)

    found = [text for stack in STACKS.values() for r in resources_of(*stack).records for text in texts(r.arguments)]

    assert found
    for text in found:
        assert "{" not in text.text.format(**dict.fromkeys(text.refs, "x")).replace("{CLUSTER_JOIN}", "").replace(
            "{instance", ""
        )


def test_the_plan_shows_the_class_of_every_record() -> None:
    document = plan_of("oke-h100-26-4").model_dump(mode="json", by_alias=True)["cluster"]["oke"]

    assert document["cluster"]["kind"] == "containerengine.Cluster"
    assert [entry["kind"] for entry in document["pools"][0]["records"]] == [
        "core.InstanceConfiguration",
        "core.ClusterNetwork",
    ]


def test_a_record_says_only_what_it_was_given() -> None:
    class Example(Record):
        sdk = "core.Vcn"
        cidr_blocks: list[str]
        display_name: str | None = None

    record = Example(logical_name="vcn", after=("x",), cidr_blocks=["10.0.0.0/16"])

    assert record.arguments == {"cidr_blocks": ["10.0.0.0/16"]}
    assert record.references == ()
    assert Example(logical_name="v", cidr_blocks=[], display_name=None).kind == "core.Vcn"
    assert Ref(ref="vcn").output == "id"
