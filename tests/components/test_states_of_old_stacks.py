"""`up` over a state of an older version plans no change: the engine finds each resource, its type and its inputs.

`states/` was written once, at commit 4e0fd30, from what `pulumi stack export` said of two stacks that were up on the
sandbox: the stack file's sections in the first line, then a resource a line. It lacks secrets, values that another
cluster has otherwise, inputs that the Kubernetes plug-in adds, outputs, and a verification's script. `lived-in` has the
dynamic resources, whose provider the engine loads from its serialized form in the state. Never written anew.

The engine's own preview of `lived-in`, on the sandbox that this commit had brought up, said the same on 2026-11-29: 62
resources unchanged, the namespace below with other labels, and the verification run again for its script has changed.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from programs import run_program
from recording import Recording, Registration

STATES = sorted(Path(__file__).with_name("states").glob("*.jsonl"))
# Inputs that the state's reader cannot compare, and one that tells the Kubernetes plug-in how to read the others.
NOT_WRITTEN = {"kubeconfig", "cluster", "clusterIdentifier", "planned", "outcome", "__provider", "compat"}
# What a version after that commit changed on purpose: an update of the object, each with its entry in CHANGELOG.md.
CHANGED = {
    ("cni-plugins-fabric-cni-plugins-nvidia-network-operator", "spec"): "images are named with their digests",
    ("namespaces-kueue-system", "metadata"): "the namespace has labels of Pod Security",
}


def _urn(entry: Registration, components: dict[str, Registration]) -> str:
    """The engine's name of a resource, from the types above it to its own."""
    types, above = [entry.type], entry.parent
    while above in components:
        types.insert(0, components[above].type)
        above = components[above].parent
    return f"{'$'.join(types)}::{entry.name}"


def _as_in_a_state(entry: Registration, components: dict[str, Registration]) -> dict[str, Any]:
    sent = {key: value for key, value in entry.inputs.items() if key not in NOT_WRITTEN and value not in (None, False)}
    of_python = entry.type.startswith("pulumi-python:dynamic/")
    found = {
        "urn": _urn(entry, components),
        "parent": entry.parent,
        # The engine makes the provider of dynamic resources by itself.
        "provider": "default" if of_python else entry.provider,
        "retainOnDelete": entry.retain_on_delete,
        "protect": entry.protect,
        "replaceOnChanges": sorted(entry.replace_on_changes),
        "serialized": entry.inputs.get("__provider"),
        "inputs": sent,
    }
    return {key: value for key, value in found.items() if value}


@pytest.fixture(scope="module", params=STATES, ids=lambda path: path.stem)
def before_and_now(request: pytest.FixtureRequest, kubeconfig: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The resources of a state, and those that the same stack file's program registers today, by their URNs."""
    head, *lines = map(json.loads, request.param.read_text(encoding="utf-8").splitlines())
    head["config"]["gpu-fabric:cluster"]["kubeconfig"] = str(kubeconfig)
    recorded: Recording = run_program(request.param.stem, head["config"])
    components = {entry.name: entry for entry in recorded.resources if not entry.custom}
    now = [_as_in_a_state(entry, components) for entry in recorded.resources]
    return {entry["urn"]: entry for entry in lines}, {entry["urn"]: entry for entry in now}


def test_no_resource_of_an_old_state_is_deleted_created_or_of_another_type(
    before_and_now: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    before, now = before_and_now

    assert before.keys() == now.keys()


def test_no_resource_of_an_old_state_changes_but_for_what_a_version_changed_on_purpose(
    before_and_now: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    before, now = before_and_now
    differing = {
        (urn.rpartition("::")[2], key)
        for urn, entry in before.items()
        for key, mine, yours in _sides(entry, now[urn])
        if mine != yours
    }

    assert differing <= CHANGED.keys()


def _sides(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Each property of a resource with its value in a state and today, and each of its inputs."""
    pairs = ((before, now), (before.get("inputs", {}), now.get("inputs", {})))
    return [(key, one.get(key), two.get(key)) for one, two in pairs for key in one | two if key != "inputs"]
