"""The sandbox's measurements: what the script would have left, by what is wrong with the nodes, and its verdict."""

from pathlib import Path
from typing import Any

import pytest
from stack_plans import stack_plan

from gpu_fabric.nccl.verdict.bundle import join_parts, read_bundle
from gpu_fabric.nccl.verdict.judging import judge_bundle
from gpu_fabric.nccl.verdict.report import Verdict
from gpu_fabric.plan.records import PlannedVerification
from sandbox.hardware.measuring.play import ENDS_ANNOTATION, MESSAGE_ANNOTATION, endings
from sandbox.hardware.measuring.run import AILMENTS_ANNOTATION, Ailment, ailments_of, rail_rate

Pods = list[dict[str, Any]]


@pytest.fixture(scope="module")
def run(root: Path) -> PlannedVerification:
    planned = stack_plan("verification", root).verification
    assert planned is not None
    return planned


def pods_of(run: PlannedVerification) -> Pods:
    template: Any = run.manifests[-1]["spec"]
    return [
        {
            "metadata": {"name": f"{run.name}-{place}-xyz", "namespace": "default", **template["template"]["metadata"]},
            "spec": {**template["template"]["spec"], "nodeName": f"gpu-{place}", "hostname": f"{run.name}-{place}"},
            "status": {"phase": "Running"},
        }
        for place in range(run.nodes)
    ]


def node(name: str, ailments: str = "{}", shape: str = "BM.GPU.H200.8") -> dict[str, Any]:
    labels = {"node.kubernetes.io/instance-type": shape}
    return {"metadata": {"name": name, "labels": labels, "annotations": {AILMENTS_ANNOTATION: ailments}}}


def played(run: PlannedVerification, pods: Pods, **ailments: str) -> list[dict[str, str]]:
    """The annotations by which pods end; `gpu_1` is what is wrong with that node."""
    nodes = {name: node(name, ailments.get(name.replace("-", "_"), "{}")) for name in ("gpu-0", "gpu-1", "gpu-2")}
    return [ending for _, ending in endings(pods, nodes, {f"default/{run.name}": run.manifests[0]})]


def verdict(run: PlannedVerification, **ailments: str) -> Verdict:
    messages = [ending[MESSAGE_ANNOTATION] for ending in played(run, pods_of(run), **ailments)]
    return judge_bundle(read_bundle(join_parts(messages)), run.expectation)


def test_healthy_nodes_pass_every_bar(run: PlannedVerification) -> None:
    found = verdict(run)
    assert (found.passed, found.findings) == (True, ())
    assert found.nodes == ("gpu-0", "gpu-1", "gpu-2")


AILMENTS = [
    ("slow", ["VER017 rail 3, size", "VFY023 rail 3, node gpu-1"]),
    ("lossy", ["VER017 rail 3, size", "VFY023 rail 3, node gpu-1"]),
    ("missing", ["VFY020 rail 3: not measured", "VFY023 rail 3, node gpu-1", "VER025 node gpu-1"]),
    ("sockets", ["VER022 rail 3, node gpu-1", "VER022 node gpu-1", "VER016"]),
    ("host-memory", ["VER023 rail 3, rank 1 on gpu-1"]),
    ("corrupt", ["VER014 rail 3, size 1073741824: 12 wrong values", "VFY023 rail 3, node gpu-1"]),
    ("crowded", ["VER017 rail 3, size", "VFY024 rail 3: 48.25 GB/s", "VER017 size"]),
]


@pytest.mark.parametrize(("ailment", "words"), AILMENTS)
def test_every_ailment_is_found_and_named(run: PlannedVerification, ailment: str, words: list[str]) -> None:
    found = verdict(run, gpu_1=f'{{"3": "{ailment}"}}')
    said = [f"{reason.id} {reason.path}: {reason.message}" for reason in found.findings]
    assert not found.passed
    assert [word for word in words if not any(line.startswith(word) for line in said)] == []
    assert {name for name, _ in AILMENTS} == {known.value for known in Ailment}


@pytest.fixture(scope="module")
def between(root: Path) -> PlannedVerification:
    """The same run with UCX between the nodes."""
    planned = stack_plan("verification", root, {"verification.pointToPoint": {}}).verification
    assert planned is not None
    return planned


@pytest.mark.parametrize(
    ("ailment", "words"),
    [
        ("", []),
        ("slow", ["VFY027 rail 3 (rdma3, network "]),
        ("missing", ["VFY028 rail 3 (rdma3, network "]),
        ("sockets", ["VFY028 rail 3 (rdma3, network "]),
        ("host-memory", ["VFY027 rail 3 (rdma3, network "]),
        ("corrupt", []),
        ("crowded", ["VFY027 rail 3 (rdma3, network "]),
    ],
)
def test_ucx_finds_what_it_can_see(between: PlannedVerification, ailment: str, words: list[str]) -> None:
    found = verdict(between, **({"gpu_1": f'{{"3": "{ailment}"}}'} if ailment else {}))
    said = [f"{reason.id} {reason.path}" for reason in found.findings if reason.id in ("VFY027", "VFY028", "VFY029")]
    assert len(said) == len(words)
    assert all(line.startswith(word) for line, word in zip(said, words, strict=True))
    assert len(found.point_to_point) == 8
    assert found.passed == (not ailment)


def test_pods_are_told_once_how_to_end_and_only_when_all_of_them_run(run: PlannedVerification) -> None:
    pods = pods_of(run)
    assert played(run, pods[:2]) == []
    pods[2]["status"]["phase"] = "Pending"
    assert played(run, pods) == []
    pods[2]["status"]["phase"] = "Running"
    for pod, ending in zip(pods, played(run, pods), strict=True):
        pod["metadata"] = {**pod["metadata"], "annotations": ending}
    assert all(pod["metadata"]["annotations"][ENDS_ANNOTATION] for pod in pods)
    assert played(run, pods) == []


def test_messages_are_as_short_as_a_kubelet_keeps_them(run: PlannedVerification) -> None:
    everything = "{" + ",".join(f'"{rail}": "slow"' for rail in range(8)) + "}"
    assert all(len(ending[MESSAGE_ANNOTATION]) < 4096 for ending in played(run, pods_of(run), gpu_0=everything))


def test_a_shape_without_a_published_rate_gets_one_that_the_sandbox_assumes() -> None:
    assert rail_rate(node("x", shape="gpu-mi325x8-2048gb-fabric-contracted"))[0] == rail_rate(node("x"))[0] == 48.25
    assert rail_rate(node("x", shape="unheard-of"))[1] == 0


def test_an_ailment_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="tired"):
        ailments_of(node("x", '{"0": "tired"}'))
