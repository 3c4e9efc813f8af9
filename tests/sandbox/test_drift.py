"""A stack that was changed by hand: what the engine's refresh finds, and what only the look into its releases does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from driver import STACK, Sandbox

from gpu_fabric.spec.load import stack_file
from sandbox.home import project_root

pytestmark = pytest.mark.sandbox

GPU, NETWORK = "gpu-operator", "nvidia-network-operator"
PLUGIN = f"/apis/apps/v1/namespaces/{GPU}/daemonsets/nvidia-device-plugin-daemonset"
ACCOUNT = f"/api/v1/namespaces/{GPU}/serviceaccounts/nvidia-dcgm-exporter"
POOL = f"/apis/nv-ipam.nvidia.com/v1alpha1/namespaces/{NETWORK}/ippools/rail-03"
SECRET = f"/api/v1/namespaces/{GPU}/secrets"
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
            stack_up.api.patch(path, {"spec": document["spec"]})
        else:
            stack_up.api.post(collection, _without_versions(document))


def _look(sandbox: Sandbox) -> subprocess.CompletedProcess[str]:
    """What the workflow pipes the stack's kubeconfig into."""
    command = [sys.executable, "-m", "stacks.drift", "-s", STACK, "--kubeconfig", "-"]
    text = sandbox.home.kubeconfig.read_text()
    return subprocess.run(command, cwd=project_root(), input=text, capture_output=True, text=True)


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


def test_after_up_neither_the_refresh_nor_the_look_into_the_releases_finds_anything(stack_up: Sandbox) -> None:
    refreshed, looked = _refresh(stack_up), _look(stack_up)
    assert (refreshed.returncode, looked.returncode) == (0, 0), refreshed.stdout + looked.stdout + looked.stderr
    assert f"stack {STACK}: no drift" in looked.stdout
    assert looked.stdout.count("all as its chart wrote them") == 2


def test_an_object_that_the_stack_makes_itself_is_found_by_the_refresh_and_no_other_is(
    stack_up: Sandbox, by_hand: Callable[[str, Json | None], None]
) -> None:
    by_hand(POOL, {"spec": {"perNodeBlockSize": 7}})
    refreshed = _refresh(stack_up)
    assert refreshed.returncode != 0
    assert _updated(refreshed.stdout) == [f"ip-pools-rail-03-{NETWORK}"]
    assert "no changes were expected for refresh" in refreshed.stdout + refreshed.stderr
    assert _look(stack_up).returncode == 0


def test_what_a_release_hides_from_the_refresh_is_named_field_by_field(
    stack_up: Sandbox, by_hand: Callable[[str, Json | None], None]
) -> None:
    containers = stack_up.api.get(PLUGIN)["spec"]["template"]["spec"]["containers"]
    [name, image] = [containers[0]["name"], containers[0]["image"]]
    changed = [{**containers[0], "image": "elsewhere/plugin:1"}, *containers[1:]]
    by_hand(PLUGIN, {"spec": {"template": {"spec": {"containers": changed}}}})
    by_hand(ACCOUNT, None)
    looked = _look(stack_up)
    assert looked.returncode == 1
    found = [line.strip() for line in looked.stdout.splitlines() if line.startswith("  - ")]
    assert found == [
        f"- ServiceAccount {GPU}/nvidia-dcgm-exporter was deleted",
        f"- DaemonSet {GPU}/nvidia-device-plugin-daemonset: spec.template.spec.containers[{name}].image is "
        f"'elsewhere/plugin:1' instead of '{image}'",
    ]
    assert _refresh(stack_up).returncode == 0
    assert stack_up.api.get(PLUGIN)["spec"]["template"]["spec"]["containers"][0]["image"] == "elsewhere/plugin:1"


def test_a_label_of_somebody_else_on_a_charts_object_is_no_drift(stack_up: Sandbox) -> None:
    stack_up.api.patch(PLUGIN, {"metadata": {"labels": {"team": "night-shift"}}})
    try:
        assert _look(stack_up).returncode == 0
    finally:
        stack_up.api.patch(PLUGIN, {"metadata": {"labels": {"team": None}}})


def test_a_release_whose_record_is_gone_is_named(stack_up: Sandbox) -> None:
    records = stack_up.api.get(SECRET, labelSelector=f"owner=helm,name={GPU}")["items"]
    for record in records:
        stack_up.api.delete(f"{SECRET}/{record['metadata']['name']}")
    try:
        looked = _look(stack_up)
        assert looked.returncode == 1
        assert "is not installed: the cluster has no record of it" in looked.stdout
    finally:
        for record in records:
            stack_up.api.post(SECRET, _without_versions(record))
    assert _look(stack_up).returncode == 0
