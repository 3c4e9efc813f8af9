"""Which topology file a stack's jobs get, why, and that NCCL finds it in every namespace where jobs run."""

from __future__ import annotations

import hashlib
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import Changes
from own_topology import IN_USE
from planned_fabrics import plan_of
from rich.console import Console

from gpu_fabric.nccl.lint import Linter
from gpu_fabric.plan import Plan
from gpu_fabric.plan.nccl_files import TOPOLOGY_PLACE, NcclFile
from gpu_fabric.prepare import checked_plan
from gpu_fabric.report.text import plan_report
from gpu_fabric.spec.load import validate
from gpu_fabric.spec.stack_text import StackDocument

WISH = "fabric.nccl.topology"
NAMESPACES = {"fabric.namespaces": ["default", {"name": "jobs", "create": True}, "team-a"]}


def file_of(plan: Plan) -> NcclFile:
    (file,) = [file for file in plan.nccl.files if file.variable == "NCCL_TOPO_FILE"]
    return file


def kinds(text: str) -> set[str]:
    return {tag for tag in ("cpu", "pci", "gpu", "nic", "net", "nvlink") if f"<{tag}" in text}


@pytest.mark.parametrize(
    ("stack", "changes", "form", "reason"),
    [
        ("sriov-per-node", {}, "lean", "NCCL since 2.18.1 looks for a virtual function at function 0"),
        ("sriov-per-node", {WISH: "auto"}, "lean", "NCCL since 2.18.1 looks for a virtual function at function 0"),
        ("sriov-per-node", {WISH: "full"}, "full", "the stack file says so; it names ports"),
        ("sriov-per-node", {WISH: "lean"}, "lean", "the stack file says so"),
        ("sriov-per-node", {WISH: "none"}, None, "the stack file says so"),
        ("sriov-per-node", IN_USE, "lean", "the tree is in the stack file"),
        ("sriov-per-node", {**IN_USE, WISH: "none"}, None, "the stack file says so"),
        (
            "sriov-per-node",
            {"cluster.pools[0].shape": "BM.GPU.H200.8"},
            None,
            "no PCI tree of BM.GPU.H200.8 is published",
        ),
        ("host-network", {"cluster.pools[0].shape": "BM.GPU.H100.8"}, None, "pods see the NICs where they are"),
        ("host-network", {"cluster.pools[0].shape": "BM.GPU.H100.8", WISH: "lean"}, "lean", "the stack file says so"),
    ],
)
def test_a_stack_gets_the_form_that_fits_and_says_why(
    stack: str, changes: Changes, form: str | None, reason: str
) -> None:
    plan = plan_of(stack, changes)
    console = Console(file=StringIO(), width=200, record=True)
    console.print(plan_report(plan))

    assert plan.nccl.topology.form == form
    assert plan.nccl.topology.reason.startswith(reason)
    assert ("NCCL_TOPO_FILE" in plan.workload.environment) is (form is not None)
    assert f"{form or 'no file'}: {plan.nccl.topology.reason}"[:60] in console.export_text()


@pytest.mark.parametrize(
    ("form", "held"), [("lean", {"cpu", "pci"}), ("full", {"cpu", "pci", "gpu", "nic", "net", "nvlink"})]
)
def test_the_form_says_what_the_file_holds(form: str, held: set[str]) -> None:
    assert kinds(file_of(plan_of("sriov-per-node", {WISH: form})).content) == held


@pytest.mark.parametrize("changes", [{}, {WISH: "lean"}, IN_USE])
def test_the_file_is_in_every_namespace_and_its_name_carries_the_contents_hash(changes: Changes) -> None:
    plan = plan_of("sriov-per-node", {**changes, **NAMESPACES})
    file = file_of(plan)
    found = [entry.object.manifest() for entry in plan.applied("nccl") if entry.name == file.config_map]

    assert [manifest["metadata"]["namespace"] for manifest in found] == ["default", "jobs", "team-a"]
    assert all(manifest["data"] == {file.key: file.content} for manifest in found)
    assert file.config_map.endswith("-" + hashlib.sha256(file.content.encode()).hexdigest()[:8])


@pytest.mark.parametrize("changes", [{}, {WISH: "lean"}, IN_USE])
def test_the_variable_the_mount_and_the_config_map_lead_to_the_same_file(changes: Changes) -> None:
    plan = plan_of("sriov-per-node", changes)
    file = file_of(plan)
    spec: Any = plan.workload.pod_template_patch["spec"]
    (container,) = spec["containers"]
    path = next(entry["value"] for entry in container["env"] if entry["name"] == "NCCL_TOPO_FILE")
    mount = next(mount for mount in container["volumeMounts"] if mount["mountPath"] == path)
    volume = next(volume for volume in spec["volumes"] if volume["name"] == mount["name"])

    assert mount["subPath"] == file.key == TOPOLOGY_PLACE.key
    assert volume["configMap"] == {"name": file.config_map}


def test_another_form_has_another_name_so_that_pods_roll() -> None:
    names = {file_of(plan_of("sriov-per-node", {WISH: form})).config_map for form in ("lean", "full")}

    assert len(names) == 2


@pytest.mark.parametrize("changes", [{}, {WISH: "lean"}, IN_USE])
def test_the_planned_file_has_no_findings(changes: Changes) -> None:
    content = file_of(plan_of("sriov-per-node", changes)).content

    assert Linter.of().lint("topo.xml", content.encode()).findings == ()


def test_two_kinds_of_nodes_with_other_trees_share_a_stack_without_files() -> None:
    pools = [
        {"name": "old", "shape": "BM.GPU4.8", "nodes": 2},
        {"name": "new", "shape": "BM.GPU.A100-v2.8", "nodes": 2},
    ]
    plan = plan_of("sriov-per-node", {"cluster.pools": pools, WISH: "none"})

    assert "NCCL_TOPO_FILE" not in plan.workload.environment


def test_the_documented_tree_is_planned_as_it_is_shown(root: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (root / "docs/nccl.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    config = yaml.safe_load(example)["config"]
    sections = {name.removeprefix("gpu-fabric:"): section for name, section in config.items()}
    spec, problems = validate(StackDocument(name="mine", file="Pulumi.mine.yaml", root=root, sections=sections))
    assert spec is not None

    assert problems == ()
    assert kinds(file_of(checked_plan(spec)).content) == {"cpu", "pci"}
