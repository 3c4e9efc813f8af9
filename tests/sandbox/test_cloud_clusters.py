"""Two clusters of a simulated cloud side by side: each has nodes, tokens and processes of its own."""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
from driver import Sandbox, until

from sandbox.cloud import doctl
from sandbox.cloud.account import account_token
from sandbox.cloud.clusters import ControlPlanes
from sandbox.cloud.digitalocean.managed import NVIDIA_GPUS, RDMA, managed_objects
from sandbox.cloud.digitalocean.nodes import PoolNodes, node_objects
from sandbox.home import SandboxHome
from sandbox.kubernetes_api import Api, ApiError
from sandbox.processes import PidFile

pytestmark = pytest.mark.sandbox

SIZES = {"rails-8": "gpu-h200x8-1128gb-fabric-contracted", "rails-16": "gpu-b300x8-2304gb-lc-fabric-contracted"}
SYSTEM = PoolNodes("system", "pool-0", "s-4vcpu-8gb", (("id-s", "system-a"),))


def _pools(cluster: str, *names: str) -> list[PoolNodes]:
    nodes = tuple((f"id-{name}", name) for name in names)
    return [SYSTEM, PoolNodes("gpu", "pool-1", SIZES[cluster], nodes, {"team": "a"})]


def _set_nodes(planes: ControlPlanes, cluster: str, *names: str) -> None:
    planes.set_nodes(cluster, node_objects(cluster, "nyc2", "1.36.1-do.0", _pools(cluster, *names)))


def _processes(home: SandboxHome) -> list[int]:
    pids = [PidFile(file).pid() for file in home.pids.glob("*.json")]
    return [pid for pid in pids if pid is not None]


def _is_let_in(planes: ControlPlanes, cluster: str, token: str) -> bool:
    try:
        Api(planes.kubeconfig(cluster), token=token).get("/api/v1/nodes")
    except ApiError as error:
        if error.status != 401:
            raise
        return False
    return True


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return Sandbox(tmp_path_factory.mktemp("clouds"))


@pytest.fixture(scope="module")
def planes(sandbox: Sandbox) -> Iterator[ControlPlanes]:
    planes = ControlPlanes(sandbox.home)
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(planes.create, SIZES))
        for cluster in SIZES:
            _set_nodes(planes, cluster, "gpu-a", "gpu-b")
            planes.apply(cluster, managed_objects({NVIDIA_GPUS: True, RDMA: True}, [SIZES[cluster]]))
        yield planes
    finally:
        for cluster in planes.ids():
            planes.delete(cluster)


def _node(planes: ControlPlanes, cluster: str, name: str) -> dict[str, Any]:
    return Api(planes.kubeconfig(cluster)).get(f"/api/v1/nodes/{name}")


@pytest.mark.parametrize(("cluster", "rails"), [("rails-8", 8), ("rails-16", 16)])
def test_nodes_join_and_show_what_the_managed_plug_ins_find(planes: ControlPlanes, cluster: str, rails: int) -> None:
    until(lambda: planes.ready_nodes(cluster) == {"system-a", "gpu-a", "gpu-b"}, "the nodes are ready")
    wanted = {"nvidia.com/gpu": "8", **{f"rdma/fabric{rail}": "1k" for rail in range(rails)}}

    def shown() -> bool:
        offered = _node(planes, cluster, "gpu-b")["status"]["allocatable"]
        return {name: count for name, count in offered.items() if "/" in name} == wanted

    until(shown, "the node shows its GPUs and one resource for each fabric NIC")
    node = _node(planes, cluster, "gpu-b")
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    assert node["metadata"]["labels"]["doks.digitalocean.com/node-id"] == "id-gpu-b"
    assert not any("/" in name for name in _node(planes, cluster, "system-a")["status"]["allocatable"])


def test_two_clusters_have_nothing_in_common(planes: ControlPlanes) -> None:
    ends = [planes.endpoint(cluster) for cluster in SIZES]
    assert len({end.server for end in ends}) == len({end.authority for end in ends}) == 2
    planes.set_tokens("rails-8", {"of-one": None})

    assert _is_let_in(planes, "rails-8", "of-one")
    assert not _is_let_in(planes, "rails-16", "of-one")


def test_a_token_that_is_withdrawn_is_refused_as_soon_as_that_is_said(planes: ControlPlanes) -> None:
    planes.set_tokens("rails-8", {"first": None})
    assert _is_let_in(planes, "rails-8", "first")

    planes.set_tokens("rails-8", {"second": None})

    assert not _is_let_in(planes, "rails-8", "first")
    assert _is_let_in(planes, "rails-8", "second")


def test_a_token_expires_by_itself(planes: ControlPlanes) -> None:
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    planes.set_tokens("rails-16", {"short": end, "long": None})
    assert _is_let_in(planes, "rails-16", "short")

    until(lambda: not _is_let_in(planes, "rails-16", "short"), "the token is refused", seconds=20)
    assert _is_let_in(planes, "rails-16", "long")


def test_the_stand_in_for_doctl_gives_a_token_that_outlives_a_change_of_the_others(
    planes: ControlPlanes, sandbox: Sandbox
) -> None:
    command = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1", "rails-8"]
    environment = {"DIGITALOCEAN_ACCESS_TOKEN": account_token(sandbox.home)}
    credential = json.loads(doctl.answer(command, environment, sandbox.home))
    assert credential["kind"] == "ExecCredential"

    planes.set_tokens("rails-8", {"other": None})

    assert _is_let_in(planes, "rails-8", credential["status"]["token"])


def test_fewer_nodes_are_left_with_the_pods_that_they_have(planes: ControlPlanes) -> None:
    api = Api(planes.kubeconfig("rails-8"))
    for name in ("gpu-a", "gpu-b"):
        pod = {"nodeName": name, "containers": [{"name": "c", "image": "i"}]}
        api.post("/api/v1/namespaces/default/pods", {"metadata": {"name": name}, "spec": pod})

    _set_nodes(planes, "rails-8", "gpu-a")

    assert planes.ready_nodes("rails-8") == {"system-a", "gpu-a"}
    pods = api.get("/api/v1/namespaces/default/pods")["items"]
    assert [pod["metadata"]["name"] for pod in pods] == ["gpu-a"]


def test_what_is_managed_goes_when_it_is_switched_off(planes: ControlPlanes) -> None:
    planes.remove("rails-16", managed_objects({RDMA: True}, [SIZES["rails-16"]]))

    def withdrawn() -> bool:
        offered = _node(planes, "rails-16", "gpu-a")["status"]["allocatable"]
        return {name for name, count in offered.items() if "/" in name and count != "0"} == {"nvidia.com/gpu"}

    until(withdrawn, "no rail is shown any more")


def test_down_stops_clusters_and_status_tells_it_and_how_to_look_into_them(
    planes: ControlPlanes, sandbox: Sandbox
) -> None:
    assert all(f"cluster {cluster}" in sandbox.run("status") for cluster in SIZES)
    kubectl = sandbox.home.cluster("rails-8").bin / "kubectl"
    assert str(kubectl) in sandbox.run("status")
    listed = subprocess.run([kubectl, "get", "nodes", "-o", "name"], capture_output=True, text=True, check=True)
    assert "node/gpu-a" in listed.stdout
    ends = {cluster: planes.endpoint(cluster) for cluster in SIZES}

    sandbox.run("down")

    assert not any(_processes(sandbox.home.cluster(cluster)) for cluster in SIZES)
    assert "stopped" in sandbox.run("status", status=1)
    planes.start_all()
    assert {cluster: planes.endpoint(cluster) for cluster in SIZES} == ends
    until(lambda: "gpu-a" in planes.ready_nodes("rails-8"), "the cluster is back with its nodes")


def test_deleting_a_cluster_leaves_no_process_and_no_folder_and_the_other_alone(
    planes: ControlPlanes, sandbox: Sandbox
) -> None:
    home = sandbox.home.cluster("rails-8")
    pids = _processes(home)
    assert pids

    planes.delete("rails-8")
    planes.delete("rails-8")

    assert not home.root.exists()
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids)
    assert planes.ids() == ["rails-16"]
    assert planes.ready_nodes("rails-16")
