"""`kill -9` in the middle of `up`: the next `make up` converges, with nothing doubled and nothing lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from driver import STACK, Sandbox, until
from stack_plans import stack_plan

from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError


def begun(sandbox: Sandbox, path: str) -> bool:
    """Whether an object is there already; an API server that is just away does not count."""
    try:
        return bool(sandbox.items(path))
    except ApiError:
        return False


def helm_is_installing(sandbox: Sandbox) -> bool:
    """The first release has been begun and is not done."""
    return begun(sandbox, "/api/v1/namespaces/gpu-operator/secrets")


def networks_are_being_made(sandbox: Sandbox) -> bool:
    """Some of the networks exist; the engine is in the middle of many parallel creations."""
    return begun(sandbox, "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions")


def recorded_pid(sandbox: Sandbox, file: str) -> int:
    return int(json.loads((sandbox.home.root / file).read_text())["pid"])


def assert_whole(sandbox: Sandbox) -> None:
    """Every planned object exists once, every release is deployed once, the engine's record says the same."""
    plan = stack_plan(STACK, project_root())
    kinds = {(e.object.group(), e.object.api_version.rpartition("/")[2], e.object.plural) for e in plan.objects}
    found: list[tuple[str, str]] = []
    for group, version, plural in sorted(kinds):
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        found += [(plural, entry["metadata"]["name"]) for entry in sandbox.items(f"{root}/{plural}")]
    planned = sorted((entry.object.plural, entry.name) for entry in plan.objects)
    # Of these kinds the operators and the cluster have others of their own.
    shared = ("namespaces", "configmaps", "daemonsets")
    ours = [entry for entry in sorted(found) if entry[0] not in shared or entry in planned]
    assert ours == planned
    releases = [s["metadata"]["labels"] for s in sandbox.items("/api/v1/secrets") if s["type"].startswith("helm.sh")]
    assert sorted((r["name"], r["status"]) for r in releases if r["status"] != "superseded") == [
        ("gpu-operator", "deployed"),
        ("network-operator", "deployed"),
    ]
    state = sandbox.state()
    urns = [resource["urn"] for resource in state.resources]
    assert state.pending == ()
    assert len(urns) == len(set(urns))
    assert [resource["urn"] for resource in state.resources if resource.get("delete")] == []


def kill(sandbox: Sandbox, running: subprocess.Popen[bytes]) -> None:
    """The engine and the command are gone at once."""
    os.kill(recorded_pid(sandbox, "pulumi/run-engine.json"), signal.SIGKILL)
    running.kill()
    running.wait()


@pytest.mark.parametrize("moment", [helm_is_installing, networks_are_being_made])
def test_up_converges_after_pulumi_was_killed(stack_down: Sandbox, moment: Callable[[Sandbox], bool]) -> None:
    running = stack_down.start("pulumi", "up", "-s", STACK)
    until(lambda: moment(stack_down), f"the run reaches: {moment.__name__}")
    kill(stack_down, running)
    printed = stack_down.up()
    assert "mended: " in printed
    assert_whole(stack_down)
    assert "unchanged" in stack_down.up()


def test_up_converges_after_the_api_server_was_killed(stack_down: Sandbox) -> None:
    running = stack_down.start("pulumi", "up", "-s", STACK)
    until(lambda: helm_is_installing(stack_down), "the run reaches the first release")
    psutil.Process(recorded_pid(stack_down, "pids/kube-apiserver.json")).kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(timeout=60)
    if running.poll() is None:
        # Helm watches the Job of a chart's hook until the release's time limit, whatever becomes of the API server: who
        # sees that ends the run.
        kill(stack_down, running)
    assert "starting kube-apiserver" in stack_down.run("up", "-s", STACK)
    stack_down.up()
    assert_whole(stack_down)
    assert "unchanged" in stack_down.up()


def test_destroy_after_an_interrupted_up_leaves_nothing(stack_down: Sandbox) -> None:
    running = stack_down.start("pulumi", "up", "-s", STACK)
    until(lambda: helm_is_installing(stack_down), "the run reaches the first release")
    kill(stack_down, running)
    # the backend would write this file in place, where a kill may strike
    assert list(stack_down.workspace.backend.glob("**/*.attrs")) == []
    stack_down.run("pulumi", "destroy", "-s", STACK)
    namespaces: set[Any] = {entry["metadata"]["name"] for entry in stack_down.items("/api/v1/namespaces")}
    assert namespaces == {"default", "kube-node-lease", "kube-public", "kube-system"}
