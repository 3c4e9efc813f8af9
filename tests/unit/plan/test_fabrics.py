"""Several fabrics in one stack, held against each alone; their names and values are in rows/fabrics.yaml."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from committed_stacks import ROOT, folder_of, stack_names
from planned_fabrics import example
from stack_plans import stack_plan

from gpu_fabric.plan import Plan
from gpu_fabric.plan.joining import joined_steps
from gpu_fabric.plan.records import PlannedVerification

_A100 = "fabrics.a100"
_IMAGE = "ocid1.image.oc1.us-chicago-1.aaaaaaaaexample"


@cache
def _two() -> Plan:
    return example("two-machines")


def _manifests(plan: Plan, kind: str) -> list[dict[str, Any]]:
    return [entry.object.manifest() for entry in plan.objects if entry.object.kind == kind]


@pytest.mark.parametrize("name", [name for name in stack_names() if not name.startswith("large")])
def test_the_steps_of_a_fabric_once_or_twice_are_those_of_its_stack(name: str) -> None:
    steps = stack_plan(name, folder_of(name)).steps

    for fabrics in (("",), ("", "again")):
        joined = joined_steps([(fabric, steps) for fabric in fabrics])
        assert joined.steps == steps
        assert joined.conflicts == ()


def test_the_first_fabric_is_planned_as_if_it_were_alone() -> None:
    alone = example("two-machines", {"fabrics": {}, "cluster.pools": [{
        "name": "h100", "shape": "server.dgx-h100.8", "nodes": 2, "labels": {"gpu": "h100"},
    }]})  # fmt: skip

    first = _two().by_fabric["main"]

    assert first.workload == alone.workload
    assert first.rails == alone.rails
    assert first.addresses.pools == alone.addresses.pools
    assert first.cluster.pools == alone.cluster.pools
    both = {entry.object.kind: entry for entry in first.applied("networks", "ip-pools")}
    assert {entry.name for entry in alone.applied("networks")} <= {entry.name for entry in first.applied("networks")}
    assert set(both) == {entry.object.kind for entry in alone.applied("networks", "ip-pools")}


def test_the_proof_of_each_fabric_names_the_ranges_of_the_others() -> None:
    proofs = [[entry.name for entry in plan.addresses.proof.disjoint_from] for plan in _two().by_fabric.values()]

    assert [names[-1] for names in proofs] == ["fabric a100", "fabric main"]


def test_each_compute_fabric_is_measured() -> None:
    plan = example("two-machines", {
        "verification": {"enabled": True, "image": "registry.example/nccl:1", "bar": 300, "nodes": 2},
    })  # fmt: skip
    runs = plan.records(PlannedVerification)

    assert [run.report for run in runs] == ["fabric-verification", "fabric-verification-a100"]
    # Bars are those of the fabric that they were written for.
    assert [run.own_bar for run in runs] == [300, None]
    assert [run.rails for run in runs] == [8, 8]


def test_what_runs_on_the_nodes_of_each_fabric_has_names_and_selectors_of_its_own() -> None:
    plan = example("two-machines", {
        "fabric.hostPreparation": {"disableAcs": True}, f"{_A100}.hostPreparation": {"disableAcs": True},
        "fabric.check": {}, "fabric.vfsPerNic": 2, f"{_A100}.check": {}, f"{_A100}.model": "ipoib",
        f"{_A100}.podsPerNic": 2,
    })  # fmt: skip
    daemons = _manifests(plan, "DaemonSet")
    selectors = [json.dumps(daemon["spec"]["selector"], sort_keys=True) for daemon in daemons]

    assert {"acs", "acs-a100", "fabric-check", "fabric-check-a100"} <= {
        daemon["metadata"]["name"] for daemon in daemons
    }
    assert len(set(selectors)) == len(selectors)


def test_findings_are_at_the_section_of_their_fabric_and_the_pools_number_in_the_file() -> None:
    plan = example("two-machines", {"cluster.pools[1].labels": {"gpu": "a100", "kubernetes.io/os": "linux"}})
    paths = {(entry.id, entry.path) for entry in plan.findings}

    assert ("NET003", "gpu-fabric:fabrics.a100.rdmaMode") in paths
    assert len([entry for entry in plan.findings if entry.id == "CLU003"]) <= 1
    assert len(plan.findings) == len(set(plan.findings))


def test_a_platform_has_fabrics_on_the_cluster_of_another_stack(tmp_path: Path) -> None:
    """The cluster's file says nothing of fabrics, and its pools may have any machines."""
    pool = {"nodes": 2, "placement": "compute-cluster", "availabilityDomain": "AD-1", "imageId": _IMAGE}
    cluster = yaml.safe_load((ROOT / "examples/Pulumi.oke-split-cluster.yaml").read_text(encoding="utf-8"))
    platform = yaml.safe_load((ROOT / "examples/Pulumi.oke-split-platform.yaml").read_text(encoding="utf-8"))
    cluster["config"]["gpu-fabric:cluster"]["pools"] = [
        {"name": "new", "shape": "BM.GPU.H200.8", **pool},
        {"name": "old", "shape": "BM.GPU.A100-v2.8", **pool},
    ]
    platform["config"]["gpu-fabric:fabrics"] = {"old": {"pools": ["old"], "model": "host-network"}}
    for name, content in (("cluster", cluster), ("platform", platform)):
        (tmp_path / f"Pulumi.oke-split-{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")

    alone = stack_plan("oke-split-cluster", tmp_path)
    plan = stack_plan("oke-split-platform", tmp_path)

    assert (alone.part, alone.steps, alone.fabrics) == ("cluster", (), ())
    assert {name: len(one.rails) for name, one in plan.by_fabric.items()} == {"main": 8, "old": 16}
    assert plan.cluster.oke is None
