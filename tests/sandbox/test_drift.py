"""A stack that was changed by hand: what the engine's refresh finds, and what the comparison with the cluster does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from driver import POLICY, STACK, Sandbox, until

from gpu_fabric.spec.load import stack_file
from sandbox.home import project_root

GPU, NETWORK = "gpu-operator", "nvidia-network-operator"
PLUGIN = f"/apis/apps/v1/namespaces/{GPU}/daemonsets/nvidia-device-plugin-daemonset"
ACCOUNT = f"/api/v1/namespaces/{GPU}/serviceaccounts/nvidia-dcgm-exporter"
POOL = f"/apis/nv-ipam.nvidia.com/v1alpha1/namespaces/{NETWORK}/ippools/rail-03"
Json = dict[str, Any]


def _without_versions(document: Json) -> Json:
    metadata = {
        key: document["metadata"][key]
        for key in ("name", "namespace", "labels", "annotations")
        if key in document["metadata"]
    }
    return {**{key: value for key, value in document.items() if key != "status"}, "metadata": metadata}


@pytest.fixture
def by_hand(stack_up: Sandbox) -> Iterator[Callable[[str, Json | None], None]]:
    """Changes or deletes an object by its path; all are put back as they were."""
    before: list[tuple[str, Json]] = []

    def change(path: str, patch: Json | None) -> None:
        before.append((path, stack_up.api.get(path)))
        if patch is None:
            stack_up.api.delete(path)
        else:
            stack_up.api.patch(path, patch)

    yield change
    for path, document in reversed(before):
        collection, _, name = path.rpartition("/")
        if any(item["metadata"]["name"] == name for item in stack_up.items(collection)):
            added = stack_up.api.get(path)["spec"].keys() - document["spec"].keys()
            stack_up.api.patch(path, {"spec": {**dict.fromkeys(added), **document["spec"]}})
        else:
            stack_up.api.post(collection, _without_versions(document))


def _look(sandbox: Sandbox) -> list[dict[str, Any]]:
    """What the workflow pipes the stack's kubeconfig into."""
    command = [sys.executable, "-m", "gpu_fabric", "drift", "-s", STACK, "--kubeconfig", "-", "--format", "json"]
    text = sandbox.home.kubeconfig.read_text()
    environment = {**sandbox.environment, "KUBECTL": str(sandbox.home.root / "bin" / "kubectl")}
    done = subprocess.run(command, cwd=project_root(), env=environment, input=text, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    assert done.returncode == bool(found)
    return found


def _rules(found: list[dict[str, Any]]) -> list[str]:
    return [entry["id"] for entry in found]


def _refresh(sandbox: Sandbox) -> subprocess.CompletedProcess[str]:
    """The engine's part of the workflow's check, on the sandbox's state of the stack."""
    file = sandbox.workspace.stack_config(STACK, stack_file(STACK, project_root()), None)
    options = ["--stack", STACK, "--config-file", str(file), "--non-interactive", "--color", "never"]
    return subprocess.run(
        [sandbox.workspace.command, "refresh", *options, "--preview-only", "--expect-no-changes"],
        cwd=project_root(),
        env=sandbox.workspace.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def _updated(output: str) -> list[str]:
    """Names of resources that a refresh would write anew."""
    return [line.split()[2] for line in output.splitlines() if " update [diff: " in line]


def test_after_up_neither_the_refresh_nor_the_comparison_with_the_cluster_finds_anything(stack_up: Sandbox) -> None:
    refreshed = _refresh(stack_up)
    assert refreshed.returncode == 0, refreshed.stdout
    until(lambda: _look(stack_up) == [], "every node has its share")


def test_an_object_that_the_stack_makes_itself_is_found_by_the_refresh_and_with_who_changed_it_here(
    stack_up: Sandbox, by_hand: Callable[[str, Json | None], None]
) -> None:
    by_hand(POOL, {"spec": {"exclusions": [{"startIP": "192.168.48.200", "endIP": "192.168.48.210"}]}})
    by_hand(POLICY, {"spec": {"sriovDevicePlugin": {"version": "v0"}}})
    refreshed, looked = _refresh(stack_up), _look(stack_up)
    assert refreshed.returncode != 0
    assert "nic-cluster-policy" in " ".join(_updated(refreshed.stdout))
    assert "no changes were expected for refresh" in refreshed.stdout + refreshed.stderr
    assert sorted(_rules(looked)) == ["DRI002", "DRI003"]
    changed = next(entry for entry in looked if entry["id"] == "DRI002")
    assert changed["seen"][0]["field"] == "spec.sriovDevicePlugin.version"
    # The test's client states no name.
    assert changed["seen"][0]["value"].startswith("by unknown at 20")


def test_what_a_release_hides_from_the_refresh_is_named_field_by_field(
    stack_up: Sandbox, by_hand: Callable[[str, Json | None], None]
) -> None:
    containers = stack_up.api.get(PLUGIN)["spec"]["template"]["spec"]["containers"]
    [name, image] = [containers[0]["name"], containers[0]["image"]]
    changed = [{**containers[0], "image": "elsewhere/plugin:1"}, *containers[1:]]
    by_hand(PLUGIN, {"spec": {"template": {"spec": {"containers": changed}}}})
    by_hand(ACCOUNT, None)
    found = _look(stack_up)
    assert [(entry["id"], entry["message"].partition(": ")[2]) for entry in found] == [
        ("DRI013", ""),
        ("DRI014", f"spec.template.spec.containers[{name}].image is 'elsewhere/plugin:1' instead of '{image}'"),
    ]
    assert found[0]["seen"][0]["object"] == f"ServiceAccount {GPU}/nvidia-dcgm-exporter"
    assert _refresh(stack_up).returncode == 0
    assert stack_up.api.get(PLUGIN)["spec"]["template"]["spec"]["containers"][0]["image"] == "elsewhere/plugin:1"
