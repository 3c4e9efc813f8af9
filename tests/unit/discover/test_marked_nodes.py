"""One file with the outputs of several nodes, each below a line with the node's name."""

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.stack_file import Discovered
from tests.support.cluster_objects import node_and_state, objects
from tests.support.node_outputs import NodeOutputs

COMMANDS = ("lspci", "rdma_link", "ibstat", "ip_link", "sysfs", "nvidia_smi_topo", "nvidia_smi_gpus")
DGX, OCI = (NodeOutputs(catalog().shapes[name]) for name in ("server.dgx-h100.8", "BM.GPU4.8"))


def marked(*nodes: tuple[str, NodeOutputs]) -> str:
    """The outputs of nodes, tool by tool, as a loop over the tools and the nodes writes them."""
    return "".join(
        f"===== {name} =====\n{getattr(outputs, command)()}" for command in COMMANDS for name, outputs in nodes
    )


def found_in(text: str, group: str | None = None) -> Discovered:
    return discovered(read_files({"nodes.txt": text.encode()}, {}, group), catalog())


def refusal(text: str, group: str | None = None) -> str:
    with pytest.raises(DiscoveryError) as refused:
        found_in(text, group)
    return str(refused.value)


def test_equal_nodes_are_one_machine_and_their_number() -> None:
    found = found_in(marked(("gpu-1", DGX), ("gpu-0", DGX), ("gpu-2", DGX)))

    assert found.match.equal[0] == "server.dgx-h100.8"
    assert found.node.names == ("gpu-0", "gpu-1", "gpu-2")
    assert {file for file, _ in found.sources} == {"nodes.txt"}
    assert len(found.sources) == len(COMMANDS)


def test_the_objects_of_a_cluster_name_nodes_of_which_no_output_was_taken() -> None:
    nodes = (node_and_state(catalog().shapes["BM.GPU4.8"], f"gpu-{number}")[0] for number in range(3))
    files = {"nodes.txt": marked(("gpu-0", OCI), ("gpu-1", OCI)), "objects.json": objects(nodes)}

    found = discovered(read_files({name: text.encode() for name, text in files.items()}, {}, None), catalog())

    assert found.node.names == ("gpu-0", "gpu-1", "gpu-2")


def test_nodes_of_several_kinds_are_groups_of_which_one_is_named() -> None:
    text = marked(("train-0", DGX), ("old-0", OCI), ("train-1", DGX))

    said = refusal(text)
    assert said.splitlines() == [
        "2 groups of nodes, and a stack file has one machine a run; name one with --group:",
        "  1: 8 GPUs, 8 rails: train-0, train-1",
        "  2: 8 GPUs, 16 rails: old-0",
    ]
    assert found_in(text, "1").node.names == ("train-0", "train-1")
    assert found_in(text, "2").match.equal == ("BM.GPU4.8",)
    assert refusal(text, "3").startswith("no group '3'; --group is one of:")


def test_a_node_whose_link_is_down_is_equal_to_the_others() -> None:
    down = DGX.ibstat().replace("State: Active", "State: Down", 1)
    mark = "===== gpu-1 =====\n"
    text = marked(("gpu-0", DGX), ("gpu-1", DGX)).replace(f"{mark}{DGX.ibstat()}", f"{mark}{down}")

    assert down in text
    assert found_in(text).node.names == ("gpu-0", "gpu-1")


def test_messages_have_the_files_own_lines() -> None:
    text = f"===== gpu-0 =====\n{DGX.rdma_link()}"
    broken = f"{text}===== gpu-1 =====\nlink mlx5_0/1 state ACTIVE\n.......\n"

    number = len(text.splitlines()) + 3
    assert f"nodes.txt:{number}: '.......' is not a line of `rdma link`" in refusal(broken)


def test_a_contradiction_names_its_node() -> None:
    text = f"===== gpu-7 =====\n{DGX.ibstat()}===== gpu-7 =====\n{DGX.ibstat().replace('InfiniBand', 'Ethernet')}"

    assert refusal(text).startswith("gpu-7: the files contradict each other")


def test_a_text_that_only_mentions_a_mark_is_no_list_of_nodes() -> None:
    assert "is not a line of `rdma link`" in refusal(f"{DGX.rdma_link()}===== gpu-0 =====\n")
