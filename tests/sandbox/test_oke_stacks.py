"""The stacks for Oracle, whole: from an empty compartment to pods with every virtual function, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest
from cloud_driver import NODES, CloudSandbox
from driver import PODS, until
from test_controllers import admitted, attached, create, is_empty, networks, running

from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from gpu_fabric.prepare import prepare_stack
from sandbox.home import project_root
from sandbox.kubernetes_api import Object, object_path

pytestmark = pytest.mark.sandbox

GPU = "nvidia.com/gpu"
# Stack: virtual functions a node, nodes.
OTHERS = {"oke-a100": (16, 3), "oke-h200": (8, 4)}
# Stack: an example for its scheduler, and the pods of it that have the fabric.
JOBS = {
    "oke-h100": ("volcano-job.yaml", 2),
    "oke-a100": ("volcano-job.yaml", 2),
    "oke-h200": ("mpijob.yaml", 2),
}


def sandbox_of(tmp_path_factory: pytest.TempPathFactory, stack: str) -> CloudSandbox:
    return CloudSandbox(tmp_path_factory.mktemp("oke"), stack, "oci")


@pytest.fixture(scope="module")
def h100(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSandbox]:
    """The H100 stack, brought up; the tests of the module go on from one another."""
    sandbox = sandbox_of(tmp_path_factory, "oke-h100")
    try:
        sandbox.up()
        yield sandbox
    finally:
        sandbox.clean_up()


def assert_nodes_offer(sandbox: CloudSandbox, nodes: int, functions: int) -> None:
    """What the guide's own check prints: eight GPUs and so many virtual functions on each GPU node."""
    devices = [name for name in sandbox.outputs()["fabric"]["resources"] if "/" in name and name != GPU]

    def offered() -> list[tuple[str, int]]:
        every = [node["status"]["allocatable"] for node in sandbox.items(NODES)]
        with_gpus = [resources for resources in every if resources.get(GPU, "0") != "0"]
        return [(found[GPU], sum(int(found.get(name, "0")) for name in devices)) for found in with_gpus]

    # `up` waits for the plug-ins' pods, and kubelets hear of the devices a moment later.
    until(lambda: offered() == [("8", functions)] * nodes, f"{nodes} nodes offer {functions} functions")


def assert_pods_take_a_node_each(sandbox: CloudSandbox, functions: int) -> None:
    """Two pods of the contract lie on two nodes, each with all GPUs and an attachment for every virtual function."""
    for name in ("worker-0", "worker-1"):
        sandbox.api.post(PODS, sandbox.pod(name))
    for name in ("worker-0", "worker-1"):
        until(partial(_runs, sandbox, name), f"{name} runs")
    pods = sandbox.items(PODS)
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
    assert {len(json.loads(pod["metadata"]["annotations"][NETWORKS_ANNOTATION])) for pod in pods} == {functions}
    for pod in pods:
        sandbox.api.delete(f"{PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")


def assert_its_scheduler_starts_a_job(sandbox: CloudSandbox, functions: int) -> None:
    """An example that has the fabric attached runs on a node a worker, let in by Kueue or placed by Volcano."""
    name, workers = JOBS[sandbox.stack]
    submitted: list[Object] = []
    create(sandbox, attached(name, prepare_stack(sandbox.stack, project_root())), submitted)
    pods = until(lambda: running(sandbox), "all pods of the job run", 120)
    with_fabric = [pod for pod in pods if networks(pod)]
    assert [len(networks(pod)) for pod in with_fabric] == [functions] * workers
    assert len({pod["spec"]["nodeName"] for pod in with_fabric}) == workers
    if name == "volcano-job.yaml":
        assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    else:
        until(lambda: admitted(sandbox), "Kueue has let the job in and seen its pods become ready", 120)
    for item in submitted:
        sandbox.api.delete(f"{object_path(sandbox.api, item, 'default')}?propagationPolicy=Background")
    until(lambda: is_empty(sandbox), "its pods and Workloads are gone", 120)


def _runs(sandbox: CloudSandbox, pod: str) -> bool:
    return bool(sandbox.api.get(f"{PODS}/{pod}")["status"].get("phase") == "Running")


def test_every_h100_node_joins_with_its_gpus_and_sixteen_virtual_functions(h100: CloudSandbox) -> None:
    assert_nodes_offer(h100, nodes=4, functions=16)


def test_pods_of_the_contract_take_an_h100_node_each(h100: CloudSandbox) -> None:
    assert_pods_take_a_node_each(h100, functions=16)


def test_volcano_starts_a_job_on_h100_nodes(h100: CloudSandbox) -> None:
    assert_its_scheduler_starts_a_job(h100, functions=16)


def test_nothing_is_left_to_change_after_an_up(h100: CloudSandbox) -> None:
    assert h100.preview().steps == {}


def test_one_machine_more_changes_the_cluster_network_in_place(h100: CloudSandbox) -> None:
    pools = [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 5, "availabilityDomain": "AD-1"}]
    steps = h100.preview(pools=pools).steps
    assert steps.pop("cluster-pool-gpu") == "update"
    assert set(steps.values()) <= {"update"}


def test_destroy_leaves_nothing_at_oracle(h100: CloudSandbox) -> None:
    h100.destroy()
    h100.assert_nothing_is_left()


@pytest.mark.parametrize("stack", OTHERS)
def test_the_other_shapes_come_up_run_jobs_stay_as_they_are_and_go(
    tmp_path_factory: pytest.TempPathFactory, stack: str
) -> None:
    functions, nodes = OTHERS[stack]
    sandbox = sandbox_of(tmp_path_factory, stack)
    try:
        sandbox.up(protect=False)
        assert_nodes_offer(sandbox, nodes, functions)
        assert_pods_take_a_node_each(sandbox, functions)
        assert_its_scheduler_starts_a_job(sandbox, functions)
        assert sandbox.preview(protect=False).steps == {}
        sandbox.destroy(protect=False)
        sandbox.assert_nothing_is_left()
    finally:
        sandbox.clean_up()
