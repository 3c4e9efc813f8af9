"""The support matrix: every row can be planned, and only what it says can come up is let up."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of, stack_names

from gpu_fabric.catalog import Support, catalog
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.stack_text import StackDocument

STACKS = stack_names()
ROWS = [pytest.param(row, id=f"{row.manager}-{row.model}") for row in catalog().support]
KUBECONFIG = {
    "current-context": "here",
    "contexts": [{"name": "here", "context": {"cluster": "one"}}],
    "clusters": [{"name": "one", "cluster": {"server": "https://one"}}],
}


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    """The plan of every stack for tests, by name; a stack that cannot be planned fails here with its reasons."""
    return {name: prepare(read_document(name, folder_of(name)), for_up=False).plan for name in STACKS}


@pytest.fixture
def at_hand(tmp_path: Path) -> Callable[[StackDocument], StackDocument]:
    """A stack as it is with a good kubeconfig at hand."""
    for place in (".sandbox/kubeconfig", "kubeconfig"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(json.dumps(KUBECONFIG), encoding="utf-8")

    def moved(document: StackDocument) -> StackDocument:
        cluster: dict[str, Any] = dict(document.sections["cluster"])
        if "kubeconfig" in cluster and cluster["provider"] == "existing":
            cluster["kubeconfig"] = "kubeconfig"
        return document.model_copy(update={"root": tmp_path, "sections": {**document.sections, "cluster": cluster}})

    return moved


@pytest.mark.parametrize("row", ROWS)
def test_there_is_a_stack_for_every_row_and_it_can_be_planned(plans: dict[str, Plan], row: Support) -> None:
    assert [name for name, plan in plans.items() if plan.choices.row == row]


def test_there_is_a_stack_for_every_provider_layout_and_source_of_addresses(plans: dict[str, Plan]) -> None:
    made = {(plan.choices.provider, plan.choices.layout, plan.choices.ipam) for plan in plans.values()}

    assert {provider for provider, _, _ in made} == {p for row in catalog().support for p in row.providers}
    assert {layout for _, layout, _ in made} >= {layout for row in catalog().support for layout in row.layouts}
    assert {ipam for _, _, ipam in made} >= {ipam for row in catalog().support for ipam in row.ipams}


@pytest.mark.parametrize("name", STACKS)
def test_no_object_is_planned_twice(plans: dict[str, Plan], name: str) -> None:
    places = [(entry.object.kind, entry.object.metadata.namespace, entry.name) for entry in plans[name].objects]

    assert len(places) == len(set(places))


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_comes_up_only_where_the_matrix_says_so(
    plans: dict[str, Plan], at_hand: Callable[[StackDocument], StackDocument], name: str
) -> None:
    document = at_hand(read_document(name, folder_of(name)))
    choices = plans[name].choices
    assert choices.row is not None
    warned = [entry.id for entry in prepare(document, for_up=False).plan.findings if entry.id == "SUP010"]
    if choices.provider in choices.row.up_providers:
        assert prepare(document, for_up=True).plan.stack == name
        assert not warned
        return
    assert warned == ["SUP010"]
    with pytest.raises(ConfigurationError) as refused:
        prepare(document, for_up=True)
    (only,) = refused.value.findings

    assert (only.id, only.path) == ("SUP007", "gpu-fabric:fabric.model")
    assert f"{choices.model} by {choices.manager} on a cluster of provider {choices.provider}" in only.message


def test_what_cannot_come_up_is_told_together_with_every_other_problem() -> None:
    document = changed(
        read_document("oke-h100-26-4", folder_of("oke-h100-26-4")),
        {"cluster.tags": "gpu", "fabric.mtu": "large", "fabric.model": "macvlan"},
    )
    with pytest.raises(ConfigurationError) as refused:
        prepare(document, for_up=True)

    assert [entry.id for entry in refused.value.findings] == ["SPC001", "SPC002", "SUP007"]
    ways = refused.value.findings[-1].remedy.partition("brought up can be: ")[2].split("; ")
    assert len(ways) == sum(bool(row.up_providers) for row in catalog().support)
