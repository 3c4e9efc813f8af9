"""`gpu-fabric topology`: files of both forms and libraries, also of shapes in a stack file; refusals."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import changed
from own_topology import IN_USE, MACHINE, TREE
from typer.testing import CliRunner

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.app import app
from gpu_fabric.nccl.topology import Form, topology_xml
from gpu_fabric.spec.load import read_document
from nccl_topology.dialect import Library

Stack = Callable[[dict[str, Any]], None]


@pytest.fixture
def stack(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """Write a stack `lab` with values of one's own into the current folder."""
    shutil.copy(root / "tests/stacks/Pulumi.sriov-per-node.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)

    def write(changes: dict[str, Any]) -> None:
        document = changed(read_document("sriov-per-node", tmp_path), changes)
        config = {f"gpu-fabric:{name}": section for name, section in document.sections.items()}
        (tmp_path / "Pulumi.lab.yaml").write_text(yaml.safe_dump({"config": config}), encoding="utf-8")

    return write


def topology(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["topology", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("library", Library)
@pytest.mark.parametrize("form", Form)
def test_form_and_library_are_chosen(form: Form, library: Library) -> None:
    known = catalog()
    shape = "BM.GPU.A100-v2.8"
    text = topology_xml(known.shapes[shape], known.topologies[shape], form, library)

    assert topology(shape, "--form", form, "--library", library) == (0, text, "")


@pytest.mark.parametrize(
    "shape", ["BM.GPU.B4.8", "BM.GPU.MI300X.8", "gpu-h100x8-640gb-contracted", "server.dgx-h100.8"]
)
def test_no_tree_is_guessed_in_either_form(shape: str) -> None:
    for form in Form:
        code, text, said = topology(shape, "--form", form)
        assert (code, text) == (2, "")
        assert said.startswith(f"no PCI tree of {shape} is published, and none is guessed; there is one of: BM.GPU4.8")


def test_a_shape_of_a_stack_file_gets_its_file(stack: Stack) -> None:
    stack(IN_USE)
    code, text, said = topology("lab", "--stack", "lab")

    assert (code, said) == (0, "")
    assert text.splitlines()[1].startswith('  <cpu numaid="0" affinity="0000ffff,0000ffff"')
    assert text.count("<pci") == 6


def test_the_full_form_of_a_tree_in_a_stack_file_is_refused(stack: Stack) -> None:
    stack(IN_USE)

    assert topology("lab", "-s", "lab", "--form", "full") == (
        2,
        "",
        "lab: the full form is not published; write the lean one\n",
    )


def test_a_tree_that_is_not_its_shapes_is_refused_with_every_place(stack: Stack) -> None:
    stack({**IN_USE, f"{TREE}.numa[0].tree": "ffff:01:00.0>(G0,G0)", f"{TREE}.numa[1].node": 0})
    code, text, said = topology("lab", "-s", "lab")

    assert (code, text) == (2, "")
    assert f"gpu-fabric:{TREE}.numa[0].tree" in said
    assert f"gpu-fabric:{TREE}.numa[1].node" in said
    assert "the RDMA NIC at 0000:1a:00.0 is in no tree" in said


def test_a_shape_without_a_tree_in_a_stack_file_is_refused(stack: Stack) -> None:
    stack({**IN_USE, "cluster.shapes.lab": {key: value for key, value in MACHINE.items() if key != "topology"}})
    code, _, said = topology("lab", "-s", "lab")

    assert code == 2
    assert said.startswith("no PCI tree of lab is published")


def test_a_stack_that_cannot_be_read_is_refused(stack: Stack) -> None:
    stack({**IN_USE, f"{TREE}.numa[0].tree": "G0 and N1a"})
    code, text, said = topology("lab", "-s", "lab")

    assert (code, text) == (2, "")
    assert "'G0 and N1a' is not a valid PCI tree" in said
