"""The difference between two rendered plans: each edit's, as a reviewer reads it; and what no edit may do to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from changes import Changes, changed
from committed_stacks import folder_of
from diff_edits import EDITS, H200, NODES, Edit
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from typer.testing import CliRunner, Result

from fabric.cli import app
from fabric.diff import LIMIT, DifferentStacks, PlanDiff, markdown, plan_diff
from fabric.diff.changes import Found
from fabric.diff.replacements import rules_of
from fabric.plan import Plan
from fabric.prepare import prepare
from fabric.render import RenderedPlan, RenderedResource, files, rendered, write_files
from fabric.spec import read_document
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
HOSTILE = "</details><img src=x> `` | @everyone #1 [a](http://b) \u202e\u0007"


class Markdown(SingleFileSnapshotExtension):
    """A golden file that is Markdown, and shows as a comment does."""

    file_extension = "md"
    _write_mode = WriteMode.TEXT


@cache
def _plan(stack: str, changes: str) -> RenderedPlan:
    document = read_document(stack, folder_of(stack))
    return rendered(prepare(changed(document, json.loads(changes)), for_up=False))


def plan_of(stack: str, changes: Changes) -> RenderedPlan:
    return _plan(stack, json.dumps(changes, sort_keys=True))


def diff_of(edit: Edit) -> PlanDiff:
    return plan_diff(plan_of(edit.stack, edit.before), plan_of(edit.stack, {**edit.before, **edit.after}))


def named(name: str) -> PlanDiff:
    return diff_of(next(edit for edit in EDITS if edit.name == name))


@pytest.mark.parametrize("edit", EDITS, ids=[edit.name.replace(" ", "-") for edit in EDITS])
def test_an_edit_has_the_reviewed_difference(edit: Edit, snapshot: SnapshotAssertion) -> None:
    text = markdown(diff_of(edit))
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


def _with(plan: RenderedPlan, change: Callable[[RenderedResource], RenderedResource]) -> RenderedPlan:
    return plan.model_copy(update={"resources": tuple(map(change, plan.resources))})


def test_what_others_wrote_becomes_neither_markup_nor_a_mention() -> None:
    plan = plan_of("dev", {})

    def renamed(resource: RenderedResource) -> RenderedResource:
        labels = {"labels": {HOSTILE: HOSTILE}, "data": f"```\n{HOSTILE}\n"}
        update = {"identity": f"{resource.identity}{HOSTILE}", "properties": {**resource.properties, **labels}}
        return resource.model_copy(update=update)

    hostile = _with(plan, renamed)
    texts = [markdown(plan_diff(*pair)) for pair in ((plan, hostile), (hostile, plan))]
    texts.append(markdown(plan_diff(hostile, plan.model_copy(update={"resources": ()}))))
    for text in texts:
        shown, code = _outside_code(text)
        assert HOSTILE[:10] in code
        assert "<img" not in shown
        assert "@everyone" not in shown
        assert "](" not in shown
        assert "\u202e" not in text
        assert "\u0007" not in text
        assert shown.count("<details>") == shown.count("</details>")


def _outside_code(text: str) -> tuple[str, str]:
    """Markdown's text apart from its code, and the code: fences by their lines, spans by their marks."""
    shown, code, fence = [], [], ""
    for line in text.splitlines():
        mark = line.strip()
        if fence:
            fence = "" if mark == fence else fence
            code.append(line)
        elif mark.startswith("```"):
            fence = mark.rstrip("dif")
        else:
            rest = line
            while (start := rest.find("`")) >= 0:
                shown.append(rest[:start])
                length = len(rest[start:]) - len(rest[start:].lstrip("`"))
                end = _closing(rest, start + length, length)
                code.append(rest[start + length : end])
                rest = rest[end + length :]
            shown.append(rest)
    return "\n".join(shown), "\n".join(code)


def _closing(line: str, start: int, length: int) -> int:
    """Where the run of marks is that closes a span: exactly as long as the one that opened it."""
    place = start
    while place < len(line):
        run = len(line[place:]) - len(line[place:].lstrip("`"))
        if run == length:
            return place
        place += run or 1
    raise AssertionError(f"a span that nothing closes: {line}")


@pytest.mark.parametrize(
    "changes", [{NODES: 1}, {"fabric.addressing.supernet": "172.16.0.0/12"}, {"fabric.addressing.ipam": "whereabouts"}]
)
def test_thousands_of_nodes_fit_in_a_comment_and_the_text_says_what_is_only_counted(changes: Changes) -> None:
    before = plan_of("dev", {"fabric.addressing.supernet": "10.128.0.0/12", NODES: 2048})
    after = plan_of("dev", {"fabric.addressing.supernet": "10.128.0.0/12", NODES: 2048, **changes})
    found = plan_diff(before, after)
    text = markdown(found)
    assert len(text.encode()) <= LIMIT
    moves = sum(len(rail.moved) + len(rail.removed) for rail in found.rails)
    assert ("> Summarised, since a comment takes 65,536 characters" in text) == (moves > 2000)
    assert moves == 0 or f"{moves} " in text


@pytest.mark.parametrize("limit", [40_000, 20_000, 9_000, 6_000])
def test_a_tighter_limit_is_held_by_counting_and_every_resource_stays_counted(limit: int) -> None:
    found = named("OKE release line")
    large = plan_diff(plan_of("oke-h100", {}), plan_of("oke-h100", {}).model_copy(update={"resources": ()}))
    for diff in (found, large):
        text = markdown(diff, limit)
        assert len(text.encode()) <= limit
        heads = [f"{len(diff.of(verdict))} {verdict}" for verdict in ("created", "changed", "replaced", "deleted")]
        assert all(head in text for head in heads)
        assert text.count("<details>") == text.count("</details>")


def test_a_text_of_others_names_and_values_without_end_fits_and_says_how_long_they_are() -> None:
    plan = plan_of("doks-h200", {})
    long = "`|<" * 30_000

    def lengthened(resource: RenderedResource) -> RenderedResource:
        properties = {key: f"{value}{long}" for key, value in resource.properties.items()}
        return resource.model_copy(update={"identity": f"{resource.identity}{long}", "properties": properties})

    found = plan_diff(plan, _with(plan, lengthened)).model_copy(update={"elsewhere": (long,) * 500})
    text = markdown(found)
    assert len(text.encode()) <= LIMIT
    assert " characters)" in text


def test_any_two_plans_can_be_compared(stack_plans: tuple[Plan, ...]) -> None:
    plans = [rendered(plan).model_copy(update={"stack": "one"}) for plan in stack_plans]
    for before, after in zip(plans, [*plans[1:], plans[0]], strict=True):
        found = plan_diff(before, after)
        assert len(markdown(found).encode()) <= LIMIT
        assert len(after.resources) == found.unchanged + len(found.resources) - len(found.of("deleted"))
        assert found.lost.nodes <= sum(pool["nodes"] for pool in before.decisions["cluster"]["pools"])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    """The plans of an edit that takes nodes away, on disk."""
    found = []
    for name, nodes in (("before", 3), ("after", 2)):
        write_files(tmp_path / name, files(plan_of("doks-h200", {NODES: nodes})))
        found.append(str(tmp_path / name))
    return found[0], found[1]


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["diff", *arguments])


def test_the_command_prints_markdown_and_ends_with_0(folders: tuple[str, str]) -> None:
    result = _run(*folders)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("### Fabric plan of `doks-h200`: 0 created, 1 changed, 0 replaced, 0 deleted\n")
    assert "**Lost: 1 node with 8 GPUs.**" in result.stdout


def test_the_command_prints_all_of_it_as_json(folders: tuple[str, str]) -> None:
    document = json.loads(_run(*folders, "--json").stdout)
    (pool,) = document["resources"]
    assert (pool["verdict"], pool["lost"]) == ("changed", {"nodes": 1, "gpus": 8, "addresses": 0})
    assert PlanDiff.model_validate(document).lost.nodes == 1


def test_a_loss_ends_with_1_where_that_is_asked_for(folders: tuple[str, str]) -> None:
    before, after = folders
    assert _run(before, after, "--fail-on-loss").exit_code == 1
    assert _run(after, before, "--fail-on-loss").exit_code == 0


def test_a_folder_without_a_plan_is_bad_input(folders: tuple[str, str], tmp_path: Path) -> None:
    result = _run(folders[0], str(tmp_path / "nowhere"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no rendered plan" in result.stderr
