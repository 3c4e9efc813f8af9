"""Which cluster a run is on, where the stack does not make it: held against the last run's."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pulumi
import pytest
from changes import changed
from fake_api_server import serving
from programs import ANSWERS, ROOT, STACKS, Config, run_program, stack_config
from recording import Recording, World, record

from gpu_fabric.changes.footprint import unpack
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from stacks.shared_cluster import sharing_refusal

pytestmark = pytest.mark.components

TODAY = date(2026, 11, 22)
TOKEN = "a-token-that-no-message-repeats"
MOVED = "cluster-kubernetes: would change while it is in use"
STAYING = {"resource": "cluster-kubernetes", "expires": "2026-11-30", "reason": "staging it is"}
# One with pools of addresses and networks, one whose pods use the hosts' own network, and one with an own IPAM.
ON_EXISTING = ("dev", "host-network", "spiderpool-macvlan")


def merged(current: str, **servers: str) -> str:
    """A kubeconfig of several clusters, by the names of their contexts."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": current,
            "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in servers],
            "clusters": [{"name": name, "cluster": {"server": server}} for name, server in servers.items()],
            "users": [{"name": "me", "user": {"token": TOKEN}}],
        }
    )


BOTH = {"prod": "https://prod:6443", "staging": "https://staging:6443"}


class Runs:
    """Runs of a stack one after another, each held against what the one before gave out."""

    def __init__(self, folder: Path, stack: str = "dev") -> None:
        self.kubeconfig = folder / "kubeconfig"
        self.stack = stack
        self.outputs: dict[str, Any] = {}

    def config(self, cluster: dict[str, Any], acknowledge: tuple[dict[str, str], ...]) -> Config:
        config = deepcopy(stack_config(STACKS[self.stack], self.kubeconfig))
        config["gpu-fabric:cluster"] = {**config["gpu-fabric:cluster"], **cluster}
        return {**config, "gpu-fabric:guard": {"acknowledge": list(acknowledge)}}

    def up(self, text: str, *acknowledge: dict[str, str], preview: bool = False, **cluster: str) -> Recording:
        self.kubeconfig.write_text(text)
        world = World(ANSWERS, self.outputs)
        config = self.config(cluster, acknowledge)
        found = run_program(self.stack, config, world=world, today=TODAY, preview=preview)
        self.outputs = found.outputs
        return found

    def refused(self, text: str, *, preview: bool = False, **cluster: str) -> str:
        """Why a run is refused, which has registered nothing unless it is a preview."""
        self.kubeconfig.write_text(text)
        recording, world = Recording(), World(ANSWERS, self.outputs)
        config = self.config(cluster, ())
        with pytest.raises(pulumi.RunError) as refusal:
            run_program(self.stack, config, world=world, today=TODAY, recording=recording, preview=preview)
        assert preview == bool(recording.resources)
        assert TOKEN not in str(refusal.value)
        return str(refusal.value)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """The dev stack, brought up on one of two clusters."""
    found = Runs(tmp_path)
    found.up(merged("prod", **BOTH))
    return found


@pytest.mark.parametrize("stack", ON_EXISTING)
@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_a_switched_context_is_refused_with_both_ways_back(tmp_path: Path, stack: str, preview: bool) -> None:
    runs = Runs(tmp_path, stack)
    runs.up(merged("prod", **BOTH))
    text = runs.refused(merged("staging", **BOTH), preview=preview)
    assert MOVED in text
    assert "the kubeconfig leads to another cluster than in the last run" in text
    assert "This run's kubeconfig leads to context staging, server https://staging:6443." in text
    assert "write `context: prod` under `gpu-fabric:cluster`" in text
    assert f"write `id: {runs.outputs['clusterId']}` under `gpu-fabric:cluster`" in text
    assert "    - resource: cluster-kubernetes" in text


@pytest.mark.parametrize(
    "other",
    [
        {"prod": "https://elsewhere:6443"},
        {"prod": "https://prod:6444"},
        {"prod": "https://127.0.0.1:9", "another": "https://x"},
    ],
    ids=["another file", "another port", "a cluster that does not answer"],
)
def test_whatever_leads_to_another_address_is_refused(runs: Runs, other: dict[str, str]) -> None:
    assert MOVED in runs.refused(merged("prod", **other))


def test_another_context_in_the_stack_file_is_refused(runs: Runs) -> None:
    assert MOVED in runs.refused(merged("prod", **BOTH), context="staging")


def test_the_way_back_by_context_passes_whatever_is_current(runs: Runs, caplog: pytest.LogCaptureFixture) -> None:
    assert runs.up(merged("staging", **BOTH), context="prod").resources
    assert "CLU011" not in caplog.text


def test_the_same_cluster_at_another_address_passes_by_its_id_which_is_said_once(
    runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    known = runs.outputs["clusterId"]
    moved = merged("prod", prod="https://load-balancer:6443")
    assert runs.up(moved, id=known).outputs["clusterId"] == known
    assert (
        "leads to another address than in the last run: context prod, server https://load-balancer:6443" in caplog.text
    )
    caplog.clear()
    runs.up(moved, id=known)
    assert "another address" not in caplog.text


def test_another_written_id_is_refused_with_the_id_of_the_last_run(runs: Runs) -> None:
    text = runs.refused(merged("prod", **BOTH), id="mine")
    assert f"cluster.id: {runs.outputs['clusterId']} → mine" in text


def test_an_id_that_is_no_longer_written_is_refused(runs: Runs) -> None:
    runs.up(merged("prod", **BOTH), STAYING, id="mine")
    assert "cluster.id: mine → " in runs.refused(merged("prod", **BOTH))


def test_a_move_on_purpose_passes_and_is_what_the_next_run_is_held_against(runs: Runs) -> None:
    runs.up(merged("staging", **BOTH), STAYING)
    assert runs.up(merged("staging", **BOTH)).resources
    assert MOVED in runs.refused(merged("prod", **BOTH))


def test_renewed_credentials_and_an_own_file_of_the_context_are_the_same_cluster(runs: Runs) -> None:
    assert runs.up(merged("prod", **BOTH).replace(TOKEN, "a-later-token")).resources
    assert runs.up(merged("only", only=BOTH["prod"])).resources


def test_a_record_of_an_older_version_is_held_against_the_cluster_as_well(runs: Runs) -> None:
    applied = unpack(runs.outputs["applied"])
    del applied["address"]
    runs.outputs["applied"] = applied
    assert MOVED in runs.refused(merged("staging", **BOTH))
    assert runs.up(merged("prod", **BOTH)).resources


def test_a_run_says_where_it_is_and_what_leaves_that_open(runs: Runs, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    caplog.clear()
    runs.up(merged("prod", **BOTH))
    assert caplog.messages[0].startswith("CLU011 gpu-fabric:cluster.context: ")
    assert "cluster: context prod, server https://prod:6443" in caplog.messages


@pytest.fixture
def by_secret(runs: Runs) -> Callable[[str | None], Recording]:
    """A run of the stack whose kubeconfig is a secret of the configuration."""

    def run(text: str | None) -> Recording:
        config = runs.config({"kubeconfigSecret": "access"}, ())
        del config["gpu-fabric:cluster"]["kubeconfig"]
        secrets = {} if text is None else {"gpu-fabric:access": text}
        return run_program("dev", config, secrets, world=World(ANSWERS, runs.outputs), today=TODAY)

    return run


def test_a_kubeconfig_of_a_secret_is_held_against_the_last_run_as_well(
    by_secret: Callable[[str | None], Recording], caplog: pytest.LogCaptureFixture
) -> None:
    assert by_secret(merged("prod", **BOTH)).resources
    assert "the secret access has contexts of several clusters (prod, staging)" in caplog.text
    with pytest.raises(pulumi.RunError, match=MOVED):
        by_secret(merged("staging", **BOTH))


@pytest.mark.parametrize("text", [None, "", "no: kubeconfig", merged("nowhere", **BOTH)])
def test_a_secret_that_is_no_kubeconfig_ends_the_run_with_its_name(
    by_secret: Callable[[str | None], Recording], text: str | None
) -> None:
    with pytest.raises(pulumi.RunError, match="gpu-fabric:access") as refusal:
        by_secret(text)
    assert TOKEN not in str(refusal.value)


@pytest.mark.parametrize("stack", ["oke-h100", "oke-h200"])
def test_who_relies_on_others_operators_on_a_cluster_of_ones_own_is_told_what_it_lacks(stack: str) -> None:
    theirs = {"software.networkOperator": {"install": False, "policy": "theirs"}}
    plan = prepare(changed(read_document(stack, ROOT), theirs), for_up=False)
    said: list[str] = []

    def look(outputs: dict[str, Any]) -> str:
        record(lambda: said.append(sharing_refusal(plan, ROOT)), stack=stack, world=World(ANSWERS, outputs))
        return said.pop()

    with serving() as server:
        text = look({"kubeconfig": server.kubeconfig(TOKEN), "applied": "{}"})
    assert "Network Operator: the cluster has no definition ippools.nv-ipam.nvidia.com" in text
    assert server.bearers == {TOKEN}
    with pytest.raises(pulumi.RunError, match=r"has created no cluster yet; a first `up` with install: true"):
        look({})
