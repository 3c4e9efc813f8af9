"""Edits of one key of every committed stack: nothing that Pulumi deletes or replaces goes without a word.

What Pulumi does is told by `engine_fates`, which reads nothing that the guard reads. One in thirty of the edits is
looked at; GPU_FABRIC_EVERY_EDIT in the environment names another part, and 1 takes all of them (about 23,000, of which
7,000 are planned).
"""

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from applied_outputs import outputs_of
from changes import Changes, changed
from committed_stacks import folder_of
from diff_edits import EDITS, diff_of, plan_of, prepared
from engine_fates import Fate, Key, fates
from program_lists import EVERY_SCHEDULER
from single_edits import SingleEdit, edits_of, stacks

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.footprint import footprint, footprint_diff, footprint_of_outputs
from gpu_fabric.changes.model import Danger, PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.changes.watched import no_losses, why_no_loss
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.prepare import prepare
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.load import read_document

_EACH = int(os.environ.get("GPU_FABRIC_EVERY_EDIT", "30"))
# The footprint of the last run is compared as well, for some of the edits.
_BY_OUTPUTS = 5
_STACKS = stacks()


def spread(stack: str) -> list[SingleEdit]:
    return edits_of(stack)[_STACKS.index(stack) % _EACH :: _EACH]


def unsaid(base: RenderedPlan, told: dict[Key, Fate], diff: PlanDiff, found: tuple[Danger, ...]) -> Iterator[str]:
    """What Pulumi deletes or replaces, and neither the difference nor the guard has a word on."""
    identities = {(entry.type, entry.name): entry.identity for entry in base.resources}
    on_cluster = {(e.type, e.name) for e in base.resources if e.provider or e.type.startswith("pulumi-python:")}
    listed = {(entry.type, entry.identity): entry for entry in diff.resources}
    named = {key for danger in found for key in (danger.key, *danger.takes)}
    networks = {name for danger in found for name in danger.networks}
    everything = any(danger.takes_a_cluster for danger in found)
    for key, fate in told.items():
        entry = listed.get((key[0], identities[key]))
        if entry is None or not _is_told(fate, entry.verdict):
            yield f"{key} is {fate}, and listed as {entry and entry.verdict}"
        elif not (
            why_no_loss(key[0], fate)
            or key in named
            or (everything and key in on_cluster)
            or (entry.component == "networks" and set(entry.networks) & networks)
        ):
            yield f"{key} is {fate}, and nothing says that it is lost, or why it is not"


def _is_told(fate: Fate, verdict: str) -> bool:
    # An immutable object of another name is one that is replaced, to its readers.
    return verdict == fate or (fate, verdict) == ("deleted", "replaced")


def invented(told: dict[Key, Fate], found: tuple[Danger, ...]) -> list[str]:
    """What the guard says of resources that Pulumi leaves alone."""
    return [one.resource for one in found if one.effect in ("deleted", "replaced") and one.key not in told]


@pytest.mark.parametrize("stack", _STACKS)
def test_nothing_is_deleted_or_replaced_without_a_word_and_nothing_else_is_said_to_be(stack: str) -> None:
    base, silent, planned = plan_of(stack, {}), [], 0
    part = spread(stack)
    for place, edit in enumerate((*part, *edits_of(stack))):
        if place >= len(part) and planned:
            break
        # Where none of the part can be planned, the next ones are tried until one can.
        plan = edit.plan()
        if plan is None:
            continue
        head, planned = rendered(plan), planned + 1
        diff, told = plan_diff(base, head), fates(base, head)
        found = dangers(diff)
        silent += [f"{edit.words}: {line}" for line in unsaid(base, told, diff, found)]
        silent += [f"{edit.words}: {name} stays" for name in invented(told, found)]
        if place % _BY_OUTPUTS == 0:
            old = footprint_of_outputs(outputs_of(prepared(stack, {})))
            assert old is not None
            kept = dangers(footprint_diff(stack, old, footprint(plan)))
            assert {one.key for one in kept} == {one.key for one in found}, edit.words
    assert silent == []
    assert planned > 0


# Edits of stacks, some of which are changed before, for the rows that the table of reviewed edits does not reach.
REACHING: tuple[tuple[str, Changes, Changes], ...] = (
    ("oke-h100", {}, {"cluster.name": "other"}),
    ("oke-a100", {}, {"cluster.access": None}),
    ("oke-h200", {}, {"cluster.access": None}),
    ("oke-a100", {}, {"cluster.tenancyId": None}),
    ("oke-a100", {}, {"cluster.pools[0].name": "blue"}),
    ("readiness", {}, {"fabric.readiness": None}),
    ("verification", {}, {"verification.enabled": False}),
    ("kueue", {}, {"software.schedulers.kueue": None}),
    ("oke-h200", {}, {"cluster.name": "other"}),
    ("externally-managed", {}, {"fabric.virtualFunctions": "daemon-set"}),
    ("ib-sriov-pkey", {}, {"software.networkOperator.namespace": "elsewhere"}),
    ("dev", {"fabric.namespaces": [{"name": "default", "share": {"nodes": 1}}]}, {}),
    ("verification", {"verification.schedule": "0 2 * * *"}, {}),
    ("dev", {"cluster.installed": ["prometheus-operator"], "monitoring.prometheusRules": True}, {}),
    ("dev", {}, {"fabric.nccl.settings.NCCL_DEBUG": "INFO"}),
)


def test_each_row_is_reached_by_an_edit() -> None:
    reached: Counter[tuple[str, str]] = Counter()
    for stack, before, after in REACHING:
        diff = plan_diff(plan_of(stack, before), plan_of(stack, after))
        reached.update((entry.type, entry.verdict) for entry in diff.resources)
    for edit in EDITS:
        reached.update((entry.type, entry.verdict) for entry in diff_of(edit).resources)
    assert [row for row in no_losses() if not reached[row]] == []


def _another_pool(document: Any) -> dict[str, Any]:
    pool = document.sections["cluster"]["pools"][-1]
    return {key: value for key, value in pool.items() if key not in ("nodeNames", "firstShare")} | {"name": "grown"}


def growths(stack: str) -> Iterator[tuple[str, Changes]]:
    """What makes a stack larger, as far as its part has it."""
    document = read_document(stack, folder_of(stack))
    sections = document.sections
    pools = sections.get("cluster", {}).get("pools", [])
    for place, pool in enumerate(pools):
        if "nodeNames" not in pool:
            yield "nodes", {f"cluster.pools[{place}].nodes": pool["nodes"] + 1}
    if pools:
        yield "a pool", {"cluster.pools": [*pools, _another_pool(document)]}
        yield (
            "a pool of other labels",
            {"cluster.pools": [*pools, {**_another_pool(document), "labels": {"example.com/more": "yes"}}]},
        )
    if "fabric" in sections:
        offered = sections["fabric"].get("namespaces", ["default"])
        yield "a namespace", {"fabric.namespaces": [*offered, {"name": "grown", "create": True}]}
    for name in EVERY_SCHEDULER:
        if name not in sections.get("software", {}).get("schedulers", {}):
            yield name, {f"software.schedulers.{name}": {}}
    if pools and "fabrics" not in sections:
        own = {"pools": ["grown"], "addressing": {"supernet": "172.30.0.0/16"}}
        yield "a fabric", {"cluster.pools": [*pools, _another_pool(document)], "fabrics": {"grown": own}}


def growth_of(stack: str) -> dict[str, RenderedPlan]:
    """The plans of what makes a stack larger; what a rule refuses is none."""
    document, found = read_document(stack, folder_of(stack)), {}
    for name, changes in growths(stack):
        try:
            found[name] = rendered(prepare(changed(document, changes), for_up=False).plan)
        except ConfigurationError:
            continue
    return found


@pytest.mark.parametrize("stack", _STACKS)
def test_growth_is_never_stopped(stack: str) -> None:
    base, grown = plan_of(stack, {}), growth_of(stack)
    stopped = {name: dangers(plan_diff(base, head)) for name, head in grown.items()}
    if any(entry.type.endswith(":SriovNetwork") for entry in base.resources):
        # One object of the operator serves one namespace: with a second one, the stack writes the networks itself.
        assert {one.type.rpartition(":")[2] for one in stopped.pop("a namespace")} == {"SriovNetwork"}
    assert {name: [one.resource for one in found] for name, found in stopped.items() if found} == {}
    assert grown
