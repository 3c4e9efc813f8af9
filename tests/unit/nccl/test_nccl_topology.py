"""NCCL topology files: the tree of each shape as its tables say, in the dialect that NCCL's reader takes."""

import re
from collections import Counter
from dataclasses import dataclass
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_topologies import EXPECTED, SHAPES
from syrupy.assertion import SnapshotAssertion
from topology_texts import full

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.shape import Bridge, NumaNode, parse_tree
from gpu_fabric.nccl.topology import cpu_mask, link_layer_guid, vf_devices


def tree_of(shape: str) -> Element:
    return fromstring(full(shape))  # noqa: S314 (our own text)


@dataclass(frozen=True)
class Leaf:
    """A GPU or an adapter with what lies above it: its NUMA node and its bridges from the root."""

    element: Element
    numa: int
    bridges: tuple[str, ...]

    @property
    def bus(self) -> str:
        return bus_of(self.element)

    @property
    def gpu(self) -> int:
        return int(next(self.element.iter("gpu")).attrib["dev"])


def bus_of(element: Element) -> str:
    return element.attrib["busid"].split(":")[1]


def leaves(shape: str, kind: str) -> list[Leaf]:
    found: list[Leaf] = []

    def walk(element: Element, numa: int, above: tuple[str, ...]) -> None:
        if element.find(kind) is not None:
            found.append(Leaf(element, numa, above))
        for child in element.findall("pci"):
            walk(child, numa, (*above, bus_of(element)))

    for cpu in tree_of(shape).findall("cpu"):
        for pci in cpu.findall("pci"):
            walk(pci, int(cpu.attrib["numaid"]), ())
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shapes_file_is_the_tree_of_the_published_tables(shape: str) -> None:
    known, expected, tree = catalog().shapes[shape], EXPECTED[shape], tree_of(shape)
    kinds = Counter(element.tag for element in tree.iter())
    gpus, adapters, cpus = leaves(shape, "gpu"), leaves(shape, "nic"), tree.findall("cpu")
    assert {kind: number for kind, number in kinds.items() if kind != "system"} == expected.counts
    assert {leaf.gpu: leaf.element.attrib["busid"] for leaf in gpus} == dict(enumerate(known.gpus.pci))
    assert {leaf.bus: " ".join(leaf.bridges) for leaf in gpus} == expected.gpus
    assert [(int(cpu.attrib["numaid"]), cpu.attrib["affinity"]) for cpu in cpus] == [*expected.affinity.items()]
    for leaf in gpus:
        written = leaf.element.iter("nvlink")
        links = [(link.attrib["target"].split(":")[1], int(link.attrib["count"])) for link in written]
        assert " ".join(f"{bus}{count}" for bus, count in links) == expected.links[leaf.gpu]
        assert sum(count for _, count in links) == expected.link_sum
    placed = {
        leaf.bus: (
            leaf.numa,
            " ".join(leaf.bridges),
            [(net.attrib["name"], net.attrib["dev"], net.attrib["port"]) for net in leaf.element.iter("net")],
        )
        for leaf in adapters
    }
    assert placed == {
        bus: (
            row.numa,
            row.bridges,
            [(f"mlx5_{row.devices[place]}", str(row.dev + place), str(place + 1)) for place in (0, 1)],
        )
        for bus, row in expected.nics.items()
    }
    numbers = catalog().topologies[shape].full
    assert numbers is not None
    # Rails name the same virtual functions as the ports.
    rails = [(expected.nics[rail.pci.split(":")[1]], int(rail.pci[-1])) for rail in known.nics]
    assert [*vf_devices(numbers, known.rails)] == [f"mlx5_{row.devices[port]}" for row, port in rails]


def test_guids_differ_between_shapes_and_are_stable() -> None:
    assert link_layer_guid("a", "0c") == link_layer_guid("a", "0c") != link_layer_guid("b", "0c")


@pytest.mark.parametrize("shape", SHAPES)
def test_speeds_are_those_of_the_published_file(shape: str) -> None:
    text = full(shape)

    assert set(re.findall(r'link_speed="([^"]+)"', text)) == EXPECTED[shape].speeds
    assert set(re.findall(r' speed="(\d+)"', text)) == {str(EXPECTED[shape].net_speed)}


@pytest.mark.parametrize("shape", ["BM.GPU4.8", "BM.GPU.A100-v2.8"])
def test_bridge_identities_follow_their_depth_and_the_gpu_board_has_its_own(shape: str) -> None:
    identities = {(leaf.bus, depth): pci for leaf in leaves(shape, "gpu") for depth, pci in enumerate(leaf.bridges)}
    by_bus = {bus_of(pci): pci.attrib["subsystem_device"] for pci in tree_of(shape).iter("pci")}
    wanted = ["0xa032", "0xa032", "0xa096", "0xa096", "0x13b8"]

    assert all(by_bus[bus] == wanted[depth] for (_, depth), bus in identities.items())


@pytest.mark.parametrize(
    "tree",
    [
        "",
        "01>",
        "01",
        ">01",
        "01>03>(G0",
        "01>(G0,)",
        "01>G0)",
        "01>G0;",
        "01>G0 ;02>G1",
        "0x>G0",
        "01>N0",
        "01>G0,02>G1",
        "01>02",
        "0000:01:00>G0",
        "ffff:01:00.8>G0",
        ">".join(["01"] * 17) + ">G0",
        "01>" * 9000,
    ],
)
def test_a_malformed_tree_is_refused_with_its_text(tree: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(tree))):
        parse_tree(tree)


def test_siblings_and_roots_keep_the_order_of_the_text() -> None:
    first, second = parse_tree("08>(0d>G0,0a>N0c);26>28*>G1")
    assert isinstance(first, Bridge)
    assert isinstance(second, Bridge)

    assert [getattr(child, "address", None) for child in first.children] == ["0000:0d:00.0", "0000:0a:00.0"]
    assert second.children[0] == Bridge("0000:28:00.0", True, parse_tree("G1"))


def test_an_address_may_be_written_out() -> None:
    assert parse_tree("ffff:01:02.3>(G0,N0001:1a:00.0)") != parse_tree("01>(G0,N1a)")
    assert parse_tree("0000:01:00.0>(G0,N0000:1a:00.0)") == parse_tree("01>(G0,N1a)")


@given(first=st.integers(0, 220), length=st.integers(1, 64), words=st.integers(7, 9))
@settings(max_examples=60, deadline=None)
def test_a_cpu_mask_holds_exactly_the_cpus_of_its_ranges(first: int, length: int, words: int) -> None:
    bits = 32 * words
    last = min(first + length - 1, bits - 1)
    text = cpu_mask(NumaNode(node=0, cpus=((first, last),), tree="01>G0"), bits)

    value = int(text.replace(",", ""), 16)
    assert {cpu for cpu in range(bits) if value >> cpu & 1} == set(range(first, last + 1))
    assert [len(word) for word in text.split(",")] == [8] * words


def test_the_topology_file_of_the_h100_is_the_reviewed_one(snapshot: SnapshotAssertion) -> None:
    assert full("BM.GPU.H100.8") == snapshot
