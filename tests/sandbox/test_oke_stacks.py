"""The stacks for Oracle, whole: from an empty compartment to the guide's NCCL test on every node, and back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from cloud_driver import NODES, CloudSandbox
from driver import PODS, until
from test_controllers import is_empty, networks, running

from sandbox.home import project_root
from sandbox.kubernetes_api import Object, object_path

LAUNCHER_ENDS = {"metadata": {"annotations": {"sandbox.gpu-fabric/completes-after": "0s"}}}
# Stack: virtual functions a node, nodes, and who starts jobs.
STACKS = {
    "oke-h100": (16, 4, "volcano"),
    "oke-a100": (16, 3, "volcano"),
    "oke-h200": (8, 4, "mpi-operator"),
    "oke-mi300x": (8, 2, "mpi-operator"),
    "oke-mi355x-v1": (8, 2, "mpi-operator"),
}


def assert_nodes_offer(sandbox: CloudSandbox, nodes: int, functions: int) -> None:
    """What the guide's own check prints: eight GPUs and so many virtual functions on each GPU node."""
    contract = sandbox.outputs()["fabric"]
    gpu = contract["gpuResource"]
    devices = [name for name in contract["resources"] if "/" in name and name != gpu]

    def offered() -> list[tuple[str, int]]:
        every = [node["status"]["allocatable"] for node in sandbox.items(NODES)]
        with_gpus = [resources for resources in every if resources.get(gpu, "0") != "0"]
        return [(found[gpu], sum(int(found.get(name, "0")) for name in devices)) for found in with_gpus]

    # `up` waits for the plug-ins' pods, and kubelets hear of the devices a moment later.
    until(lambda: offered() == [("8", functions)] * nodes, f"{nodes} nodes offer {functions} functions")


def nccl_test(sandbox: CloudSandbox, scheduler: str) -> Object:
    """What `gpu-fabric job nccl-test` prints for the stack's outputs."""
    options = ["--image", "nccl-tests", "--contract", "-", "--scheduler", scheduler]
    command = [sys.executable, "-m", "gpu_fabric", "job", "nccl-test", *options]
    outputs = json.dumps(sandbox.outputs())
    result = subprocess.run(command, cwd=project_root(), input=outputs, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    job: Object = yaml.safe_load(result.stdout)
    return job


def assert_the_nccl_test_runs(sandbox: CloudSandbox, nodes: int, functions: int, scheduler: str) -> None:
    """It is let in whole, each worker with a node and all functions, and leaves the nodes when its launcher ends."""
    job = nccl_test(sandbox, scheduler)
    path = object_path(sandbox.api, job, "default")
    assert path is not None
    sandbox.api.post(f"{path.rpartition('/')[0]}?fieldValidation=Strict", job)
    pods = until(lambda: len(found := running(sandbox)) == nodes + 1 and found, "all pods of the job run")
    workers = [pod for pod in pods if networks(pod)]
    contract: dict[str, Any] = sandbox.outputs()["fabric"]
    devices = {name: amount for name, amount in contract["resources"].items() if "/" in name}
    assert [len(networks(pod)) for pod in workers] == [functions] * nodes
    assert len({pod["spec"]["nodeName"] for pod in workers}) == nodes
    for pod in workers:
        limits = pod["spec"]["containers"][0]["resources"]["limits"]
        assert {name: amount for name, amount in limits.items() if "/" in name} == devices
    if scheduler == "volcano":
        assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}

    (launcher,) = (pod["metadata"]["name"] for pod in pods if not networks(pod))
    sandbox.api.patch(f"{PODS}/{launcher}", LAUNCHER_ENDS)
    until(lambda: not [pod for pod in sandbox.items(PODS) if networks(pod)], "its workers are gone")
    sandbox.api.delete(f"{path}?propagationPolicy=Background")
    until(lambda: is_empty(sandbox), "its pods and Workloads are gone")


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_comes_up_runs_the_nccl_test_stays_as_it_is_and_goes(
    cloud: Callable[..., CloudSandbox], stack: str
) -> None:
    functions, nodes, scheduler = STACKS[stack]
    sandbox = cloud(stack, "oci")
    sandbox.up(protect=False)
    assert_nodes_offer(sandbox, nodes, functions)
    assert_the_nccl_test_runs(sandbox, nodes, functions, scheduler)
    assert sandbox.preview(protect=False).steps == {}
    sandbox.destroy(protect=False)
    sandbox.assert_nothing_is_left()
