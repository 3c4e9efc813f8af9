"""Edits of one key, previewed by the engine on a state as `up` leaves it: it deletes what the guard is held against.

Nothing of the truth table depends on `deletedWith`: by Pulumi 3.259.0 (resource/deploy/step.go, `DeleteStep.Apply`) it
only saves the provider's call, and the step is there as any other. As JSON, a preview leaves out the steps of what is
replaced with something else unless it is asked for them (backend/display/display.go, `shouldShow`).
"""

import json
import re
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest
from diff_edits import plan_of
from engine_fates import DYNAMIC, fates, replaces_of_class
from previews import Engine
from single_edits import SingleEdit, edits_of
from stub_cluster import KUBECONFIG

from gpu_fabric.findings import ConfigurationError
from gpu_fabric.prepare import prepare
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.kubeconfig import cluster_identity
from gpu_fabric.spec.load import stack_file
from sandbox.cloud.store import Store
from sandbox.home import project_root

# A preview asks no cluster of these: where one exists and does not answer, objects are replaced by that alone.
STACKS = ("doks-h200", "doks-mi325x", "doks-b300", "oke-h200")
_EACH = 10
# Of these, `make test` looks at two edits each: one stack of each cloud.
_BY_DAY = ("doks-h200", "oke-h200")
# The id of each resource, as Oracle writes that of a cluster.
_KNOWN = "ocid1.cluster.oc1.iad.known"
# What the engine writes in a preview in the place of an id that is not known yet.
_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_ORACLES = "oci:ContainerEngine/cluster:Cluster"
# What a program reads of a resource in addition to its inputs and its id.
_OUTPUTS = {"oci:Core/vcn:Vcn": {"defaultSecurityListId": _KNOWN}}
# What is deleted before its cluster is replaced has a step of its own, and another one where it comes back.
_GONE = {"delete": "deleted", "delete-replaced": "deleted", "replace": "replaced", "create-replacement": "replaced"}


def _can_be_brought_up(edit: SingleEdit) -> bool:
    """Whether an edit that is planned is not refused by a preview: some choices can only be planned yet."""
    try:
        prepare(edit.document(), for_up=True)
    except ConfigurationError:
        return False
    return True


@cache
def drawn(stack: str) -> list[SingleEdit]:
    """Edits that are planned, most of which delete or replace something."""
    chance, found = Random(f"previews of {stack}"), []  # noqa: S311  # tests, not secrets
    base = plan_of(stack, {})
    for edit in chance.sample(edits := edits_of(stack), len(edits)):
        # The file leads to another cluster, which a preview asks.
        if edit.place[0] == "cluster" and edit.place[-1] in ("id", "kubeconfig", "context", "provider"):
            continue
        plan = edit.plan()
        if plan is not None and _can_be_brought_up(edit) and (fates(base, rendered(plan)) or len(found) < _EACH // 3):
            found.append(edit)
        if len(found) == _EACH:
            break
    return found


def bring_up(engine: Engine, stack: str) -> None:
    """Give the stack the state of its resources as its `up` would leave it: every input is an output, too."""
    preview = engine.preview(stack_file(stack, project_root()))
    assert preview.status == 0, preview.printed
    text = json.dumps([step["newState"] for step in preview.digest["steps"]])
    # A preview shows neither the kubeconfig nor the id that is derived from it.
    known = json.dumps(cluster_identity(KUBECONFIG, None))
    text = re.sub(r'("cluster(?:Identifier)?": )"\[secret\]"', lambda found: found[1] + known, text)
    text = text.replace(_UNKNOWN, _KNOWN).replace('"[secret]"', json.dumps(KUBECONFIG))
    states: list[dict[str, Any]] = json.loads(text)
    kept = ("urn", "type", "custom", "parent", "inputs", "provider", "dependencies", "propertyDependencies")
    # Without `protect`, at which the engine would end instead of saying what it replaces.
    options = ("retainOnDelete", "deletedWith")
    resources = [
        {key: state[key] for key in (*kept, *options) if key in state}
        | (
            {"id": _KNOWN, "outputs": state.get("inputs", {}) | _OUTPUTS.get(state["type"], {})}
            if state["custom"]
            else {}
        )
        for state in states
    ]
    # The digest leaves out the engine's own provider of dynamic resources.
    named = {f"{one['urn']}::{_KNOWN}" for one in resources}
    for provider in sorted({one["provider"] for one in resources if one.get("provider")} - named):
        urn = provider.removesuffix(f"::{_KNOWN}")
        resources.insert(1, {"urn": urn, "custom": True, "id": _KNOWN, "type": urn.split("::")[2], "inputs": {}})
    for one in resources:
        if one["type"] == _ORACLES:
            # A preview asks Oracle for the kubeconfig of a cluster that is there.
            known = {"id": _KNOWN, "inputs": one["inputs"], "endpoint": "https://10.0.0.1:6443", "authority": "none"}
            Store(engine.workspace.home.cloud / "oci").add("cluster", known)
    exported = json.loads(engine.run(["stack", "export", "--stack", stack], engine.workspace.stacks).stdout)
    exported["deployment"]["resources"] = resources
    file = engine.folder / f"{stack}-up.json"
    file.write_text(json.dumps(exported))
    done = engine.run(["stack", "import", "--stack", stack, "--file", str(file)], engine.workspace.stacks)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def brought_up(engine: Engine) -> Callable[[str], None]:
    """Brings a stack up, each once."""
    return cache(lambda stack: bring_up(engine, stack))


def removed_by_engine(engine: Engine, stack: str, edit: SingleEdit) -> dict[tuple[str, str], str]:
    """What the engine says that it deletes and replaces."""

    def change(config: dict[str, Any]) -> None:
        sections = edit.document().sections
        if sections["cluster"]["provider"] == "existing":
            sections["cluster"]["kubeconfig"] = str(engine.kubeconfig)
        if sections.get("split", {}).get("part") != "cluster":
            sections.setdefault("software", {})["charts"] = "bundled"
        config.clear()
        config |= {f"gpu-fabric:{key}": value for key, value in sections.items()}

    preview = engine.preview(stack_file(stack, project_root()), change, "--show-replacement-steps")
    assert preview.status == 0, f"{edit.words}: {preview.printed}"
    said: dict[tuple[str, str], str] = {}
    for step in sorted(preview.digest["steps"], key=lambda step: _GONE.get(step["op"]) == "replaced"):
        _, _, kinds, name = step["urn"].split("::")
        kind = kinds.rpartition("$")[2]
        # How the engine reaches a cluster, and what only groups resources, is no resource of a plan.
        if step["op"] in _GONE and not kind.startswith(("pulumi:providers:", "gpu-fabric:")):
            said[kind, name] = _GONE[step["op"]]
        # A preview does not know the id of a cluster that is replaced, and calls it an update. During `up` the engine
        # asks the resource's own program again, with the id of another cluster.
        elif kind.startswith(DYNAMIC) and step["newState"]["inputs"].get("cluster") == _UNKNOWN:
            there = {**step["newState"]["inputs"], "cluster": "of another cluster"}
            if "cluster" in replaces_of_class(kind.removeprefix(DYNAMIC), step["oldState"]["inputs"], there):
                said[kind, name] = "replaced"
    return said


def assert_agrees(engine: Engine, stack: str, edit: SingleEdit) -> None:
    plan = edit.plan()
    assert plan is not None
    assert removed_by_engine(engine, stack, edit) == fates(plan_of(stack, {}), rendered(plan)), edit.words


@pytest.mark.parametrize("stack", _BY_DAY)
def test_the_engine_deletes_and_replaces_what_the_guard_is_held_against(
    engine: Engine, brought_up: Callable[[str], None], stack: str
) -> None:
    brought_up(stack)
    # The last ones all delete or replace something.
    for edit in drawn(stack)[-2:]:
        assert_agrees(engine, stack, edit)


@pytest.mark.parametrize("number", range(_EACH))
@pytest.mark.parametrize("stack", STACKS)
def test_the_engine_agrees_on_every_drawn_edit(
    engine: Engine, brought_up: Callable[[str], None], stack: str, number: int
) -> None:
    brought_up(stack)
    assert_agrees(engine, stack, drawn(stack)[number])
