"""The stack files and drawings on pages for people: what they show is what the program plans today."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.places import NAMESPACE
from gpu_fabric.spec.stack_text import StackDocument, parsed

ROOT = Path(__file__).parents[3]
# The pages of models: each section with a stack file has a drawing of it.
MODELS = {"network-operator": "docs/nvidia-operators.md", "spiderpool": "docs/spiderpool.md"}
COMMITTED = sorted([*ROOT.glob("Pulumi.*.yaml"), *ROOT.glob("examples/Pulumi.*.yaml")])
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"\A# (examples/Pulumi\.([a-z0-9-]+)\.yaml)\n")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return [content for found, content in _BLOCK.findall(text) if found == language]


def sections() -> dict[str, str]:
    """The sections of the pages of models that show a stack file, by page and heading."""
    found = {}
    for page in MODELS.values():
        for section in re.split(r"^(?=##)", text_of(page), flags=re.MULTILINE):
            if blocks(section, "yaml"):
                found[f"{page}: {section.splitlines()[0].lstrip('# ')}"] = section
    return found


def shown_examples() -> dict[str, str]:
    """The stack files on the pages of models that are an example, by the example's name."""
    shown = (block for section in sections().values() for block in blocks(section, "yaml"))
    return {match[2]: block for block in shown if (match := _EXAMPLE.match(block))}


def examples() -> list[str]:
    return sorted(path.name.split(".")[1] for path in (ROOT / "examples").glob("Pulumi.*.yaml"))


def stacks_in(text: str) -> Iterator[StackDocument]:
    for number, block in enumerate(blocks(text, "yaml")):
        config = parsed(block).content["config"]
        yield StackDocument(
            name=f"block-{number}",
            file="a page",
            root=ROOT,
            sections={key.removeprefix(f"{NAMESPACE}:"): value for key, value in config.items()},
        )


@cache
def shown_plan(section: str) -> Plan:
    """The plan of the stack file of a section."""
    (document,) = stacks_in(sections()[section])
    return prepare(document, for_up=False).plan


def old_lines(plan: Plan) -> list[str]:
    """What a plan says of a line that a newer one here replaces; the guide's is for machines that are installed so."""
    if catalog().releases[plan.release_line].policy_by == "chart":
        return []
    return [str(entry) for entry in plan.findings if entry.id in ("REL015", "REL016")]


def must_be_drawn(plan: Plan) -> Iterator[str]:
    """The names that a drawing of rail 0 cannot be right without."""
    rail = plan.rails[0]
    assert rail.network is not None
    yield rail.network
    if rail.resource_name is not None:
        yield rail.resource_name
    for objects in (plan.applied("networks"), plan.applied("ip-pools", "node-pools")):
        if objects:
            yield f"{objects[0].object.kind}"
    for first in plan.applied("ip-pools", "node-pools")[:1]:
        yield f"{first.object.kind} {first.name}"
    if plan.release("whereabouts") is not None:
        yield plan.release("whereabouts").chart.name
        yield str(plan.addresses.pools[0].subnet)
    for first in plan.applied("sriov-policies")[:1]:
        yield f"{first.object.kind} {first.name}"
    for planned in plan.applied("virtual-functions", "nic-addresses"):
        if planned.object.kind == "DaemonSet":
            yield f"DaemonSet {planned.name}"
    for planned in plan.applied("nic-node-policies"):
        yield f"{planned.object.kind} {planned.name}"
    for nodes in plan.node_groups or ():
        yield f"NIC {nodes.rails[0].pci}"
    if not plan.node_groups:
        # The shared device plug-in knows a NIC by its interface, and so does a network on it.
        yield f"NIC {rail.interface if plan.shared_plugin or rail.resource is None else rail.pci}"


@pytest.mark.parametrize("page", [*MODELS.values(), "README.md"])
def test_every_stack_file_on_the_page_can_be_planned_without_a_warning_of_its_line(page: str) -> None:
    stacks = list(stacks_in(text_of(page)))

    assert stacks
    assert [said for document in stacks for said in old_lines(prepare(document, for_up=False).plan)] == []


@pytest.mark.parametrize("name", [path.name.split(".")[1] for path in COMMITTED])
def test_no_committed_stack_is_in_an_older_line_than_the_newest_but_those_of_the_guides_machines(name: str) -> None:
    assert old_lines(prepare(read_document(name, ROOT), for_up=False).plan) == []


@pytest.mark.parametrize("name", shown_examples())
def test_a_stack_file_on_a_page_of_models_is_the_example_that_it_names(name: str) -> None:
    example = (ROOT / "examples" / f"Pulumi.{name}.yaml").read_text(encoding="utf-8")

    assert parsed(shown_examples()[name]).content == parsed(example).content


@pytest.mark.parametrize("section", sections())
def test_a_drawing_has_the_names_that_the_plan_beside_it_has(section: str) -> None:
    (drawing,) = blocks(sections()[section], "mermaid")
    words = " ".join(drawing.replace("<br/>", " ").split())

    assert [name for name in must_be_drawn(shown_plan(section)) if name not in words] == []


@pytest.mark.parametrize("example", examples())
def test_a_page_mentions_every_example(example: str) -> None:
    pages = (path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))

    assert any(f"`{example}`" in page for page in pages)


@pytest.mark.parametrize("manager", MODELS)
def test_a_page_of_models_has_every_model_of_its_manager(manager: str) -> None:
    table = [line for line in text_of(MODELS[manager]).splitlines() if line.startswith("|")]

    for row in catalog().support:
        if row.manager == manager:
            assert any(f"`{row.model}`" in line for line in table), row.model
