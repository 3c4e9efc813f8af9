"""What `up` is held against: the outputs of the last run say of every change what whole rendered plans say."""

import json
from typing import Any

import pytest
from applied_outputs import on_the_wire, outputs_of
from changes import Changes
from committed_stacks import folder_of, stack_names
from diff_edits import EDITS, Edit, plan_of, prepared
from each_case import each

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.footprint import Footprint, applied_document, footprint, footprint_diff, footprint_of_outputs
from gpu_fabric.changes.model import Danger, PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.plan import Plan
from gpu_fabric.spec.load import read_document

POOL = "cluster.pools[0]"
NAMES = [f"node{number}" for number in range(8)]
NAMED: Changes = {f"{POOL}.nodes": 8, f"{POOL}.nodeNames": NAMES}
NAMED_BACKWARDS: Changes = {f"{POOL}.nodeNames": NAMES[::-1]}
CLUSTER = read_document("doks-split-cluster", folder_of("doks-split-cluster")).sections["cluster"]
# Beside the edits of the table, some whose dangers lie in the addresses of single nodes, and some that go to another
# cluster by another section.
OTHERS = (
    Edit("platform made whole", "doks-split-platform", {"split": None, "cluster": CLUSTER}),
    Edit("existing cluster given up for one of a cloud", "dev", {"cluster": CLUSTER, "fabric": {}}),
    Edit("more pods on a NIC", "roce-macvlan", {"fabric.podsPerNic": 9}),
    Edit("fewer virtual functions", "sriov-operator", {"fabric.vfsPerNic": 4}),
    Edit("nodes in another order", "large-per-node", NAMED_BACKWARDS, NAMED),
)
ALL = (*EDITS, *OTHERS)


def held_against(outputs: dict[str, Any], plan: Plan) -> PlanDiff:
    """What `up` compares."""
    old = footprint_of_outputs(outputs)
    assert old is not None
    return footprint_diff(plan.stack, old, footprint(plan))


def by_outputs(stack: str, before: Changes, after: Changes) -> tuple[Danger, ...]:
    """The dangers of an edit, by the outputs of the `up` before it."""
    return dangers(held_against(outputs_of(prepared(stack, before)), prepared(stack, after)))


def by_plans(stack: str, before: Changes, after: Changes) -> tuple[Danger, ...]:
    """The same dangers, by two whole rendered plans; of what goes along, only what outputs tell of."""
    recorded = {(entry.type, entry.name) for entry in footprint(prepared(stack, before)).applied.resources}
    return tuple(
        danger.model_copy(update={"takes": tuple(key for key in danger.takes if key in recorded)})
        for danger in dangers(plan_diff(plan_of(stack, before), plan_of(stack, after)))
    )


def told(found: tuple[Danger, ...]) -> list[dict[str, Any]]:
    """Dangers without the wording of why something moves: outputs have no more of a pool than its addresses."""
    return [danger.model_dump(exclude={"why"} if danger.effect == "moved" else set()) for danger in found]


def document_of(stack: str, changes: Changes) -> dict[str, Any]:
    return applied_document(footprint(prepared(stack, changes)))


@pytest.mark.parametrize("way", ["there", "back"])
@each("edit", ALL, ids=[edit.name.replace(" ", "-") for edit in ALL])
def test_outputs_of_the_last_run_tell_the_dangers_that_whole_plans_tell(edit: Edit, way: str) -> None:
    there = (edit.before, {**edit.before, **edit.after})
    before, after = there if way == "there" else there[::-1]
    assert told(by_outputs(edit.stack, before, after)) == told(by_plans(edit.stack, before, after))


@pytest.mark.parametrize("stack", stack_names())
def test_a_stack_that_stays_as_it_is_differs_in_nothing(stack: str) -> None:
    found = held_against(outputs_of(prepared(stack, {})), prepared(stack, {}))
    assert (found.resources, found.rails, found.pools, found.place) == ((), (), (), None)


def test_the_output_does_not_grow_with_the_nodes() -> None:
    few, many = (document_of("large-per-node", {f"{POOL}.nodes": nodes}) for nodes in (16, 2_048))
    assert without_numbers(few) == without_numbers(many)


def without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_numbers(entry) for entry in value]
    return None if isinstance(value, int) else value


def test_a_property_that_an_older_version_did_not_record_is_no_danger() -> None:
    plan = prepared("doks-h200", {})
    outputs = outputs_of(plan)
    (group,) = (entry for entry in outputs["applied"]["resources"] if entry["type"].endswith(":Vpc"))
    del group["members"][0]["properties"]["ipRange"]
    outputs["applied"]["fixed"][group["type"]].remove("ipRange")
    assert dangers(held_against(outputs, plan)) == ()
    moved = dangers(held_against(outputs, prepared("doks-h200", {"cluster.region": "atl1"})))
    assert "cluster-vpc" in {danger.resource for danger in moved}


PLATFORM = "doks-split-platform"
ELSEWHERE: Changes = {"split.organization": "cluster-team"}


def on_cluster(changes: Changes, cluster_id: str | None) -> Footprint:
    return footprint(prepared(PLATFORM, changes), cluster_id)


def moved(old: Footprint, new: Footprint) -> list[tuple[str, str]]:
    """What goes because the cluster is another one, and why."""
    last = footprint_of_outputs(on_the_wire({"applied": applied_document(old)}))
    assert last is not None
    return [(danger.resource, danger.why) for danger in dangers(footprint_diff(PLATFORM, last, new))]


@pytest.mark.parametrize(
    ("old", "changes", "new", "why"),
    [
        ("first", {}, "second", "clusterId: first → second: its stack has created another cluster since"),
        # An id that is the same or is not known is no other cluster, whatever leads to it.
        ("first", ELSEWHERE, "first", None),
        ("first", {}, None, None),
        (None, {}, "second", None),
        ("first", ELSEWHERE, "second", "split.organization: not stated → cluster-team"),
    ],
)
def test_another_cluster_takes_the_platform_along(
    old: str | None, changes: Changes, new: str | None, why: str | None
) -> None:
    found = moved(on_cluster({}, old), on_cluster(changes, new))
    assert [resource for resource, _ in found] == ["cluster-kubernetes"] * (why is not None)
    assert why is None or found[0][1].startswith(why)


def test_a_record_from_before_clusters_were_in_it_is_not_held_against_another_cluster() -> None:
    older = on_cluster({}, None)
    older = older._replace(applied=older.applied.model_copy(update={"split": None}))
    assert moved(older, on_cluster(ELSEWHERE, "second")) == []


def test_outputs_without_a_record_or_with_one_of_another_version_hold_no_footprint() -> None:
    outputs = outputs_of(prepared("dev", {}))
    later = {**outputs, "applied": {**outputs["applied"], "schemaVersion": "v2"}}
    without = {key: value for key, value in outputs.items() if key != "applied"}
    assert footprint_of_outputs(later) is None
    assert footprint_of_outputs(without) is None


def test_no_secret_and_no_script_is_in_the_output() -> None:
    text = json.dumps(document_of("oke-h100", {}))
    assert "secret" not in text
    assert "#!/bin" not in text
