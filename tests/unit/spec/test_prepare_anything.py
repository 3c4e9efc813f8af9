"""Whatever stands in a stack file: a plan comes out, or a refusal, and never any other failure."""

from copy import deepcopy
from typing import Any

import pytest
from committed_stacks import folder_of, stack_names
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_values import allowed, keys_at, places, put, schemas_at

from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.places import Location
from gpu_fabric.spec.stack_text import StackDocument
from gpu_fabric.spec.stand_ins import SUPERNET

# Right in some places and wrong in most.
VALUES: list[Any] = [
    *(None, "", "x", [], {}, [None], ["x"], {"x": 1}, [{"x": 1}], True, -1, 0, 1, 3, 64, 128, 10**9, 1.5, "1.30"),
    *("0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/31", "10.0.0.0/32", "192.168.0.1/16", "fd00::/64"),
    *("none", "flat", "per-rail", "per-node", "first", "host", "whereabouts", "spiderpool", "ether", "infiniband"),
    *("sriov", "macvlan", "ipoib", "host-network", "doks", "oke", "existing"),
    *("a\0b", "a\n", ".", "..", "~nobody-is-called-so/config", "x" * 300, "é" * 200, "a/b", "a b", "-", "%s", "\u2028"),
]


@pytest.fixture(scope="session")
def documents() -> list[StackDocument]:
    """The stacks for tests, but for the large one."""
    return [read_document(name, folder_of(name)) for name in stack_names() if not name.startswith("large")]


def refusals(document: StackDocument) -> tuple[Finding, ...]:
    """Why a stack is refused; nothing where it is planned."""
    try:
        prepare(document, for_up=False)
    except ConfigurationError as refused:
        return refused.findings or pytest.fail("a refusal without a reason")
    return ()


def without_installing() -> list[Location]:
    """Every operator that the cluster can have in the stack's place."""
    operators = [("software", key) for key in keys_at(("software",))]
    schedulers = [("software", "schedulers", key) for key in keys_at(("software", "schedulers"))]
    return [(*place, "install") for place in (*operators, *schedulers) if "install" in keys_at(place)]


@pytest.mark.parametrize("operator", without_installing(), ids=".".join)
def test_every_stack_is_planned_or_refused_without_installing_an_operator(
    documents: list[StackDocument], operator: Location
) -> None:
    for document in documents:
        sections = deepcopy(document.sections)
        put(sections, operator, False)
        for entry in refusals(document.model_copy(update={"sections": sections})):
            assert entry.remedy, (document.file, entry)


@pytest.mark.parametrize("beside", [{"prefixLength": 40}, {"nodePrefixLength": 40}, {"addressesPerNode": 4000}, {}])
def test_nothing_is_said_of_the_network_in_the_place_of_a_faulty_supernet(
    documents: list[StackDocument], beside: dict[str, int]
) -> None:
    for document in documents:
        sections = deepcopy(document.sections)
        if "supernet" in sections.get("fabric", {}).get("addressing", {}):
            sections["fabric"]["addressing"] |= {"supernet": "10.0.0.0/33", **beside}
            found = refusals(document.model_copy(update={"sections": sections}))
            assert "gpu-fabric:fabric.addressing.supernet" in [entry.path for entry in found]
            assert [entry for entry in found if SUPERNET in entry.message] == []


@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_a_stack_file_with_other_values_is_planned_or_refused_at_places_of_the_file(
    documents: list[StackDocument], data: st.DataObject
) -> None:
    document = data.draw(st.sampled_from(documents))
    sections = deepcopy(document.sections)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([(), *places(sections)]))
        if keys := keys_at(place):
            place = (*place, data.draw(st.sampled_from(keys)))
        if place:
            fitting = [allowed(form) for form in schemas_at(place)]
            put(sections, place, deepcopy(data.draw(st.one_of(*fitting, st.sampled_from(VALUES)))))
    for entry in refusals(document.model_copy(update={"sections": sections})):
        assert entry.path.startswith("gpu-fabric:")
        assert not entry.path.startswith(("gpu-fabric:cluster.doks", "gpu-fabric:cluster.oke"))
        assert "[key]" not in entry.path
        assert entry.remedy
