"""What a plan decides beside its resources is never passed over: the difference says it, or the guard asks."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import Changes
from committed_stacks import folder_of, stack_names
from diff_edits import TODAY, acknowledged, plan_of, prepared
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_values import allowed, keys_at, places, put, schemas_at
from test_guard_footprint import by_outputs

from gpu_fabric.catalog import catalog
from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.diff_markdown import markdown
from gpu_fabric.changes.guard import acknowledgeable_names, judge
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.changes.review import comment, review
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.prepare import prepare
from gpu_fabric.render.layout import files
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.stack_text import StackDocument

STACKS = [name for name in stack_names() if not name.startswith("large")]


def said(base: RenderedPlan, head: RenderedPlan) -> list[str]:
    """The lines of the difference that do not say that all is as before."""
    lines = markdown(plan_diff(base, head)).splitlines()
    quiet = ("- Nothing is taken away.", "- Cost an hour:")
    return [
        line
        for line in lines
        if line.strip() and not line.startswith(quiet) and not line.endswith((" as before", ": no resource differs"))
    ]


@pytest.fixture(scope="session")
def documents() -> list[StackDocument]:
    return [read_document(name, folder_of(name)) for name in STACKS]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_an_edit_of_one_key_after_which_a_file_differs_is_spoken_of(
    documents: list[StackDocument], data: st.DataObject
) -> None:
    document = data.draw(st.sampled_from(documents))
    sections = deepcopy(document.sections)
    place = data.draw(st.sampled_from([(), *places(sections)]))
    if keys := keys_at(place):
        place = (*place, data.draw(st.sampled_from(keys)))
    if fitting := [allowed(form) for form in schemas_at(place)]:
        put(sections, place, data.draw(st.one_of(*fitting)))
    try:
        head = rendered(prepare(document.model_copy(update={"sections": sections}), for_up=False).plan)
    except ConfigurationError:
        return
    base = plan_of(document.name, {})
    if files(base) != files(head):
        assert said(base, head), f"{document.name} {place}"


# Parts of a rendered plan that are no resource.
_PARTS = (
    "contract",
    "decisions",
    "waits",
    "steps",
    "findings",
    "figures",
    "ncclFiles",
    "report",
    "releaseLine",
    "fabrics",
)


def _leaves(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, below in inner for place in _leaves(below, (*here, key))] or [here]


def _another(value: Any) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str) and value.isdecimal():
        return str(int(value) + 1)
    return f"{value} and more" if isinstance(value, str) else value


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_another_value_anywhere_in_a_plan_that_is_no_resource_is_spoken_of(data: st.DataObject) -> None:
    stack = data.draw(st.sampled_from(["dev", "doks-h200", "oke-h200", "spiderpool-macvlan"]))
    base = plan_of(stack, {"upgrade": {}})
    document: Any = base.model_dump(mode="json", by_alias=True)
    part = data.draw(st.sampled_from([part for part in _PARTS if document[part]]))
    *parents, last = part, *data.draw(st.sampled_from(_leaves(document[part])))
    holder = document
    for key in parents:
        holder = holder[key]
    holder[last] = _another(holder[last])
    try:
        head = RenderedPlan.model_validate(document)
    except ValueError:
        # Such as another severity than there are.
        return
    assert base == head or said(base, head), (part, parents, last)


HOOK = {"image": "r.example/x:1", "command": ["/fix", "--all"]}
ROWS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("what_is_no_resource.yaml").read_text(encoding="utf-8")
)


def _plans(stack: str, before: Changes, after: Changes) -> tuple[RenderedPlan, RenderedPlan]:
    return plan_of(stack, before), plan_of(stack, _merged(before, after))


def _merged(before: Changes, after: Changes) -> Changes:
    return {key: value for key, value in {**before, **after}.items() if value is not None}


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if "stopped" in row])
def test_a_change_beside_resources_needs_an_acknowledgement_in_both_places_and_in_words(name: str) -> None:
    row = ROWS[name]
    stack, before, after, ruled = row["stack"], row.get("before", {}), row["after"], row["stopped"]
    names = {*ruled}
    base, head = _plans(stack, before, after)
    found = dangers(plan_diff(base, head))
    run = by_outputs(stack, before, _merged(before, after))
    assert {danger.resource for danger in found} == {danger.resource for danger in run} == names
    assert {danger.resource: danger.finding.id for danger in found} == ruled
    known = acknowledgeable_names((*base.resources, *head.resources))
    assert names <= known
    assert not judge(found, (), TODAY, known).passes
    assert judge(found, acknowledged(*names), TODAY, known).passes
    text = comment(review({stack: base}, {stack: head}, TODAY))
    assert "Nothing is taken away" not in text
    assert all(f"- resource: {one}" in text for one in names)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if "stopped" not in row])
def test_a_change_beside_resources_without_danger_is_said_and_not_stopped(name: str) -> None:
    stack, before, after = ROWS[name]["stack"], ROWS[name].get("before", {}), ROWS[name]["after"]
    base, head = _plans(stack, before, after)
    assert said(base, head)
    assert dangers(plan_diff(base, head)) == ()
    assert by_outputs(stack, before, _merged(before, after)) == ()


# Of one stack: what hands out NICs, and of which manager nodes are that have no label.
PLUGIN: Changes = {}
CLAIMS: Changes = {"fabric": {"manager": "dranet", "linkType": "ether", "vfsPerNic": 0, "claims": {"nri": True}}}
FROM_PLUGIN: Changes = {"upgrade": {"fromManager": "network-operator"}}
FROM_CLAIMS: Changes = {"upgrade": {"fromManager": "dranet"}}
# The edit, and the key of the stack file by which NICs in use would get another owner; empty where they do not.
OWNERS: dict[str, tuple[Changes, Changes, str]] = {
    "to claims, all nodes at once": (PLUGIN, CLAIMS, "fabric.manager"),
    "back, all nodes at once": (CLAIMS, PLUGIN, "fabric.manager"),
    "to claims after the first run, without waves": (PLUGIN | FROM_PLUGIN, CLAIMS, "fabric.manager"),
    "back from the middle, without waves": (CLAIMS | FROM_PLUGIN, PLUGIN, "fabric.manager"),
    "to claims without the first run": (PLUGIN, CLAIMS | FROM_PLUGIN, "upgrade"),
    "from the manager that comes": (PLUGIN, CLAIMS | FROM_CLAIMS, "upgrade.fromManager"),
    "from the manager that comes, late": (PLUGIN | FROM_PLUGIN, CLAIMS | FROM_CLAIMS, "upgrade.fromManager"),
    "from a manager that runs nowhere": (PLUGIN, PLUGIN | FROM_CLAIMS, "upgrade.fromManager"),
    "from a manager that ran before": (CLAIMS, CLAIMS | FROM_PLUGIN, "upgrade.fromManager"),
    "back from claims that not all have": (CLAIMS | FROM_PLUGIN, PLUGIN | FROM_CLAIMS, "upgrade.fromManager"),
    "the first run": (PLUGIN, PLUGIN | FROM_PLUGIN, ""),
    "waves to claims": (PLUGIN | FROM_PLUGIN, CLAIMS | FROM_PLUGIN, ""),
    "back from the middle": (CLAIMS | FROM_PLUGIN, PLUGIN | FROM_PLUGIN, ""),
    "the change is over": (CLAIMS | FROM_PLUGIN, CLAIMS, ""),
    "the first run of the way back, at once": (CLAIMS | FROM_PLUGIN, CLAIMS | FROM_CLAIMS, ""),
    "waves back": (CLAIMS | FROM_CLAIMS, PLUGIN | FROM_CLAIMS, ""),
    "the change is given up": (PLUGIN | FROM_PLUGIN, PLUGIN, ""),
    "other waves": (PLUGIN, PLUGIN | {"upgrade": {}}, ""),
    "claims with other keys": (
        CLAIMS,
        {"fabric": {**CLAIMS["fabric"], "claims": {"nri": True, "sizes": ["node"]}}},
        "",
    ),
}


@pytest.mark.parametrize("edit", OWNERS)
def test_nics_get_another_owner_in_waves_alone(edit: str) -> None:
    before, after, key = OWNERS[edit]
    found = dangers(plan_diff(*(plan_of("host-device", changes) for changes in (before, after))))
    for seen in (found, by_outputs("host-device", before, after)):
        keys = [danger.why.partition(":")[0] for danger in seen if danger.resource == "nic-owner"]
        assert keys == [key] * bool(key)


def _supported(old: str, new: str) -> bool:
    """Whether NVIDIA supports the step, by its own order of lines."""
    charts = [catalog().releases[line].charts for line in (old, new)]
    order = catalog().upgrades.lines
    places = [
        [order[name].order.index(".".join(one[name].version.removeprefix("v").split(".")[:2])) for one in charts]
        for name in ("gpu-operator", "network-operator")
    ]
    return all(0 <= after - before <= 1 for before, after in places)


@pytest.mark.parametrize("new", catalog().releases)
@pytest.mark.parametrize("old", catalog().releases)
def test_release_lines_step_forward_one_by_one_or_are_acknowledged(old: str, new: str) -> None:
    key = "software.releaseLine"
    stack = "guide-23-10" if "23.10" in (old, new) else "dev"
    found = [danger.resource for danger in dangers(plan_diff(*_plans(stack, {key: old}, {key: new})))]
    assert ("release-line" in found) != _supported(old, new)
    assert [danger.resource for danger in by_outputs(stack, {key: old}, {key: new})] == found


def test_a_record_of_an_earlier_version_is_not_compared_in_what_it_lacks() -> None:
    from gpu_fabric.changes.footprint import footprint, footprint_diff

    old, new = (footprint(prepared("dev", changes)) for changes in ({}, {"upgrade": {"hook": HOOK}}))
    without = old._replace(applied=old.applied.model_copy(update={"software": None}))
    assert dangers(footprint_diff("dev", without, new)) == ()
    assert [danger.resource for danger in dangers(footprint_diff("dev", old, new))] == ["node-hook"]
