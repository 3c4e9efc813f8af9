"""The output of one tool alone: its facts are taken, all others are named as not known, and can be filled in."""

import re
from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.stack_file import Discovered, StackFileOptions, StackText, stack_text
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.prepare import prepare
from gpu_fabric.report.pages.key_explanation import stack_keys
from gpu_fabric.spec.load import read_file
from tests.support.node_outputs import NodeOutputs

SHAPE_KEYS = {key.path.removeprefix("cluster.shapes.<name>.") for key in stack_keys()}
SHAPES = ("server.dgx-h100.8", "BM.GPU.H100.8", "BM.GPU.MI300X.8")
COMMANDS = (
    "lspci", "lspci_fields", "lspci_short", "sysfs", "rdma_link", "rdma_link_json", "ibdev2netdev",
    "ibdev2netdev_verbose", "ibstat", "ibv_devinfo", "ibstatus", "show_gids", "mst_status",
    "ip_link", "ip_link_json", "nvidia_smi_gpus", "nvidia_smi_topo",
    "cluster_config",
)  # fmt: skip


def found_by(shape: str, command: str) -> tuple[Discovered, StackText]:
    known = catalog().find(shape)
    assert known is not None
    text: str = getattr(NodeOutputs(known), command)()
    machine = discovered(read_files({"output.txt": text.encode()}), catalog())
    return machine, stack_text(machine, StackFileOptions(own_shape=True, name="lab"))


# AMD's machines have no nvidia-smi.
WITH_NICS = [
    (shape, command)
    for shape in SHAPES
    for command in COMMANDS
    if command not in ("nvidia_smi_gpus", "ip_link", "ip_link_json") and (shape, command[:6]) != (SHAPES[2], "nvidia")
]


@pytest.mark.parametrize(("shape", "command"), WITH_NICS)
def test_what_one_tool_leaves_open_is_all_that_a_plan_asks_for(shape: str, command: str, tmp_path: Path) -> None:
    _, written = found_by(shape, command)
    # What a person would write at the marks.
    filled = written.text.replace(
        "        # CHOOSE: gpus: {vendor: nvidia, model: …, count: …}", "        gpus: {vendor: nvidia, count: 8}"
    )
    if "CHOOSE: linkType" in filled:
        filled = filled.replace("nicModel: {}", "nicModel: {linkType: ether}")
        filled = filled.replace("nicModel: {", "nicModel: {linkType: ether, ") if "{linkType" not in filled else filled
    if "required, since" in filled:
        filled = filled.replace("        # labels: {KEY: VALUE}", "        labels: {lab.example/gpu: here}")
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(filled, encoding="utf-8")

    plan = prepare(read_file(file), for_up=False).plan

    assert len(plan.rails) == len(found_by(shape, command)[0].choice.rails) >= 8


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unfilled_file_is_refused_for_the_marked_keys_alone(command: str, tmp_path: Path) -> None:
    machine, written = found_by("BM.GPU.H100.8", command)
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(written.text, encoding="utf-8")
    asked = set()
    try:
        prepare(read_file(file), for_up=False)
    except ConfigurationError as error:
        asked = {finding.path.rpartition(".")[2] for finding in error.findings}

    required = {line.partition(":")[0] for line in machine.machine.required}
    if not machine.choice.rails:
        # A machine without RDMA NICs has no fabric.
        required |= {"shape"} - ({"shape"} if "gpus" in required else set())
    assert asked == required


@pytest.mark.parametrize(("shape", "link"), [("BM.GPU.H100.8", "ether"), ("server.dgx-h100.8", "infiniband")])
def test_the_classes_that_lspci_prints_state_the_link_type_and_a_comment_says_so(shape: str, link: str) -> None:
    machine, written = found_by(shape, "lspci")

    assert {nic.link_type for nic in machine.choice.rails} == {link}
    assert f"linkType: {link}" in written.text
    assert [entry for entry in written.missing if "link type" in entry] == []
    assert link == "infiniband" or "NICs of PCI class 0200" in " ".join(written.text.split())


@pytest.mark.parametrize(
    ("command", "unknown"),
    [
        ("lspci", ["nearest GPU", "MTU", "line rate", "names of the RDMA devices", "interfaces", "PCI tree"]),
        ("rdma_link",
            ["vendor and number of the GPUs", "device ids", "MTU", "line rate", "PCI addresses", "nearest GPU"]),
        ("ibstat", ["vendor and number of the GPUs", "MTU", "PCI addresses", "interfaces", "nearest GPU", "PCI tree"]),
        ("nvidia_smi_topo", ["GPU model", "PCI addresses of the GPUs", "device ids", "link type", "MTU", "interfaces"]),
        ("cluster_config", ["vendor and number of the GPUs", "MTU", "line rate", "PCI tree"]),
    ],
)  # fmt: skip
def test_what_a_tool_does_not_say_is_named_with_the_command_that_does(command: str, unknown: list[str]) -> None:
    _, written = found_by("BM.GPU.H100.8", command)
    every = "\n".join(written.missing)

    assert [words for words in unknown if words not in every] == []
    assert all("`" in entry or "NCCL_TOPO_DUMP_FILE" in entry for entry in written.missing)
    assert all(entry.split(";")[0] in " ".join(written.text.split()) for entry in written.missing)
    keys = [found[1] for entry in written.missing if (found := re.search(r"or write (\S+) of the shape", entry))]
    assert len(keys) >= len(unknown) - 1
    assert [key for key in keys if key not in SHAPE_KEYS and f"{key}[]" not in SHAPE_KEYS] == []
