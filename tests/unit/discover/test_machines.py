"""The outputs of all tools on a catalog shape give the catalog's machine, by name or written out."""

from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.catalog import Hardware, Shape, catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.stack_file import Discovered, StackFileOptions, stack_text
from gpu_fabric.nccl.topology import Form, topology_xml
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file
from tests.support.node_outputs import NodeOutputs

PLACED = [
    shape.name for shape in catalog().shapes.values() if shape.nics and all(nic.pci is not None for nic in shape.nics)
]

IN_TEXT = (
    "lspci",
    "rdma_link",
    "ibdev2netdev_verbose",
    "ibstat",
    "ip_link",
    "sysfs",
    "nvidia_smi_topo",
    "nvidia_smi_gpus",
)
IN_OTHER_FORMS = ("lspci_fields", "rdma_link_json", "ibv_devinfo", "ibstat", "ip_link_json", "sysfs", "nvidia_smi_topo")
IN_TABLES = (
    "lspci",
    "show_gids",
    "mst_status",
    "lshw",
    "ibstatus",
    "ip_link",
    "sysfs",
    "nvidia_smi_topo",
    "nvidia_smi_gpus",
)
WITHOUT_SYSFS = ("lspci", "rdma_link", "ibdev2netdev_verbose", "ibstat", "ip_link", "nvidia_smi_topo")


def machine_of(outputs: NodeOutputs, commands: tuple[str, ...]) -> Discovered:
    """AMD's machines have no nvidia-smi."""
    amd = outputs.shape.gpus.vendor == "amd"
    used = [command for command in commands if not (amd and command.startswith("nvidia_smi"))]
    return discovered(read_files({name: getattr(outputs, name)().encode() for name in used}), catalog())


def hardware_of(machine: Discovered) -> Hardware:
    return Hardware.model_validate(machine.machine.fields)


def plan_of(text: str, folder: Path) -> Plan:
    file = folder / "Pulumi.found.yaml"
    file.write_text(text, encoding="utf-8")
    return prepare(read_file(file), for_up=False).plan


def expected_nics(outputs: NodeOutputs) -> list[tuple[Any, ...]]:
    return [(pci, device, interface, gpu) for pci, device, interface, gpu in outputs.rails]


@pytest.mark.parametrize("name", PLACED)
def test_a_machine_of_the_catalog_is_named_and_its_plan_is_the_catalogs(name: str, tmp_path: Path) -> None:
    shape = catalog().shapes[name]
    machine = machine_of(NodeOutputs(shape, vfs=shape.vfs_per_nic), IN_TEXT)
    written = stack_text(machine, StackFileOptions(nodes=4)).text

    assert name in machine.match.equal
    twin = catalog().shapes[machine.match.equal[0]]
    assert [nic.pci for nic in twin.nics] == [nic.pci for nic in shape.nics]
    virtual = "ib-sriov" if NodeOutputs(shape).infiniband else "sriov"
    by_hand = f"""\
config:
  gpu-fabric:cluster:
    {{provider: existing, kubeconfig: ~/.kube/config, pools: [{{name: gpu, shape: {twin.name}, nodes: 4}}]}}
  gpu-fabric:fabric:
    model: {virtual if shape.vfs_per_nic else "host-device"}
    addressing: {{supernet: 172.16.0.0/16}}
"""
    assert plan_of(written, tmp_path) == plan_of(by_hand, tmp_path)


@pytest.mark.parametrize("commands", [IN_TEXT, IN_OTHER_FORMS, IN_TABLES], ids=["text", "other forms", "tables"])
@pytest.mark.parametrize("name", PLACED)
def test_the_machine_written_out_has_the_facts_of_the_catalog(name: str, commands: tuple[str, ...]) -> None:
    shape = catalog().shapes[name]
    outputs = NodeOutputs(shape, vfs=shape.vfs_per_nic)

    found = hardware_of(machine_of(outputs, commands))

    assert [(nic.pci, nic.rdma_device, nic.interface, nic.nearest_gpu) for nic in found.nics] == expected_nics(outputs)
    assert found.nic_model == shape.nic_model
    assert (found.vfs_per_nic, found.mtu, found.nic_speed_gbps) == (shape.vfs_per_nic, outputs.mtu, outputs.speed)
    assert (found.gpus.vendor, found.gpus.count, found.gpus.pci) == (
        shape.gpus.vendor, shape.gpus.count, outputs.gpus,
    )  # fmt: skip
    if commands != IN_OTHER_FORMS or shape.gpus.model not in ("B300", "GB200", "GB300"):
        # lspci's own list does not have the newest GPUs; nvidia-smi names them.
        assert found.gpus.model == (shape.gpus.model or "").partition("-")[0]
    listed = {(nic.pci, nic.rdma_device, nic.interface) for nic in found.front_end_nics or ()}
    assert listed >= {
        (nic.pci, nic.rdma_device, nic.interface) for nic in shape.front_end_nics or () if nic.rdma_device
    }


@pytest.mark.parametrize("name", catalog().topologies)
def test_nccls_dump_gives_the_topology_file_of_the_catalog(name: str) -> None:
    shape, tree = catalog().shapes[name], catalog().topologies[name]
    lean = topology_xml(shape, tree, Form.LEAN)
    outputs = NodeOutputs(shape)
    files = {
        "topo.xml": outputs.nccl_dump(lean),
        "net.txt": outputs.ibdev2netdev_verbose(),
        "link.txt": outputs.rdma_link(),
    }

    machine = discovered(read_files({file: text.encode() for file, text in files.items()}), catalog())
    found = hardware_of(machine)

    assert found.topology is not None
    own = Shape(name="lab", provider="inline", source="test", **dict(found))
    # Oracle's file of BM.GPU4.8 counts bridges of the GPU board by name; the order of siblings does not matter.
    written = topology_xml(own, tree.model_copy(update=dict(found.topology)), Form.LEAN)
    assert written == lean


def test_a_machine_unlike_the_catalogs_is_written_out_with_the_difference() -> None:
    outputs = NodeOutputs(catalog().shapes["server.dgx-h100.8"], mtu=4092)
    outputs.shape = outputs.shape.model_copy(
        update={
            "nics": tuple(
                nic.model_copy(update={"interface": f"ib{rail}"}) for rail, nic in enumerate(outputs.shape.nics)
            )
        }
    )

    machine = machine_of(outputs, IN_TEXT)
    written = stack_text(machine, StackFileOptions())

    assert machine.match.equal == ()
    assert "the NICs are where server.dgx-h100.8 has them, but: interface at 0000:18:00.0: ib0 instead of ibp24s0" in (
        " ".join(written.choices)
    )
    assert "shapes:" in written.text


def test_two_shapes_that_no_file_tells_apart_are_both_named_and_the_machine_is_written_out() -> None:
    outputs = NodeOutputs(catalog().shapes["BM.GPU.H100.8"])

    machine = discovered(read_files({"lspci.txt": outputs.lspci().encode()}), catalog())

    assert machine.catalog_shape is None
    assert machine.match.undecided == ("BM.GPU.H100.8", "BM.GPU.H100T.8")
    assert "BM.GPU.H100.8 and BM.GPU.H100T.8" in " ".join(stack_text(machine, StackFileOptions()).choices)


def test_devices_are_at_the_addresses_that_their_interfaces_names_encode_where_lspci_has_those() -> None:
    outputs = NodeOutputs(catalog().shapes["server.dgx-h100.8"])

    machine = machine_of(outputs, ("lspci", "ibdev2netdev", "nvidia_smi_topo"))

    assert [(nic.pci, nic.rdma_device) for nic in machine.choice.rails] == [
        (pci, device) for pci, device, _, _ in outputs.rails
    ]
    assert "encode" in " ".join(stack_text(machine, StackFileOptions(own_shape=True)).choices)


def test_devices_that_no_file_places_are_no_second_set_of_nics() -> None:
    shape = catalog().shapes["BM.GPU.H100.8"]

    machine = machine_of(NodeOutputs(shape), ("lspci", "ibdev2netdev"))

    assert [nic.pci for nic in machine.choice.rails] == [nic.pci for nic in shape.nics]
    assert {nic.pci for nic in machine.choice.others} == {nic.pci for nic in shape.front_end_nics or ()}
    assert "mlx5_0" in " ".join(machine.choice.doubts)


def test_functions_have_the_link_type_of_all_devices_though_it_is_not_known_which_is_which() -> None:
    ether, mixed = (
        machine_of(NodeOutputs(catalog().shapes[name]), ("lspci_short", "rdma_link"))
        for name in ("BM.GPU.H100.8", "BM.GPU.GB200.4")
    )

    assert {nic.link_type for nic in ether.choice.rails} == {"ether"}
    assert "the link type is that of every RDMA device: ether" in ether.node.inferred
    assert not any("link type is that" in text for text in mixed.node.inferred)


def test_without_the_kernels_links_the_matrix_of_nvidia_smi_has_the_nearest_gpus() -> None:
    outputs = NodeOutputs(catalog().shapes["BM.GPU.H100.8"])

    found = hardware_of(machine_of(outputs, WITHOUT_SYSFS))

    assert [nic.nearest_gpu for nic in found.nics] == [gpu for _, _, _, gpu in outputs.rails]
