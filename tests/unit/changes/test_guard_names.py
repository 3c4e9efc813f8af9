"""Names in acknowledgements: what they may name together, what is told of one that names nothing that goes."""

import re

import pytest
from diff_edits import acknowledged, judgement_of, named

from gpu_fabric.changes.guard import explanation
from gpu_fabric.changes.model import ONE_BY_ONE
from gpu_fabric.render.model import RenderedPlan


@pytest.mark.parametrize(
    ("written", "meant"),
    [("cluster-pool-gp", "did you mean 'cluster-pool-gpu'?"), ("cluster-vpc", "loses nothing: remove the entry")],
)
def test_a_refusal_tells_of_an_entry_that_names_something_else(written: str, meant: str) -> None:
    text = explanation(judgement_of(named("DOKS nodes fewer"), acknowledged(written)), "Pulumi.doks-h200.yaml")
    assert f"  not needed: {written} is acknowledged until 2026-11-29" in text
    assert meant in text
    assert "refused: it is not acknowledged" in text


def test_namespaces_are_told_and_acknowledged_one_by_one() -> None:
    edit = named("two namespaces with jobs removed")
    text = explanation(judgement_of(edit), "Pulumi.dev.yaml")
    assert "2 changes need" in text
    assert re.findall(r"- resource: (\S+)", text) == ["namespaces-training", "namespaces-tuning"]
    (refused,) = judgement_of(edit, acknowledged("namespaces-training")).refused
    assert refused.danger.resource == "namespaces-tuning"


def test_all_namespaces_together_have_no_name_that_could_be_acknowledged() -> None:
    judgement = judgement_of(named("two namespaces with jobs removed"), acknowledged("namespaces"))
    assert len(judgement.refused) == 2
    assert "no resource has this name: did you mean 'namespaces-t" in judgement.leftovers[0].remark


def test_an_acknowledgement_of_another_cluster_is_known_by_its_name_after_the_change() -> None:
    judgement = judgement_of(named("a node more"), acknowledged("cluster-kubernetes"))
    assert judgement.leftovers[0].remark.endswith("loses nothing: remove the entry")


def test_one_name_is_that_of_resources_of_one_component_alone(rendered_plans: tuple[RenderedPlan, ...]) -> None:
    for plan in rendered_plans:
        named = {(entry.name, entry.component) for entry in plan.resources}
        assert len({name for name, _ in named}) == len(named)
        # Each of these is acknowledged by a name of its own.
        own = [entry.name for entry in plan.resources if entry.component in ONE_BY_ONE]
        assert len(set(own)) == len(own)
