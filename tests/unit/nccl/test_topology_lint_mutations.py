"""The guide shapes' topology files with one thing changed: the linter's verdict, NCCL's, and an XML parser's."""

from __future__ import annotations

import pytest
from each_case import each
from published_topologies import SHAPES
from topology_edits_content import CONTENT
from topology_edits_form import FORM
from topology_texts import Mutation, full, is_accepted, is_well_formed

from gpu_fabric.catalog import catalog
from gpu_fabric.nccl.lint import Linter

MUTATIONS = {mutation.name: mutation for mutation in (*FORM, *CONTENT)}


def changed(shape: str, mutation: Mutation) -> bytes:
    return mutation.edit(full(shape)).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("shape", SHAPES)
@each("name", MUTATIONS)
def test_a_changed_file_breaks_exactly_the_rules_of_the_table(shape: str, name: str) -> None:
    report = Linter.of(shape=catalog().shapes[shape]).lint("topo.xml", changed(shape, MUTATIONS[name]))

    assert {found.id for found in report.findings} == MUTATIONS[name].rules
    assert report.accepted is MUTATIONS[name].accepted


@pytest.mark.parametrize("shape", SHAPES)
@each("name", MUTATIONS)
def test_nccl_and_an_xml_parser_take_a_changed_file_or_not_each_in_its_way(shape: str, name: str) -> None:
    data = changed(shape, MUTATIONS[name])

    assert is_accepted(data) is MUTATIONS[name].accepted
    assert is_well_formed(data) is MUTATIONS[name].well_formed


def test_the_table_has_files_that_only_one_of_the_two_takes() -> None:
    verdicts = {(mutation.accepted, mutation.well_formed) for mutation in MUTATIONS.values()}

    assert verdicts == {(True, True), (True, False), (False, True), (False, False)}
    assert len(MUTATIONS) == len(FORM) + len(CONTENT) >= 60
