"""The difference between two rendered plans: each edit's, as a reviewer reads it; and what no edit may do to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from diff_edits import EDITS, H200, Edit, diff_of, judgement_of, named, plan_of
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from fabric.diff import LIMIT, DifferentStacks, markdown, plan_diff
from fabric.diff.changes import Found
from fabric.diff.replacements import rules_of
from fabric.guard.markdown import section
from fabric.plan import Plan
from fabric.render import rendered
from sandbox.cloud.digitalocean.kubernetes_clusters import KubernetesCluster
from sandbox.cloud.digitalocean.node_pools import NodePool
from sandbox.cloud.digitalocean.vpcs import Vpc
from sandbox.cloud.oci.fields import fields_of
from sandbox.cloud.schema import Fields

DIGITALOCEAN = {
    "KubernetesCluster": KubernetesCluster.fields,
    "KubernetesNodePool": NodePool.fields,
    "Vpc": Vpc.fields,
}


class Markdown(SingleFileSnapshotExtension):
    """A golden file that is Markdown, and shows as a comment does."""

    file_extension = "md"
    _write_mode = WriteMode.TEXT


@pytest.mark.parametrize("edit", EDITS, ids=[edit.name.replace(" ", "-") for edit in EDITS])
def test_an_edit_has_the_reviewed_difference(edit: Edit, snapshot: SnapshotAssertion) -> None:
    text = markdown(diff_of(edit), guard=section(judgement_of(edit), f"Pulumi.{edit.stack}.yaml"))
    assert len(text) <= LIMIT
    assert text == snapshot(extension_class=Markdown)


@pytest.mark.parametrize("stack", ["dev", "doks-h200", "oke-h100", "spiderpool-sriov-per-node"])
def test_a_plan_does_not_differ_from_itself(stack: str) -> None:
    found = plan_diff(plan_of(stack, {}), plan_of(stack, {}))
    assert (found.resources, found.rails, found.versions, found.elsewhere, found.loses) == ((), (), (), (), False)
    assert "no resource differs" in markdown(found)


@pytest.mark.parametrize("edit", EDITS, ids=[edit.name.replace(" ", "-") for edit in EDITS])
def test_an_edit_and_its_way_back_have_created_and_deleted_in_turn(edit: Edit) -> None:
    before, after = plan_of(edit.stack, edit.before), plan_of(edit.stack, {**edit.before, **edit.after})
    there, back = plan_diff(before, after), plan_diff(after, before)
    assert {entry.name for entry in there.of("created")} == {entry.name for entry in back.of("deleted")}
    assert {entry.name for entry in there.of("deleted")} == {entry.name for entry in back.of("created")}


def test_plans_of_two_stacks_are_refused_with_both_names() -> None:
    with pytest.raises(DifferentStacks, match="'dev' and 'doks-h200'"):
        plan_diff(plan_of("dev", {}), plan_of("doks-h200", {}))


def test_what_a_replaced_cluster_takes_along_is_counted_once() -> None:
    found = named("DOKS region")
    assert {entry.name for entry in found.of("replaced")} >= {"cluster-vpc", "cluster-doks", "cluster-pool-gpu"}
    assert (found.lost.nodes, found.lost.gpus) == (2, 16)


def test_fewer_nodes_in_place_are_a_loss() -> None:
    found = named("DOKS nodes fewer")
    assert found.of("replaced") == ()
    assert (found.lost.nodes, found.lost.gpus, found.loses) == (2, 16, True)


def test_a_replacement_that_protection_ends_is_said_to_be_refused() -> None:
    found = named("DOKS system pool resized while protected")
    assert [entry.name for entry in found.resources if entry.protected] == ["cluster-doks", "cluster-pool-gpu"]
    assert "**`up` refuses this**" in markdown(found)


def test_a_version_that_is_raised_changes_in_place_and_a_lowered_one_replaces() -> None:
    always = {"cluster.versionApplies": "always"}
    low, high = (
        plan_of("doks-h200", {**always, "cluster.version": version}) for version in ("1.35.1-do.0", "1.36.1-do.0")
    )
    assert [entry.name for entry in plan_diff(low, high).of("replaced")] == []
    assert "cluster-doks" in [entry.name for entry in plan_diff(high, low).of("replaced")]


def test_what_the_engine_ignores_is_no_difference() -> None:
    raised = plan_of("doks-h200", {"cluster.version": "1.36.2-do.0"})
    assert plan_diff(plan_of("doks-h200", {}), raised).resources == ()


def test_the_difference_in_cost_is_a_range_where_prices_are() -> None:
    cost = named("DOKS pool added at known prices").cost
    assert cost is not None
    assert cost.difference is not None
    assert (str(cost.difference.least), str(cost.difference.most)) == ("80.00", "100.00")


def test_cost_in_two_currencies_has_no_difference() -> None:
    prices = {H200: {"hourly": 20, "currency": "USD"}, "s-4vcpu-8gb": {"hourly": 1, "currency": "USD"}}
    euros = {name: {**price, "currency": "EUR"} for name, price in prices.items()}
    plans = [plan_of("doks-h200", {"cluster.prices": known}) for known in (prices, euros)]
    cost = plan_diff(*plans).cost
    assert cost is not None
    assert cost.difference is None


def test_a_plan_that_says_no_cost_has_an_unknown_one() -> None:
    plan = plan_of("doks-h200", {"cluster.prices": {H200: {"hourly": 20, "currency": "USD"}}})
    older = plan.model_copy(update={"decisions": {k: v for k, v in plan.decisions.items() if k != "cost"}})
    cost = plan_diff(older, plan).cost
    assert cost is not None
    assert (cost.old, cost.difference) == ("unknown", None)


def _leaves(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, entry in value.items():
            yield from _leaves(entry, (*keys, key))
    elif isinstance(value, list) and value:
        for entry in value:
            yield from _leaves(entry, keys)
    else:
        yield keys, value


def _replaces(fields: Fields, keys: tuple[str, ...]) -> bool:
    """Whether the simulated cloud makes a resource anew for a property; what is free within one follows it."""
    field = fields[keys[0]]
    return field.replaces or (bool(field.fields) and len(keys) > 1 and _replaces(field.fields, keys[1:]))


def test_every_property_of_every_cloud_resource_is_judged_as_the_simulated_clouds_judge_it(
    stack_plans: tuple[Plan, ...],
) -> None:
    judged = 0
    for plan in stack_plans:
        for resource in rendered(plan).resources:
            kind = resource.type.rpartition(":")[2]
            if resource.type.startswith("oci:"):
                fields = fields_of(kind)
            elif resource.type.startswith("digitalocean:") and kind in DIGITALOCEAN:
                fields = DIGITALOCEAN[kind]
            else:
                continue
            for keys, value in _leaves(resource.properties):
                found = Found(keys, ".".join(keys), "changed", value, "another")
                assert rules_of(resource.type).forces(found) == _replaces(fields, keys), (resource.type, keys)
                judged += 1
    assert judged > 500


def test_a_computed_property_that_is_dropped_keeps_its_value_and_replaces_nothing() -> None:
    rules = rules_of("digitalocean:index/kubernetesCluster:KubernetesCluster")
    assert rules.forces(Found(("clusterSubnet",), "clusterSubnet", "changed", "10.1.0.0/16", "10.2.0.0/16"))
    assert not rules.forces(Found(("clusterSubnet",), "clusterSubnet", "removed", "10.1.0.0/16", None))


def test_any_two_plans_can_be_compared(stack_plans: tuple[Plan, ...]) -> None:
    plans = [rendered(plan).model_copy(update={"stack": "one"}) for plan in stack_plans]
    for before, after in zip(plans, [*plans[1:], plans[0]], strict=True):
        found = plan_diff(before, after)
        assert len(markdown(found).encode()) <= LIMIT
        assert len(after.resources) == found.unchanged + len(found.resources) - len(found.of("deleted"))
        assert found.lost.nodes <= sum(pool["nodes"] for pool in before.decisions["cluster"]["pools"])
