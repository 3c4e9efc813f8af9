"""Which topology file a stack's jobs get, why, and that NCCL finds it in every namespace where jobs run."""

import re
from io import StringIO
from pathlib import Path

import pytest
import yaml
from changes import Changes
from own_topology import IN_USE
from planned_fabrics import plan_of
from rich.console import Console
from topology_texts import linter_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.nccl_files import NcclFile
from gpu_fabric.prepare import plan_spec
from gpu_fabric.report.text import plan_report
from gpu_fabric.spec.load import validate
from gpu_fabric.spec.stack_text import StackDocument

WISH = "fabric.nccl.topology"


def file_of(plan: Plan) -> NcclFile:
    (file,) = [file for file in plan.nccl.files if file.variable == "NCCL_TOPO_FILE"]
    return file


def kinds(text: str) -> set[str]:
    return {tag for tag in ("cpu", "pci", "gpu", "nic", "net", "nvlink") if f"<{tag}" in text}


@pytest.mark.parametrize(
    ("stack", "changes", "form", "reason"),
    [
        ("sriov-per-node", {}, "lean", "NCCL since 2.18.1 looks for a virtual function at function 0"),
        ("sriov-per-node", {WISH: "full"}, "full", "the stack file says so; it names ports"),
        ("sriov-per-node", {WISH: "lean"}, "lean", "the stack file says so"),
        ("sriov-per-node", {WISH: "none"}, None, "the stack file says so"),
        ("sriov-per-node", IN_USE, "lean", "the tree is in the stack file"),
        ("sriov-per-node", {"cluster.pools[0].shape": "BM.GPU.H200.8"}, None, "no PCI tree of BM.GPU.H200.8 is "),
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


_ALL = {"cpu", "pci", "gpu", "nic", "net", "nvlink"}


@pytest.mark.parametrize(
    ("changes", "held"), [({WISH: "lean"}, {"cpu", "pci"}), ({WISH: "full"}, _ALL), (IN_USE, {"cpu", "pci"})]
)
def test_the_planned_file_holds_what_its_form_says_and_has_no_findings(changes: Changes, held: set[str]) -> None:
    content = file_of(plan_of("sriov-per-node", changes)).content

    assert kinds(content) == held
    assert changes == {WISH: "full"} or linter_of().lint("topo.xml", content.encode()).problems == ()


def test_the_documented_tree_is_planned_as_it_is_shown(root: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (root / "docs/nccl.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    config = yaml.safe_load(example)["config"]
    sections = {name.removeprefix("gpu-fabric:"): section for name, section in config.items()}
    spec, problems = validate(StackDocument(name="mine", file="Pulumi.mine.yaml", root=root, sections=sections))
    assert spec is not None

    assert problems == ()
    assert kinds(file_of(plan_spec(spec)).content) == {"cpu", "pci"}
