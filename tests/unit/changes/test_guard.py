"""The guard: what loses something is stopped until somebody acknowledges it; what loses nothing passes."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest
import yaml
from changes import changed
from committed_stacks import folder_of
from diff_edits import EDITS, POOL, TODAY, Edit, acknowledged, diff_of, judgement_of, named, plan_of
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.diff_markdown import LIMIT, markdown
from gpu_fabric.changes.guard import explanation, judge_plans
from gpu_fabric.changes.guard_section import section
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.changes.watched import rows
from gpu_fabric.prepare import prepare
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.report.pages.references import configuration_reference
from gpu_fabric.spec.load import read_document

DANGEROUS = [edit for edit in EDITS if edit.guarded]


# Of each effect on a resource one edit, and the rule that says it.
RULES = {"DOKS region": "GRD001", "namespace with jobs removed": "GRD002", "OKE image of machines": "GRD003"}
RULES |= {"DOKS nodes fewer": "GRD004", "supernet moved": "GRD005", "OKE release line": "GRD010"}


def ids(edits: list[Edit]) -> list[str]:
    return [edit.name.replace(" ", "-") for edit in edits]


@pytest.mark.parametrize("edit", EDITS, ids=ids(list(EDITS)))
def test_an_edit_is_stopped_for_the_resources_that_are_the_cause_and_for_no_others(edit: Edit) -> None:
    found = dangers(diff_of(edit))
    assert tuple(danger.resource for danger in found) == edit.guarded
    assert all(danger.why and danger.alternative.endswith(".") for danger in found)
    if not found:
        assert judgement_of(edit).passes
        assert explanation(judgement_of(edit), "Pulumi.dev.yaml") == ""


@pytest.mark.parametrize("edit", DANGEROUS, ids=ids(DANGEROUS))
def test_a_dangerous_edit_passes_once_each_of_its_resources_is_acknowledged(edit: Edit) -> None:
    assert not judgement_of(edit).passes
    judgement = judgement_of(edit, acknowledged(*edit.guarded))
    assert judgement.passes
    assert judgement.leftovers == ()
    *rest, _ = edit.guarded
    assert not judgement_of(edit, acknowledged(*rest)).passes


@pytest.mark.parametrize("edit", DANGEROUS, ids=ids(DANGEROUS))
def test_what_the_refusal_gives_to_paste_lets_the_edit_pass_for_a_week(edit: Edit) -> None:
    judgement = judgement_of(edit)
    text = explanation(judgement, f"Pulumi.{edit.stack}.yaml")
    found = [answer["danger"]["finding"] for answer in judgement.model_dump(mode="json")["answers"]]
    assert {RULES.get(edit.name, found[0]["id"])} <= {entry["id"] for entry in found}
    assert all(f"  error {entry['id']} " in text for entry in found)
    section_of = text[text.index("  gpu-fabric:guard:") : text.index("  (`expires`")]
    document = read_document(edit.stack, folder_of(edit.stack))
    guard = yaml.safe_load(section_of)["gpu-fabric:guard"]
    document = document.model_copy(update={"sections": {**document.sections, "guard": guard}})
    written = prepare(changed(document, dict(edit.before)), for_up=False).plan.acknowledgements
    assert judgement_of(edit, written).passes
    assert judgement_of(edit, written, TODAY + timedelta(days=7)).passes
    assert not judgement_of(edit, written, TODAY + timedelta(days=8)).passes


@pytest.mark.parametrize(
    ("days", "passes"), [(-1, False), (0, True), (31, True), (32, False)], ids=["past", "today", "month", "later"]
)
def test_an_acknowledgement_counts_until_its_day_and_at_most_a_month_ahead(days: int, passes: bool) -> None:
    expires = TODAY + timedelta(days=days)
    judgement = judgement_of(named("DOKS shape"), acknowledged("cluster-pool-gpu", expires=expires))
    assert judgement.passes == passes
    if not passes:
        assert str(expires) in explanation(judgement, "Pulumi.doks-h200.yaml")


def test_address_pools_are_acknowledged_by_their_component_or_one_by_one() -> None:
    edit = named("supernet moved")
    assert judgement_of(edit, acknowledged("ip-pools")).passes
    refused = judgement_of(edit, acknowledged("ip-pools-rail-07-nvidia-network-operator")).refused
    assert len(refused) == 15


def test_no_acknowledgement_takes_the_whole_of_a_cloud() -> None:
    assert not judgement_of(named("DOKS region"), acknowledged("cluster")).passes


def test_a_pool_that_gets_smaller_takes_no_cluster_along_whatever_else_is_less_on_it() -> None:
    for name in ("DOKS nodes and nodes of the system pool fewer", "DOKS nodes fewer and no longer highly available"):
        (danger,) = dangers(diff_of(named(name)))
        assert (danger.effect, danger.lost.nodes, danger.takes_a_cluster) == ("smaller", 1, False)


def test_a_subnet_that_is_replaced_loses_the_machines_in_it() -> None:
    base = plan_of("oke-h100", {})
    replaced = [
        entry.model_copy(update={"properties": {**entry.properties, "dnsLabel": "other"}})
        if entry.name == "cluster-subnet-workers"
        else entry
        for entry in base.resources
    ]
    (danger,) = dangers(plan_diff(base, base.model_copy(update={"resources": tuple(replaced)})))
    assert (danger.resource, danger.lost.nodes, danger.lost.gpus) == ("cluster-subnet-workers", 4, 32)


def test_a_cluster_that_is_deleted_is_named_itself_whatever_it_lies_in() -> None:
    base = plan_of("doks-h200", {})
    found = dangers(plan_diff(base, base.model_copy(update={"resources": ()})))
    assert [danger.resource for danger in found] == ["cluster-vpc", "cluster-doks"]


def test_what_goes_for_something_that_is_not_watched_is_told_itself() -> None:
    base = plan_of("oke-h100", {f"{POOL}.placement": "compute-cluster-instances"})
    moved = {"compartmentId": "ocid1.compartment.oc1..aaaaaaaaanother"}
    # A machine whose image is made anew would go with it, and nobody watches images.
    image = next(entry for entry in base.resources if entry.name == "cluster-policy-join").model_copy(
        update={"name": "cluster-image", "type": "oci:Core/image:Image", "properties": {"launchMode": "NATIVE"}}
    )
    using = [
        entry.model_copy(update={"properties": {**entry.properties, "image": "<output cluster-image.id>"}})
        if entry.name == "cluster-pool-gpu-0"
        else entry
        for entry in base.resources
    ]
    before = base.model_copy(update={"resources": (image, *using)})
    later = image.model_copy(update={"properties": {"launchMode": "CUSTOM", **moved}})
    found = dangers(plan_diff(before, base.model_copy(update={"resources": (later, *using)})))
    assert [(danger.resource, danger.why) for danger in found] == [
        ("cluster-pool-gpu-0", "image is an output of cluster-image, which is deleted")
    ]


def test_a_platform_that_names_another_cluster_stack_goes_as_a_whole_although_no_property_differs() -> None:
    base = plan_of("doks-split-platform", {})
    split = {**base.decisions["split"], "clusterStack": "doks-other-cluster"}
    found = plan_diff(base, base.model_copy(update={"decisions": {**base.decisions, "split": split}}))
    assert (len(found.of("replaced")), found.unchanged, found.loses) == (len(base.resources), 0, True)
    (danger,) = dangers(found)
    assert (danger.resource, danger.takes_a_cluster) == ("cluster-kubernetes", True)
    assert danger.why.startswith("split.clusterStack: doks-split-cluster → doks-other-cluster")
    assert len(danger.networks) == 8
    assert "Nothing is taken away" not in markdown(found)


def test_any_two_plans_can_be_judged_and_told_within_a_comment(rendered_plans: tuple[RenderedPlan, ...]) -> None:
    plans = [plan.model_copy(update={"stack": "one"}) for plan in rendered_plans]
    for before, after in zip(plans, [*plans[1:], plans[0]], strict=True):
        found = plan_diff(before, after)
        assert len(after.resources) == found.unchanged + len(found.resources) - len(found.of("deleted"))
        assert found.lost.nodes <= sum(pool["nodes"] for pool in before.decisions["cluster"]["pools"])
        answers = judge_plans(found, before, after, TODAY)
        assert all(answer.danger.alternative for answer in answers.answers)
        assert len(markdown(found, guard=section(answers, "Pulumi.one.yaml")).encode()) <= LIMIT


@pytest.mark.parametrize("name", ["DOKS system pool resized while protected", "supernet moved"])
def test_the_refusal_says_what_why_what_is_lost_what_instead_and_what_to_write(
    name: str, snapshot: SnapshotAssertion
) -> None:
    edit = named(name)
    assert explanation(judgement_of(edit), f"Pulumi.{edit.stack}.yaml") == snapshot


def test_every_type_of_a_cloud_that_a_stack_has_is_in_the_table(rendered_plans: tuple[RenderedPlan, ...]) -> None:
    for plan in rendered_plans:
        for resource in plan.resources:
            if resource.type.startswith(("digitalocean:", "oci:")):
                assert resource.type in rows()


def test_every_key_that_an_alternative_names_is_one_of_a_stack_file() -> None:
    sentences = [text for row in rows().values() for text in (*row.when.values(), *dict(row).values())]
    keys = {key for text in sentences if isinstance(text, str) for key in re.findall(r"`([a-z]+\.[^` ]+)`", text)}
    assert len(keys) > 15
    assert keys <= set(_documented_keys())


def _documented_keys() -> Iterator[str]:
    for part in configuration_reference().split("\n## `gpu-fabric:")[1:]:
        name = re.match(r"\w+", part)
        assert name is not None
        for key in re.findall(r"^\| `([^`]+)`", part, re.MULTILINE):
            yield from (f"{name[0]}.{key}", f"{name[0]}.{key.removesuffix('[]')}")


def test_an_acknowledgement_alone_is_no_difference_and_is_said() -> None:
    base = plan_of("doks-h200", {})
    head = base.model_copy(update={"acknowledgements": acknowledged("cluster-doks")})
    there, back = plan_diff(base, head), plan_diff(head, base)
    assert (there.resources, there.elsewhere, there.loses) == ((), (), False)
    assert "no resource differs" in markdown(there)
    assert "Acknowledged: `cluster-doks` until 2026-11-29: the jobs are elsewhere" in markdown(there)
    assert "No longer acknowledged: `cluster-doks`" in markdown(back)


@pytest.mark.parametrize(
    "written",
    [
        date(2026, 12, 1),
        "2026-12-01",
        # What the engine makes of a day without quotes, and writes into the stack file.
        "2026-12-01 00:00:00 +0000 UTC",
        "2026-12-01T00:00:00Z",
    ],
    ids=str,
)
def test_a_day_is_read_with_and_without_quotes_and_as_the_engine_hands_it_over(written: Any) -> None:
    document = read_document("dev", folder_of("dev"))
    entry = {"resource": "ip-pools", "expires": written, "reason": "another range"}
    guarded = document.model_copy(update={"sections": {**document.sections, "guard": {"acknowledge": [entry]}}})
    (found,) = prepare(guarded, for_up=False).plan.acknowledgements
    assert found.expires == date(2026, 12, 1)
