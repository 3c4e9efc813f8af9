"""The page about components: each of its programs runs, and it names every argument and output."""

from __future__ import annotations

import re

import pytest
from programs import ROOT, answered_waits
from pulumi.provider.experimental.analyzer import Analyzer
from recording import Recording, record
from stub_cluster import KUBECONFIG, TOKEN

import components

pytestmark = pytest.mark.components

PAGE = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PUBLIC = [name for name in components.__all__ if f"{name}Args" in components.__all__]


def run(program: str) -> Recording:
    """What a program of the page registers, with the configuration that it reads."""
    # The name of the package in a checkout.
    text = program.replace("gpu_fabric.components", "components")
    config = {f"gpu-fabric:{name}-kubeconfig": KUBECONFIG for name in ("train", "research")}
    with answered_waits():
        return record(lambda: exec(text, {}), stack="mine", config=config)  # noqa: S102  # from the page


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_each_program_of_the_page_runs(program: str) -> None:
    recording = run(program)

    assert recording.of_type("NetworkAttachmentDefinition")
    assert TOKEN not in str(recording.outputs)


def test_the_first_program_has_two_fabrics_in_few_lines() -> None:
    assert len(PROGRAMS[0].splitlines()) <= 25
    assert {entry.name for entry in run(PROGRAMS[0]).of_type(":GpuFabric")} == {"train", "research"}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_page_has_every_argument_and_output_of_a_component(name: str) -> None:
    found = Analyzer("gpu-fabric").analyze([getattr(components, name)])["component_definitions"][name]
    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))

    assert {*found.inputs_mapping.values(), *found.outputs_mapping.values()} <= named
