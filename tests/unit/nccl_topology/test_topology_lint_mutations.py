"""The guide shapes' topology files with one thing changed: the rules that it breaks, and whether NCCL takes it."""

import pytest
from each_case import each
from published_topologies import SHAPES
from topology_edits_content import CONTENT
from topology_edits_form import FORM
from topology_texts import Mutation, full, linter_of

MUTATIONS = {mutation.name: mutation for mutation in (*FORM, *CONTENT)}


def changed(shape: str, mutation: Mutation) -> bytes:
    return mutation.edit(full(shape)).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("shape", SHAPES)
@each("name", MUTATIONS)
def test_a_changed_file_breaks_exactly_the_rules_of_the_table(shape: str, name: str) -> None:
    report = linter_of(shape=shape).lint("topo.xml", changed(shape, MUTATIONS[name]))

    assert {found.rule for found in report.problems} == MUTATIONS[name].rules
    assert report.accepted is MUTATIONS[name].accepted
