"""Both forms of topology files, for both libraries: of published trees, and of those in stack files."""

import re
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from each_case import each
from hypothesis import given, settings
from hypothesis import strategies as st
from own_machines import machines
from own_topology import MACHINE
from published_topologies import EXPECTED, SHAPES
from topology_texts import linter_of

from gpu_fabric.catalog import Hardware, Shape, Topology, catalog
from gpu_fabric.nccl.topology import Form, topology_xml
from gpu_fabric.nccl.tree_problems import tree_problems
from gpu_fabric.spec.stack import own_shape
from nccl_topology.dialect import Library

VERSIONS = [None, "2.18.3", "2.21.5", "2.27.3", "2.30.7"]


def published(shape: str, form: Form | None = None, library: Library | None = None) -> str:
    known = catalog()
    return topology_xml(known.shapes[shape], known.topologies[shape], form, library)


def own(row: dict[str, Any]) -> tuple[Shape, Topology]:
    """A machine of a stack file, as the plan sees it."""
    shape = own_shape("lab", Hardware.model_validate(row))
    return shape, catalog().with_shapes({"lab": shape}).topologies["lab"]


def places(text: str) -> dict[str, tuple[str, ...]]:
    """What lies above each PCI function: its NUMA node, then bridges."""
    found: dict[str, tuple[str, ...]] = {}

    def walk(element: Element, above: tuple[str, ...]) -> None:
        for pci in element.findall("pci"):
            found[pci.attrib["busid"]] = above
            walk(pci, (*above, pci.attrib["busid"]))

    for cpu in fromstring(text).findall("cpu"):  # noqa: S314 (our own text)
        walk(cpu, (cpu.attrib["numaid"],))
    return found


@each("version", VERSIONS)
@each("named", [True, False])
@each("library", Library)
@each("form", Form)
@each("name", SHAPES)
def test_every_file_of_a_published_tree_has_no_findings(
    name: str, form: Form, library: Library, named: bool, version: str | None
) -> None:
    linter = linter_of(library, version, name if named else None)

    assert linter.lint("topo.xml", published(name, form, library).encode()).problems == ()


@pytest.mark.parametrize("name", SHAPES)
def test_the_usual_form_of_a_published_tree_is_the_full_one_for_nccl(name: str) -> None:
    assert published(name) == published(name, Form.FULL, Library.NCCL)


@pytest.mark.parametrize("name", SHAPES)
def test_the_lean_form_is_the_same_tree_of_cpu_and_pci_alone(name: str) -> None:
    lean, full = published(name, Form.LEAN), published(name, Form.FULL)

    assert set(re.findall(r"<(\w+)", lean)) == {"system", "cpu", "pci"}
    assert places(lean) == places(full)
    assert lean.count("<pci") == EXPECTED[name].counts["pci"]


@pytest.mark.parametrize("name", SHAPES)
def test_the_lean_form_is_in_the_order_of_nodes_and_addresses(name: str) -> None:
    root = fromstring(published(name, Form.LEAN))  # noqa: S314 (our own text)
    nodes = [int(cpu.attrib["numaid"]) for cpu in root.findall("cpu")]

    assert nodes == sorted(nodes)
    for element in root.iter():
        addresses = [pci.attrib["busid"] for pci in element.findall("pci")]
        assert addresses == sorted(addresses)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("name", SHAPES)
def test_the_libraries_files_differ_in_version_and_in_links_that_rccl_skips(name: str, form: Form) -> None:
    nccl, rccl = published(name, form, Library.NCCL), published(name, form, Library.RCCL)

    assert rccl.splitlines()[0] == '<system version="2">'
    assert "nvlink" not in rccl
    assert places(nccl) == places(rccl)
    assert nccl.count("<gpu") == rccl.count("<gpu")


def test_the_tree_in_a_stack_file_makes_a_lean_file() -> None:
    shape, tree = own(MACHINE)

    assert topology_xml(shape, tree) == (
        '<system version="1">\n'
        '  <cpu numaid="0" affinity="0000ffff,0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" '
        'modelid="143">\n'
        '    <pci busid="ffff:01:00.0" class="0x060400" vendor="0x0000" device="0x0000" subsystem_vendor="0x0000" '
        'subsystem_device="0x0000" link_speed="32.0 GT/s PCIe" link_width="16">\n'
        '      <pci busid="0000:19:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>\n'
        '      <pci busid="0000:1a:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"/>\n'
        "    </pci>\n"
        "  </cpu>\n"
        '  <cpu numaid="1" affinity="ffff0000,ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" '
        'modelid="143">\n'
        '    <pci busid="ffff:02:00.0" class="0x060400" vendor="0x0000" device="0x0000" subsystem_vendor="0x0000" '
        'subsystem_device="0x0000" link_speed="32.0 GT/s PCIe" link_width="16">\n'
        '      <pci busid="0000:9b:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>\n'
        '      <pci busid="0000:9c:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"/>\n'
        "    </pci>\n"
        "  </cpu>\n"
        "</system>\n"
    )


def test_a_tree_in_a_stack_file_has_no_full_form() -> None:
    with pytest.raises(ValueError, match="the full form is not published"):
        topology_xml(*own(MACHINE), Form.FULL)


def test_a_machine_with_gpus_of_amd_gets_a_file_for_rccl() -> None:
    row = {**MACHINE, "gpus": {**MACHINE["gpus"], "vendor": "amd"}}

    assert topology_xml(*own(row)).startswith('<system version="2">\n')


@given(machines())
@settings(max_examples=60, deadline=None)
def test_every_consistent_tree_makes_files_without_findings(row: dict[str, Any]) -> None:
    shape, tree = own(row)

    assert tree_problems(shape, tree) == ()
    for library in Library:
        data = topology_xml(shape, tree, library=library).encode()
        for version in VERSIONS:
            for compared in (shape, None):
                assert linter_of(library, version, compared).lint("topo.xml", data).problems == ()


@given(machines())
@settings(max_examples=60, deadline=None)
def test_the_file_has_every_device_once_below_what_the_tree_says(row: dict[str, Any]) -> None:
    shape, tree = own(row)
    placed = places(topology_xml(shape, tree))
    adapters = {nic["pci"].partition(".")[0] + ".0" for nic in row["nics"]}

    assert {busid for busid in placed if not busid.startswith("ffff")} == {*row["gpus"]["pci"], *adapters}
    for numa in row["topology"]["numa"]:
        for number in re.findall(r"G(\d+)", numa["tree"]):
            assert placed[row["gpus"]["pci"][int(number)]][0] == str(numa["node"])


@given(machines(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_tree_that_lacks_or_repeats_a_device_is_not_that_of_the_machine(
    row: dict[str, Any], data: st.DataObject
) -> None:
    numa = data.draw(st.sampled_from(row["topology"]["numa"]))
    leaf = data.draw(st.sampled_from(re.findall(r"(?<=[(,;>])[GN][^,;)]+", f";{numa['tree']}")))
    repeated = {**numa, "tree": f"{numa['tree']};{leaf}"}
    others = [each for each in row["topology"]["numa"] if each is not numa]
    shape, tree = own({**row, "topology": {**row["topology"], "numa": [*others, repeated]}})

    assert any("twice" in problem.message for problem in tree_problems(shape, tree))
    if others:
        shape, tree = own({**row, "topology": {**row["topology"], "numa": others}})
        assert any("is in no tree" in problem.message for problem in tree_problems(shape, tree))
