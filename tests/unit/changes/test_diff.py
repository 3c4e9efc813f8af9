"""The difference between two rendered plans: each edit's, as a reviewer reads it; and what no edit may do to it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from diff_edits import EDITS, H200, Edit, diff_of, judgement_of, plan_of
from each_case import each
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from gpu_fabric.changes.diff_markdown import LIMIT, markdown
from gpu_fabric.changes.guard_section import section
from gpu_fabric.changes.plan_diff import DifferentStacks, plan_diff
from gpu_fabric.changes.properties import Difference, differences, rules_of
from gpu_fabric.render.model import RenderedPlan
from sandbox.cloud.digitalocean import fields as digitalocean
from sandbox.cloud.oci.fields import fields_of
from sandbox.cloud.schema import Fields

DIGITALOCEAN = {kind: digitalocean.fields_of(kind) for kind in ("KubernetesCluster", "KubernetesNodePool", "Vpc")}


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
    assert (found.proof, found.protection, found.kept) == ((), None, ())
    assert "no resource differs" in markdown(found)


@each("edit", EDITS, ids=[edit.name.replace(" ", "-") for edit in EDITS])
def test_an_edit_and_its_way_back_have_created_and_deleted_in_turn(edit: Edit) -> None:
    before, after = plan_of(edit.stack, edit.before), plan_of(edit.stack, {**edit.before, **edit.after})
    there, back = plan_diff(before, after), plan_diff(after, before)
    assert {entry.name for entry in there.of("created")} == {entry.name for entry in back.of("deleted")}
    assert {entry.name for entry in there.of("deleted")} == {entry.name for entry in back.of("created")}


def test_plans_of_two_stacks_are_refused_with_both_names() -> None:
    with pytest.raises(DifferentStacks, match="'dev' and 'doks-h200'"):
        plan_diff(plan_of("dev", {}), plan_of("doks-h200", {}))


def test_jobs_that_only_lack_what_is_new_are_not_said_to_wait() -> None:
    text = markdown(plan_diff(plan_of("dev", {}), _asking(8)))
    assert "- Nothing is taken away." in text
    assert "- **Jobs attached before start without what is new in the contract**: `my.org/nic`. Attach them" in text


@pytest.mark.parametrize(
    ("before", "after", "gone", "changed"), [(8, 4, ("my.org/nic: 8",), ()), (4, 8, (), ("my.org/nic",))]
)
def test_fewer_devices_than_a_job_asks_for_keep_it_waiting_and_more_do_not(
    before: int, after: int, gone: tuple[str, ...], changed: tuple[str, ...]
) -> None:
    plans = [_asking(number) for number in (before, after)]
    jobs = plan_diff(*plans).jobs
    assert jobs is not None
    assert (jobs.gone, jobs.changed) == (gone, changed)


def test_a_stack_that_becomes_one_of_two_parts_has_no_contract_to_attach_jobs_to() -> None:
    plan = plan_of("dev", {})
    alone = plan.model_copy(update={"contract": {}})
    assert [plan_diff(*pair).jobs for pair in ((plan, alone), (alone, plan))] == [None, None]


def _asking(devices: int) -> RenderedPlan:
    plan = plan_of("dev", {})
    resources = {**plan.contract["resources"], "my.org/nic": str(devices)}
    return plan.model_copy(update={"contract": {**plan.contract, "resources": resources}})


@each("edit", EDITS, ids=[edit.name.replace(" ", "-") for edit in EDITS])
def test_jobs_are_spoken_of_just_where_what_they_must_have_to_start_differs(edit: Edit) -> None:
    plans = (plan_of(edit.stack, changes) for changes in (edit.before, {**edit.before, **edit.after}))
    before, after = (
        [plan.contract.get("resources"), *_places(plan.contract, "networks"), *_places(plan.contract, "files")]
        for plan in plans
    )
    assert ("**Jobs attached before " in markdown(diff_of(edit))) == (before != after)


def _places(contract: dict[str, Any], key: str) -> list[Any]:
    return [entry.get("network", entry.get("configMap")) for entry in contract.get(key, ())]


def test_cycling_that_a_program_no_longer_states_is_still_on() -> None:
    rules = rules_of("oci:ContainerEngine/nodePool:NodePool")
    image = Difference(("nodeSourceDetails", "imageId"), "nodeSourceDetails.imageId", "changed", "one", "another")
    on, off = ({"nodePoolCyclingDetails": {"isNodeCyclingEnabled": value}} for value in (True, False))
    assert rules.renews(image, on, {})
    assert not rules.renews(image, on, off)
    assert not rules.renews(image, {}, {})


def test_what_renews_machines_is_a_property_that_changes_in_place() -> None:
    for kind, pool in (
        ("NodePool", "oci:ContainerEngine/nodePool:NodePool"),
        ("Instance", "oci:Core/instance:Instance"),
    ):
        rules = rules_of(pool)
        assert rules.renewed
        for keys in (*rules.renewed, *rules.renewing):
            assert not _replaces(fields_of(kind), keys), keys


def test_a_version_that_is_raised_changes_in_place_and_a_lowered_one_replaces() -> None:
    always = {"cluster.versionApplies": "always", "cluster.protect": True}
    low, high = (
        plan_of("doks-h200", {**always, "cluster.version": version}) for version in ("1.35.1-do.0", "1.36.1-do.0")
    )
    assert [entry.name for entry in plan_diff(low, high).of("replaced")] == []
    assert "cluster-doks" in [entry.name for entry in plan_diff(high, low).of("replaced")]


def test_what_the_engine_ignores_is_no_difference() -> None:
    raised = plan_of("doks-h200", {"cluster.version": "1.36.2-do.0"})
    assert plan_diff(plan_of("doks-h200", {}), raised).resources == ()


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
    field, rest = fields[keys[0]], keys[1:]
    if not rest or not field.fields or (field.kind == "map" and rest[0] not in field.fields):
        return field.replaces
    return field.replaces or _replaces(field.fields, rest)


def test_every_property_of_every_cloud_resource_is_judged_as_the_simulated_clouds_judge_it(
    rendered_plans: tuple[RenderedPlan, ...],
) -> None:
    judged = 0
    for plan in rendered_plans:
        for resource in plan.resources:
            kind = resource.type.rpartition(":")[2]
            if resource.type.startswith("oci:"):
                fields = fields_of(kind)
            elif resource.type.startswith("digitalocean:") and kind in DIGITALOCEAN:
                fields = DIGITALOCEAN[kind]
            else:
                continue
            for keys, value in _leaves(resource.properties):
                found = Difference(keys, ".".join(keys), "changed", value, "another")
                assert rules_of(resource.type).forces(found) == _replaces(fields, keys), (resource.type, keys)
                judged += 1
    assert judged > 500


def test_a_computed_property_that_is_dropped_keeps_its_value_and_replaces_nothing() -> None:
    rules = rules_of("digitalocean:index/kubernetesCluster:KubernetesCluster")
    assert rules.forces(Difference(("clusterSubnet",), "clusterSubnet", "changed", "10.1.0.0/16", "10.2.0.0/16"))
    assert not rules.forces(Difference(("clusterSubnet",), "clusterSubnet", "removed", "10.1.0.0/16", None))


def _dropped(path: str, old: Any = "one") -> Difference:
    return Difference(tuple(re.sub(r"\[[^]]*\]", "", path).split(".")), path, "removed", old, None)


_LAUNCH = "instanceDetails.launchDetails"


@pytest.mark.parametrize(
    ("kind", "found", "forces"),
    [
        ("Core/instanceConfiguration:InstanceConfiguration", _dropped(f"{_LAUNCH}.metadata.user_data"), True),
        ("Core/instanceConfiguration:InstanceConfiguration", _dropped(f"{_LAUNCH}.definedTags.Team"), True),
        (
            "Core/instanceConfiguration:InstanceConfiguration",
            _dropped(f"{_LAUNCH}.agentConfig.pluginsConfigs[Bastion]", {"name": "Bastion"}),
            True,
        ),
        ("Core/instanceConfiguration:InstanceConfiguration", _dropped(f"{_LAUNCH}.createVnicDetails.nsgIds"), True),
        ("Core/instanceConfiguration:InstanceConfiguration", _dropped(f"{_LAUNCH}.faultDomain"), False),
        ("Core/instanceConfiguration:InstanceConfiguration", _dropped(f"{_LAUNCH}.metadata", {"a": "b"}), False),
        ("Core/instance:Instance", _dropped("metadata.user_data"), True),
        ("Core/instance:Instance", _dropped("metadata.other"), False),
        ("ContainerEngine/cluster:Cluster", _dropped("endpointConfig", {"subnetId": "one"}), True),
        ("ContainerEngine/cluster:Cluster", _dropped("endpointConfig.nsgIds"), False),
        ("ContainerEngine/nodePool:NodePool", _dropped("nodeConfigDetails.computeClusterId"), True),
        ("Core/image:Image", _dropped("imageSourceDetails.sourceUri"), True),
    ],
)
def test_what_is_dropped_is_kept_unless_it_is_a_key_an_entry_or_not_computed(
    kind: str, found: Difference, forces: bool
) -> None:
    assert rules_of(f"oci:{kind}").forces(found) == forces


_PLUGINS = [{"name": name, "desiredState": "ENABLED"} for name in ("Bastion", "Run Command", "Monitoring")]


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ([_PLUGINS[1], _PLUGINS[0], _PLUGINS[2]], {"a[order]"}),
        ([_PLUGINS[2], _PLUGINS[0]], {"a[Run Command]", "a[order]"}),
        ([_PLUGINS[0], _PLUGINS[2]], {"a[Run Command]"}),
        ([{**_PLUGINS[1], "desiredState": "DISABLED"}, *_PLUGINS[::2]], {"a[Run Command].desiredState", "a[order]"}),
        (_PLUGINS, set()),
    ],
)
def test_another_order_of_entries_with_names_is_a_difference(after: list[Any], found: set[str]) -> None:
    assert {entry.path for entry in differences({"a": _PLUGINS}, {"a": after})} == found


@pytest.mark.parametrize(
    ("kind", "at", "forces"),
    [
        ("Core/instanceConfiguration:InstanceConfiguration", f"{_LAUNCH}.agentConfig.pluginsConfigs", True),
        ("Core/instance:Instance", "agentConfig.pluginsConfigs", False),
    ],
)
def test_another_order_replaces_where_the_list_cannot_change_in_place(kind: str, at: str, forces: bool) -> None:
    before, after = _nested(at, _PLUGINS), _nested(at, _PLUGINS[::-1])
    (moved,) = differences(before, after)

    assert (moved.old, moved.new) == (
        ["Bastion", "Run Command", "Monitoring"],
        ["Monitoring", "Run Command", "Bastion"],
    )
    assert rules_of(f"oci:{kind}").forces(moved) == forces


def _nested(at: str, value: Any) -> Any:
    for key in reversed(at.split(".")):
        value = {key: value}
    return value


def test_a_value_that_holds_by_itself_is_written_out_and_dropped_without_a_change() -> None:
    rules = rules_of("digitalocean:index/kubernetesCluster:KubernetesCluster")
    for old, new in ((False, None), (None, False)):
        kind: Any = "removed" if new is None else "added"
        assert not rules.forces(Difference(("isolatedWorkers",), "isolatedWorkers", kind, old, new))
    assert rules.forces(Difference(("isolatedWorkers",), "isolatedWorkers", "removed", True, None))
    assert rules.forces(Difference(("isolatedWorkers",), "isolatedWorkers", "changed", False, True))
