"""What carries others with it: operators, definitions, policies, namespaces; machines and labels that are text."""

from typing import Any, NamedTuple

import pytest
from changes import Changes
from diff_edits import TODAY, plan_of
from program_lists import SCHEDULER_NAMESPACES
from test_guard_footprint import by_outputs, by_plans

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.diff_markdown import markdown
from gpu_fabric.changes.guard import explanation, judge, lost_text
from gpu_fabric.changes.guard import group_answers as grouped
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.render.model import RenderedPlan, RenderedResource

KEEP: Changes = {"software.keepOperators": True}
OPERATOR_NAMESPACE, POLICY = "namespaces-nvidia-network-operator", "nic-policies-nic-cluster-policy"
SECTIONS = "nic-policies-nic-cluster-policy-sections"
NETWORK, GPU, SPIDERPOOL = "software.networkOperator", "software.gpuOperator", "software.spiderpool"
SCHEDULERS = "software.schedulers"
PRESENT = {"install": False, "policy": "adopt"}
_NICS = [{"pci": f"0000:{bus:02x}:00.0", "interface": f"ens{bus}", "nearestGpu": bus} for bus in range(8)]
_LAB = {
    "gpus": {"count": 8, "vendor": "nvidia", "model": "H100"},
    "nicModel": {"vendorId": "15b3", "deviceId": "1021", "driver": "mlx5_core", "linkType": "ether"},
    "nics": _NICS,
}
OWN_MACHINES: Changes = {
    "cluster.shapes": {"lab2": _LAB},
    "cluster.pools[0].shape": "lab2",
    "cluster.pools[0].labels": {"kind": "b"},
    "fabric": {"model": "host-device", "addressing": {"supernet": "192.168.0.0/16"}},
}
MULTUS = "multus-network-attachment-definitions.k8s.cni.cncf.io"


class Loss(NamedTuple):
    """An edit, what the guard names first of it, and a part of what it says is lost with that; and whether it is the
    kind that `software.keepOperators` is for."""

    name: str
    stack: str
    before: Changes
    after: Changes
    resource: str
    lost: str
    kept: bool = True


def removed(stack: str, scheduler: str, resource: str, lost: str = "") -> Loss:
    """A scheduler or job controller that is taken out of the file."""
    with_it: Changes = {SCHEDULERS: {scheduler: {}}}
    without: Changes = {SCHEDULERS: {}}
    return Loss(f"{scheduler} taken out", stack, with_it, without, resource, lost or "every object of the definitions")


LOSSES = (
    Loss("G1", "host-device", {}, {NETWORK: PRESENT}, OPERATOR_NAMESPACE, "also what the plan keeps there"),
    Loss("G1 theirs", "host-device", {}, {NETWORK: {**PRESENT, "policy": "theirs"}}, POLICY, "address pools"),
    Loss("G1 GPU Operator", "dev", {}, {f"{GPU}.install": False}, "namespaces-gpu-operator", "everything in it"),
    Loss("G1 Spiderpool", "spiderpool-ib", {}, {f"{SPIDERPOOL}.install": False}, "namespaces-spiderpool", "everything"),
    Loss("G1 Whereabouts", "sriov-whereabouts", {}, {"software.whereabouts.install": False}, "namespaces-whereabouts",
        "deleted with it: whereabouts-whereabouts"),
    Loss("G2 adopt to theirs", "existing-operators", {}, {f"{NETWORK}.policy": "theirs"}, SECTIONS, "device plug-ins"),
    Loss("G2 own to adopt", "existing-operators", {f"{NETWORK}.policy": "own"}, {f"{NETWORK}.policy": "adopt"}, POLICY,
        "device plug-ins"),
    Loss("G2 own to theirs", "existing-operators", {f"{NETWORK}.policy": "own"}, {f"{NETWORK}.policy": "theirs"},
        POLICY, "device plug-ins"),
    *(removed("dev", key, f"namespaces-{name}", "everything in it") for key, name in SCHEDULER_NAMESPACES.items()),
    Loss("G3 Multus at DOKS", "doks-h200", {}, {"software.multus.install": False}, MULTUS, "every object of its kind"),
    Loss("G4", "oke-h200",
        {"cluster.pools[0].cycling": None, "cluster.pools[0].autoScale": {"minNodes": 1, "maxNodes": 8}},
        {"cluster.pools[0].cycling": None, "cluster.pools[0].autoScale": {"minNodes": 1, "maxNodes": 4}},
        "cluster-pool-gpu", "up to 4 nodes", kept=False),
    Loss("G6", "dev", OWN_MACHINES, {**OWN_MACHINES, "cluster.pools[0].shape": "gpu-h100x8-640gb-contracted"},
        "ip-pools-rail-00-nvidia-network-operator", "running pods keep addresses", kept=False),
)  # fmt: skip
KEPT = [loss for loss in LOSSES if loss.kept]


def ids(losses: Any) -> list[str]:
    return [loss.name.replace(" ", "-") for loss in losses]


@pytest.mark.parametrize("loss", LOSSES, ids=ids(LOSSES))
def test_what_carries_others_with_it_is_stopped_with_what_it_carries(loss: Loss) -> None:
    for find in (by_plans, by_outputs):
        judgement = judge(find(loss.stack, loss.before, loss.after), (), TODAY)
        told = {group.danger.resource: lost_text(group) for group in grouped(judgement.answers)}
        named = [answer.danger.resource for answer in judgement.answers]
        assert loss.resource in named
        assert loss.lost in "; ".join(told.values())
        assert explanation(judgement, "Pulumi.x.yaml")


@pytest.mark.parametrize("loss", KEPT, ids=ids(KEPT))
def test_what_is_kept_leaves_the_stack_without_a_loss(loss: Loss) -> None:
    before: Changes = {**loss.before, **KEEP}
    # The first of two runs changes options alone.
    assert by_outputs(loss.stack, loss.before, before) == ()
    for find in (by_plans, by_outputs):
        assert find(loss.stack, before, loss.after) == ()
    gone = plan_diff(plan_of(loss.stack, before), plan_of(loss.stack, loss.after)).of("deleted")
    assert gone
    assert all(entry.retained for entry in gone)


def test_the_difference_says_what_goes_with_a_resource_and_why_a_loss_is_none() -> None:
    text = markdown(plan_diff(plan_of("host-device", {}), plan_of("host-device", {NETWORK: PRESENT})))
    assert "| no longer planned | everything in it, also what the plan keeps there |" in text
    assert "| no longer planned | nothing |" not in text
    setting: Changes = {"fabric.nccl": {"settings": {"NCCL_DEBUG": "INFO"}}}
    text = markdown(plan_diff(plan_of("dev", {}), plan_of("dev", setting)))
    assert "| nothing: Pods that run keep the content that they have" in text


def test_a_definition_is_the_cause_of_the_parts_of_its_operator() -> None:
    found = dangers(plan_diff(plan_of("doks-h200", {}), plan_of("doks-h200", {"software.multus.install": False})))
    (cause,) = (danger for danger in found if danger.component == "multus")
    assert cause.resource == MULTUS


@pytest.mark.parametrize("most", [8, 12])
def test_a_maximum_that_is_not_lower_is_no_loss(most: int) -> None:
    pool = "cluster.pools[0]"
    before: Changes = {f"{pool}.cycling": None, f"{pool}.autoScale": {"minNodes": 1, "maxNodes": 8}}
    after: Changes = {**before, f"{pool}.autoScale": {"minNodes": 2, "maxNodes": most}}
    assert by_plans("oke-h200", before, after) == by_outputs("oke-h200", before, after) == ()


def test_a_cloud_whose_nodes_join_with_the_label_of_their_machine_type_is_no_loss() -> None:
    shape: Changes = {"cluster.pools[0].shape": "gpu-h100x8-640gb-fabric-contracted"}
    found = by_plans("doks-h200", {}, shape)
    assert [danger.resource for danger in found] == ["cluster-pool-gpu"]


def of_one_name(plan: RenderedPlan) -> list[list[RenderedResource]]:
    """Resources of several types with one name."""
    named: dict[str, list[RenderedResource]] = {}
    for entry in plan.resources:
        named.setdefault(entry.name, []).append(entry)
    return [found for found in named.values() if len(found) > 1]


def removals(plan: RenderedPlan, gone: list[RenderedResource]) -> set[tuple[str, str, str]]:
    """What the guard says where a plan no longer has some resources."""
    rest = tuple(entry for entry in plan.resources if entry not in gone)
    found = dangers(plan_diff(plan, plan.model_copy(update={"resources": rest})))
    return {(one.type, one.resource, one.effect) for one in found}


@pytest.mark.parametrize("stack", ["doks-h200", "kueue", "oke-h200", "readiness"])
def test_two_resources_of_one_name_are_lost_each_for_itself(stack: str) -> None:
    forwards = plan_of(stack, {})
    alike = of_one_name(forwards)
    assert alike
    # Which of them comes last makes no difference.
    for plan in (forwards, forwards.model_copy(update={"resources": forwards.resources[::-1]})):
        for gone in alike:
            assert removals(plan, gone) == {danger for entry in gone for danger in removals(plan, [entry])}


def test_an_object_that_has_the_name_of_a_cloud_resource_takes_along_nothing_of_the_cloud() -> None:
    base = plan_of("oke-h200", {})
    network = next(entry for entry in base.resources if entry.type == "oci:Core/vcn:Vcn")
    account = next(entry for entry in base.resources if entry.type == "kubernetes:core/v1:ServiceAccount")
    alike = account.model_copy(update={"name": network.name})
    resources = tuple(alike if entry is account else entry for entry in base.resources)
    assert removals(base.model_copy(update={"resources": resources}), [alike]) == removals(base, [account])
