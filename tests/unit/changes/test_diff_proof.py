"""What differs although no resource does: protection, what the proof counts with, and edits without effect."""

import pytest
from changes import Changes
from diff_edits import plan_of

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.diff_markdown import markdown
from gpu_fabric.changes.model import PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff


def between(stack: str, before: Changes, after: Changes) -> PlanDiff:
    return plan_diff(plan_of(stack, before), plan_of(stack, {**before, **after}))


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"fabric.addressing.spareNodes": 2}, "`spareNodes`: `0` → `2`"),
        ({"fabric.addressing.surgeNodes": 3}, "`surgeNodes`: `0` → `3`"),
        ({"fabric.addressing.growthStep": 4}, "`growthStep`: `1` → `4`"),
        ({"cluster.ranges.pods": "10.245.0.0/16"}, "`10.245.0.0/16`"),
        ({"cluster.ranges.pods": None}, '`disjointFrom[pods]`: `{"name": "pods", "range": "10.244.0.0/16"}` removed'),
        ({"cluster.ranges.reserved": ["10.250.0.0/16"]}, "10.250.0.0/16"),
    ],
)
def test_what_the_proof_is_held_against_is_told_although_no_resource_differs(after: Changes, told: str) -> None:
    found = between("roce-macvlan", {"cluster.ranges.pods": "10.244.0.0/16"}, after)
    text = markdown(found)
    assert found.resources == ()
    assert "no resource differs" in text
    (line,) = [line for line in text.splitlines() if "The proof of the addresses counts with other values" in line]
    assert told in line


@pytest.mark.parametrize(("before", "word"), [(True, "off"), (False, "on")])
def test_protection_that_is_switched_is_told_with_what_goes_with_the_cluster_then(before: bool, word: str) -> None:
    found = between("doks-h200", {"cluster.protect": before}, {"cluster.protect": not before})
    assert found.protection is not None
    alone, along = found.protection.alone, found.protection.with_cluster
    assert (alone == 0, along > 10) == (before, before)
    text = markdown(found)
    assert f"**`cluster.protect` is switched {word}** for `Vpc doks-h200`" in text
    assert f"{along or alone} objects {'with it' if before else 'one by one, before it'}" in text


def test_a_range_that_oracles_cluster_does_not_take_over_is_told_as_without_effect() -> None:
    found = between(
        "oke-h100", {"cluster.ranges.services": "10.96.0.0/16"}, {"cluster.ranges.services": "10.97.0.0/16"}
    )
    (entry,) = found.kept
    assert (entry.name, found.resources) == ("cluster-cluster", ())
    told = "which stays as it is: `options.kubernetesNetworkConfig.servicesCidr`: `10.96.0.0/16` → `10.97.0.0/16`"
    assert told in markdown(found)
    assert [danger.finding.id for danger in dangers(found)] == ["GRD006"]


@pytest.mark.parametrize(("before", "after", "told"), [("1.34.2", "1.34.1", True), ("1.34.1", "1.34.2", False)])
def test_a_lower_version_is_told_as_refused_by_oracle_and_loses_nothing(before: str, after: str, told: bool) -> None:
    found = between("oke-h100", {"cluster.version": before}, {"cluster.version": after})
    assert bool(found.lowered) is told
    assert ("Oracle refuses a lower version of Kubernetes" in markdown(found)) is told
    assert dangers(found) == ()
