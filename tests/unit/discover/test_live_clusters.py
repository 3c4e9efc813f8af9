"""`gpu-fabric discover --kubeconfig`: what is asked of a cluster, and the look at a node, with a stand-in kubectl."""

import json
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import rows

from gpu_fabric.catalog import catalog
from gpu_fabric.cli import node_look
from gpu_fabric.discover.cluster_objects import PATHS
from gpu_fabric.discover.look_job import NAMESPACE, namespace
from tests.support.cluster_objects import simulated_nodes
from tests.support.command_line import refusal_of, run
from tests.support.looked_at import look_of
from tests.support.node_outputs import NodeOutputs
from tests.support.stand_in_kubectl import StandInKubectl

SHAPE = "BM.GPU.H100.8"
NAMESPACES, JOBS = "/api/v1/namespaces", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"{NAMESPACES}/{NAMESPACE}/pods"
LOG = f"get {PODS}/look-x/log"
POD = {"metadata": {"name": "look-x"}}
FORBIDDEN = {"error": 'Error from server (Forbidden): nicdevices is forbidden: User "jane" cannot list resource'}

Cluster = Callable[..., StandInKubectl]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster of simulated nodes; further answers of kubectl by verb and path."""
    monkeypatch.setattr(node_look, "pause", lambda _: None)

    def made(items: list[dict[str, Any]] | None = None, **answers: Any) -> StandInKubectl:
        items = simulated_nodes(SHAPE) if items is None else items
        nodes = [{key: value for key, value in item.items() if key != "kind"} for item in items if is_node(item)]
        states = [item for item in items if not is_node(item)]
        known = {
            "get /api/v1/nodes": {"kind": "NodeList", "items": nodes},
            f"get {PATHS['what the SR-IOV operator saw']}": {"kind": "SriovNetworkNodeStateList", "items": states},
        }
        return StandInKubectl(tmp_path / "kubectl", {**known, **answers}, monkeypatch)

    return made


def is_node(item: dict[str, Any]) -> bool:
    return item["kind"] == "Node"


def bare() -> list[dict[str, Any]]:
    """The nodes of a cluster in which no operator has seen their NICs."""
    return [item for item in simulated_nodes(SHAPE) if is_node(item)]


def said(text: str) -> str:
    return " ".join(text.split())


@cache
def own_look() -> str:
    """What the look prints on a node of the shape: the script starts hundreds of programs."""
    return look_of(NodeOutputs(catalog().shapes[SHAPE], vfs=1)).rstrip("\n")


def looked(**others: Any) -> dict[str, Any]:
    """Answers of a cluster in which the Job's pod starts at the second question and prints a look at the third."""
    pod = {**POD, "status": {"phase": "Running"}}
    waiting = {"error": 'Error from server (BadRequest): container "look" is waiting to start: ContainerCreating'}
    return {
        f"create {NAMESPACES}": {"kind": "Namespace"},
        f"delete {NAMESPACES}/{NAMESPACE}": {},
        f"create {JOBS}": {"kind": "Job"},
        f"delete {JOBS}/gpu-fabric-look": {},
        f"get {PODS}": [{"items": []}, {"items": [pod]}],
        LOG: [waiting, "gpu-fabric-look\t1", own_look()],
        **others,
    }


def changes(stand_in: StandInKubectl) -> list[str]:
    return [f"{call['verb']} {call['path'].partition('?')[0]}" for call in stand_in.calls if call["verb"] != "get"]


def test_a_clusters_stack_file_has_its_kubeconfig_and_context(cluster: Cluster) -> None:
    stand_in = cluster()

    printed = run("discover", "--kubeconfig", "lab.yaml", "--context", "lab")

    config = yaml.safe_load(printed.stdout)["config"]["gpu-fabric:cluster"]
    assert (printed.exit_code, config["kubeconfig"], config["context"]) == (0, "lab.yaml", "lab")
    assert config["pools"] == [{"name": "gpu", "shape": SHAPE, "nodes": 3}]
    assert "By `gpu-fabric discover` from the cluster of lab.yaml (cluster-objects)." in printed.stdout
    assert {tuple(call["options"][:2]) for call in stand_in.calls} == {("--kubeconfig=lab.yaml", "--context=lab")}


def test_a_cluster_is_only_read(cluster: Cluster) -> None:
    stand_in = cluster()

    assert run("discover", "--kubeconfig", "lab.yaml").exit_code == 0
    assert {call["verb"] for call in stand_in.calls} == {"get"}
    assert [call["path"].partition("?")[0] for call in stand_in.calls] == list(PATHS.values())


def test_the_kubeconfig_may_be_a_stacks(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = cluster()
    stack = "config:\n  gpu-fabric:cluster: {provider: existing, kubeconfig: lab.yaml, context: lab, pools: [%s]}\n"
    pool = "{name: gpu, shape: BM.GPU.H100.8, nodes: 2}"
    (tmp_path / "Pulumi.lab.yaml").write_text(stack % pool, encoding="utf-8")
    by_file = run("discover", "-f", str(tmp_path / "Pulumi.lab.yaml"))
    monkeypatch.chdir(tmp_path)

    printed = run("discover", "-s", "lab")

    assert (printed.exit_code, "kubeconfig: lab.yaml\n    context: lab\n" in printed.stdout) == (0, True)
    assert by_file.stdout == printed.stdout
    assert {tuple(call["options"][:2]) for call in stand_in.calls} == {
        (f"--kubeconfig={tmp_path / 'lab.yaml'}", "--context=lab")
    }


def test_what_the_user_may_not_read_is_said_and_the_rest_used(cluster: Cluster) -> None:
    cluster(**{f"get {PATHS['NicDevices']}": FORBIDDEN})

    printed = run("discover", "--kubeconfig", "lab.yaml")

    assert printed.exit_code == 0
    assert "NicDevices are not read: the cluster forbids to get /apis/configuration.net.nvidia.com" in said(
        printed.stderr
    )
    assert f"shape: {SHAPE}\n" in printed.stdout


def test_nodes_that_the_user_may_not_read_end_the_command(cluster: Cluster) -> None:
    cluster(**{"get /api/v1/nodes": FORBIDDEN})

    assert "the cluster forbids to get /api/v1/nodes" in said(refusal_of("discover", "--kubeconfig", "lab.yaml"))


def mixed() -> list[dict[str, Any]]:
    others = simulated_nodes("BM.GPU4.8")
    for item in others:
        item["metadata"]["name"] = f"old-{item['metadata']['name']}"
    return [*simulated_nodes(SHAPE), *others]


def test_all_groups_get_a_fabric_each_in_one_file(cluster: Cluster, tmp_path: Path) -> None:
    cluster(mixed())
    out = tmp_path / "Pulumi.lab.yaml"

    assert "2 groups of nodes" in refusal_of("discover", "--kubeconfig", "lab.yaml")
    assert run("discover", "--kubeconfig", "lab.yaml", "--group", "all", "--out", str(out)).exit_code == 0
    config = yaml.safe_load(out.read_text())["config"]
    assert [pool["shape"] for pool in config["gpu-fabric:cluster"]["pools"]] == [SHAPE, "BM.GPU4.8"]
    assert {name: fabric["pools"] for name, fabric in config["gpu-fabric:fabrics"].items()} == {"gpu-2": ["gpu-2"]}
    again = refusal_of("discover", "--kubeconfig", "lab.yaml", "--group", "all", "--out", str(out))
    assert "Pulumi.lab.yaml: the file exists" in said(again)


def unseen(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The nodes among these, without what says which NICs they have."""
    nodes = [item for item in items if is_node(item)]
    for node in nodes:
        node["metadata"]["labels"].pop("node.kubernetes.io/instance-type", None)
    return nodes


def test_nodes_without_a_nic_are_left_out_and_named(cluster: Cluster) -> None:
    all_groups = ("discover", "--kubeconfig", "lab.yaml", "--group", "all")
    old = [item for item in mixed() if item["metadata"]["name"].startswith("old-")]
    cluster([*simulated_nodes(SHAPE), *unseen(old)])

    printed = run(*all_groups)

    config = yaml.safe_load(printed.stdout)["config"]
    assert [pool["shape"] for pool in config["gpu-fabric:cluster"]["pools"]] == [SHAPE]
    assert "gpu-fabric:fabrics" not in config
    assert "are left out: no RDMA NIC was seen on them" in said(printed.stderr)
    others = unseen(old)
    for node in others:
        node["metadata"]["labels"]["nvidia.com/gpu.product"] = "NVIDIA-A100-SXM4-40GB"
    cluster([*unseen(simulated_nodes(SHAPE)), *others])
    assert "no RDMA NIC was seen in any group" in said(refusal_of(*all_groups))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing argument FILE, the output of a tool, or a cluster by --kubeconfig or -s"),
        (["--look", "a.txt"], "--look runs a Job in a cluster: name one by --kubeconfig or -s"),
        (["--group", "all", "a.txt"], "--group all reads every group of a live cluster"),
        (["-s", "dev", "--kubeconfig", "k"], "the cluster is named twice"),
        (["-s", "doks-h200"], "stack doks-h200 names no kubeconfig file"),
    ],
)
def test_arguments_that_name_no_cluster_or_two_are_refused(
    arguments: list[str], words: str, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("", encoding="utf-8")
    monkeypatch.chdir(root if "-s" in arguments else tmp_path)

    assert words in said(refusal_of("discover", *arguments))


# The look


def test_a_look_runs_one_job_on_a_ready_node_and_removes_it_and_its_namespace(cluster: Cluster) -> None:
    items = bare()
    items[1]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    stand_in = cluster(items, **looked())

    printed = run("discover", "--kubeconfig", "lab.yaml", "--look", "--own-shape")

    assert printed.exit_code == 0
    assert changes(stand_in) == [
        f"create {NAMESPACES}",
        f"create {JOBS}",
        f"delete {JOBS}/gpu-fabric-look",
        f"delete {NAMESPACES}/{NAMESPACE}",
    ]
    made = [json.loads(call["content"]) for call in stand_in.calls if call["verb"] == "create"]
    assert made[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert made[1]["spec"]["template"]["spec"]["nodeName"] == "gpu-1"
    assert (
        "gpu-1: Job gpu-fabric-look in namespace gpu-fabric-look looks at it, with image docker.io/library/busybox"
        in (said(printed.stderr))
    )
    assert "(cluster-objects), look at gpu-1 (look)." in said(printed.stdout.replace("#", ""))
    assert "rdmaDevice: mlx5_0" in printed.stdout


def test_a_namespace_that_is_there_stays_as_it_was(cluster: Cluster) -> None:
    there = {"metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    stand_in = cluster(bare(), **looked(**{f"get {NAMESPACES}/{NAMESPACE}": there}))

    assert run("discover", "--kubeconfig", "lab.yaml", "--look").exit_code == 0
    assert changes(stand_in) == [f"create {JOBS}", f"delete {JOBS}/gpu-fabric-look"]


def test_a_namespace_that_another_look_is_removing_is_waited_for(cluster: Cluster) -> None:
    going = {"metadata": {"name": NAMESPACE}, "status": {"phase": "Terminating"}}
    gone = {"error": 'Error from server (NotFound): namespaces "gpu-fabric-look" not found'}
    stand_in = cluster(bare(), **looked(**{f"get {NAMESPACES}/{NAMESPACE}": [going, going, gone]}))

    assert run("discover", "--kubeconfig", "lab.yaml", "--look").exit_code == 0
    assert changes(stand_in)[0] == f"create {NAMESPACES}"


def test_a_namespace_that_a_killed_look_has_left_is_removed(cluster: Cluster) -> None:
    gone = {"error": 'Error from server (NotFound): namespaces "gpu-fabric-look" not found'}
    stand_in = cluster(bare(), **looked(**{f"get {NAMESPACES}/{NAMESPACE}": [namespace(NAMESPACE), gone]}))

    printed = run("discover", "--kubeconfig", "lab.yaml", "--look")
    assert printed.exit_code == 0
    assert "was left behind by a look that was killed, and is removed" in said(printed.stderr)
    assert changes(stand_in) == [
        f"delete {NAMESPACES}/{NAMESPACE}",
        f"create {NAMESPACES}",
        f"create {JOBS}",
        f"delete {JOBS}/gpu-fabric-look",
        f"delete {NAMESPACES}/{NAMESPACE}",
    ]


def test_a_namespace_of_a_look_that_is_under_way_is_left_alone(cluster: Cluster) -> None:
    under_way = {f"get {NAMESPACES}/{NAMESPACE}": namespace(NAMESPACE), f"get {JOBS}/gpu-fabric-look": {"kind": "Job"}}
    stand_in = cluster(bare(), **looked(**under_way))

    assert "another look is under way" in said(refusal_of("discover", "--kubeconfig", "lab.yaml", "--look"))
    assert changes(stand_in) == []


def test_a_namespace_that_forbids_privileged_pods_is_refused_before_anything_is_created(cluster: Cluster) -> None:
    there = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    stand_in = cluster(**looked(**{f"get {NAMESPACES}/{NAMESPACE}": there}))

    words = said(refusal_of("discover", "--kubeconfig", "lab.yaml", "--look"))
    assert f"namespace {NAMESPACE} is at Pod Security level restricted" in words
    assert changes(stand_in) == []


def test_a_job_of_another_look_is_left_alone(cluster: Cluster) -> None:
    stand_in = cluster(**looked(**{f"get {JOBS}/gpu-fabric-look": {"kind": "Job"}}))

    assert "another look is under way" in said(refusal_of("discover", "--kubeconfig", "lab.yaml", "--look"))
    assert changes(stand_in) == [f"create {NAMESPACES}", f"delete {NAMESPACES}/{NAMESPACE}"]


def test_what_the_api_server_refuses_to_create_is_not_deleted(cluster: Cluster) -> None:
    there = {"error": 'Error from server (AlreadyExists): namespaces "gpu-fabric-look" already exists'}
    stand_in = cluster(**looked(**{f"create {NAMESPACES}": there}))

    assert "already exists" in said(refusal_of("discover", "--kubeconfig", "lab.yaml", "--look"))
    assert changes(stand_in) == [f"create {NAMESPACES}"]


@pytest.mark.parametrize(("answers", "words"), rows(__file__, "a look that fails leaves nothing in the cluster"))
def test_a_look_that_fails_leaves_nothing_in_the_cluster(
    answers: dict[str, Any], words: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_look, "_TRIES", 2)
    monkeypatch.setattr(node_look, "_TRIES_WITHOUT_POD", 1)
    monkeypatch.setattr(node_look, "_EVERY_S", 150)
    stand_in = cluster(**looked(**answers))

    assert words in said(refusal_of("discover", "--kubeconfig", "lab.yaml", "--look"))
    assert changes(stand_in)[-2:] == [f"delete {JOBS}/gpu-fabric-look", f"delete {NAMESPACES}/{NAMESPACE}"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_look_that_is_interrupted_leaves_nothing_in_the_cluster(
    number: int, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def interrupted(_: float) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(node_look, "pause", interrupted)
    stand_in = cluster(**looked())

    assert run("discover", "--kubeconfig", "lab.yaml", "--look").exit_code != 0
    assert signal.getsignal(signal.SIGTERM) is before
    assert changes(stand_in)[-2:] == [f"delete {JOBS}/gpu-fabric-look", f"delete {NAMESPACES}/{NAMESPACE}"]


def test_what_cannot_be_removed_is_said_with_the_command_that_removes_it(cluster: Cluster) -> None:
    away = {"error": "Unable to connect to the server: dial tcp: timeout"}
    cluster(**looked(**{f"delete {NAMESPACES}/{NAMESPACE}": away}))

    words = said(refusal_of("discover", "--kubeconfig", "lab.yaml", "--look"))
    assert "left in the cluster: remove it with kubectl delete namespace gpu-fabric-look" in words
