"""Every key of the schema, changed on a stack of each kind, gives another plan or a finding: nothing is read in vain.

The plan is what a user gets of it: resources, waits, files, contract, report, findings, and what `gpu-fabric alarms`
writes. `silent_keys.yaml` has the keys that may change nothing, each with its reason.

Each key is looked at on one of the stacks, and one of the section `cluster` on one stack of each provider; with
GPU_FABRIC_EVERY_EDIT=1 in the environment on all of them.
"""

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import pytest
import yaml
from committed_stacks import folder_of
from single_edits import KeyEdits, SingleEdit, edits_by_key, stacks

from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan.choices import Choices
from gpu_fabric.prepare import PlannedStack, prepare
from gpu_fabric.render.alarms import alarm_files, watched_fabrics
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.places import dotted

_EVERY = os.environ.get("GPU_FABRIC_EVERY_EDIT") == "1"
# Rules about the form of a value: what they refuse says nothing of its key.
_OF_FORMS = "SPC"


# One of each kind; a test finds a kind without one.
STACKS = (
    *("doks-b300", "doks-split-cluster", "doks-split-platform", "dranet-kueue", "dranet-oke"),
    *("oke-a100", "oke-h100", "oke-split-cluster", "oke-split-platform"),
    *("existing-operators", "externally-managed", "guide-23-10", "host-network", "ib-sriov", "ib-sriov-pkey", "ipoib"),
    *("kueue", "mi300x-macvlan", "roce-macvlan", "spiderpool-ib", "spiderpool-ipoib", "spiderpool-sriov"),
    *("sriov-dpdk", "sriov-whereabouts", "storage-fabric", "two-machines", "two-machines-operators", "whereabouts"),
    *("eks-efa", "gke-rdma"),
)


# Of a kind of their own, where these sections alone have keys that no other stack above has a use for.
IN_PART = {
    "dranet-two-fabrics": ("fabric.claims", "fabrics", "software.dranet", "software.gpuDraDriver"),
    "mi355x-pollara": ("software.amdGpuOperator", "software.amdNetworkOperator"),
}


def kind(stack: str) -> tuple[object, ...]:
    """What decides which keys a stack has a use for."""
    plan = prepare(read_document(stack, folder_of(stack)), for_up=False).plan
    of: Choices = plan.choices
    purposes = frozenset(fabric.purpose for fabric in plan.fabrics)
    return (of.provider, of.manager, of.model, of.virtual_functions, of.ipam, plan.part, purposes)


class SilentKey(NamedTuple):
    """Keys that may change nothing: `*` is any text, `after` the stack's name and what was written before."""

    key: str
    why: str
    after: str = "*"


SILENT = [SilentKey(**row) for row in yaml.safe_load(Path(__file__).with_name("silent_keys.yaml").read_text())]


Effect = Callable[[PlannedStack], object]
# What a user gets of a stack file. Texts of alarms take as long to write as all else: they are asked last.
EFFECTS: tuple[Effect, ...] = (
    lambda found: found.plan.findings,
    lambda found: rendered(found.plan),
    lambda found: {} if found.plan.part == "cluster" else alarm_files(watched_fabrics(found.spec)),
)


def silence(edits: KeyEdits, had: Callable[[Effect], object]) -> list[SingleEdit]:
    """The edits of a key that change the spec and nothing else; none where another edit has an effect."""
    silent = []
    for edit in edits.edits:
        try:
            found = prepare(edit.document(), for_up=False)
        except ConfigurationError as error:
            if any(not finding.id.startswith(_OF_FORMS) for finding in error.findings):
                return []
            continue
        if found.spec == edits.base.spec:
            continue
        # `gpu-fabric alarms` reads what the plan has no use for.
        may_differ = found.plan != edits.base.plan or edits.key.startswith("monitoring.")
        if may_differ and any(effect(found) != had(effect) for effect in EFFECTS):
            return []
        if dotted(edit.place) in {finding.path for finding in found.plan.findings}:
            return []
        silent.append(edit)
    return silent


def is_excused(edits: KeyEdits) -> bool:
    return any(fnmatchcase(edits.key, row.key) and fnmatchcase(edits.before, row.after) for row in SILENT)


@cache
def _provider(stack: str) -> str:
    return str(read_document(stack, folder_of(stack)).sections.get("cluster", {}).get("provider"))


def chosen(stack: str, key: str) -> bool:
    """Whether a key is looked at on a stack."""
    if stack in IN_PART:
        return key.startswith(IN_PART[stack])
    alike = [name for name in STACKS if not key.startswith("cluster.") or _provider(name) == _provider(stack)]
    return _EVERY or alike[crc32(key.encode()) % len(alike)] == stack


@pytest.mark.parametrize("stack", [*STACKS, *IN_PART])
def test_every_key_changes_the_plan_or_is_said_to_change_nothing(stack: str) -> None:
    bases: dict[str, PlannedStack] = {}
    effects = cache(lambda before, effect: effect(bases[before]))
    silent = []
    for edits in edits_by_key(stack, partial(chosen, stack)):
        bases[edits.before] = edits.base
        if not is_excused(edits):
            silent += silence(edits, partial(effects, edits.before))

    assert [edit.words for edit in silent] == []


def test_the_stacks_are_one_of_each_kind() -> None:
    kinds = {stack: kind(stack) for stack in stacks() if stack not in IN_PART}

    assert {found: stack for stack, found in kinds.items() if found not in {kinds[name] for name in STACKS}} == {}
    assert len({kinds[name] for name in STACKS}) == len(STACKS)
