"""Single facts of a node, and what follows from them."""

from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.stack_file import Discovered, StackFileOptions, stack_text
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file
from tests.support.node_outputs import NodeOutputs

GPUS = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n"


def machine(*texts: str) -> Discovered:
    return discovered(read_files({f"f{number}": text.encode() for number, text in enumerate(texts)}), catalog())


def matrix(*nics: tuple[str, str]) -> str:
    """A matrix of two GPUs, and for each NIC its connections to them."""
    names = [f"NIC{number}" for number in range(len(nics))]
    head = "\t".join(["", "GPU0", "GPU1", *names])
    rows = ["\t".join(["GPU0", " X ", "NV18", *(first for first, _ in nics)])]
    rows += ["\t".join(["GPU1", "NV18", " X ", *(second for _, second in nics)])]
    legend = [f"  {name}: mlx5_{number}" for number, name in enumerate(names)]
    return "\n".join([head, *rows, "", "Legend:", "", "NIC Legend:", "", *legend, ""])


@pytest.mark.parametrize(
    ("connections", "nearest"),
    [(("PXB", "PIX"), 1), (("PIX", "PXB"), 0), (("PXB", "SYS"), 0), (("NODE", "SYS"), None), (("PHB", "PHB"), None)],
)
def test_the_nearest_gpu_is_over_the_fewest_switches_and_below_the_same_bridge(
    connections: tuple[str, str], nearest: int | None
) -> None:
    (nic,) = machine(matrix(connections)).node.nics

    assert nic.nearest_gpu == nearest


def test_nics_that_are_equally_near_to_the_same_gpus_are_spread_over_them() -> None:
    found = machine(matrix(("PXB", "PXB"), ("PXB", "PXB")))

    assert [nic.nearest_gpu for nic in found.choice.rails] == [0, 1]
    assert "GPUs 0, 1 are equally near to mlx5_0, mlx5_1" in " ".join(stack_text(found, StackFileOptions()).choices)


def test_the_paths_tell_apart_what_nvidia_smi_has_as_equal() -> None:
    # Both are over several switches; one pair shares the inner one.
    begin = "lrwxrwxrwx 1 root root 0 Nov 25 10:00"
    root, inner = "../../../devices/pci0000:15/0000:15:01.0", ("0000:16:00.0", "0000:16:01.0")
    lines = [
        f"{begin} 0000:19:00.0 -> {root}/{inner[0]}/0000:19:00.0",
        f"{begin} 0000:1b:00.0 -> {root}/{inner[1]}/0000:1b:00.0",
        f"{begin} mlx5_0 -> {root}/{inner[1]}/0000:1a:00.0/infiniband/mlx5_0",
        f"{begin} 0000:1a:00.0 -> {root}/{inner[1]}/0000:1a:00.0",
    ]
    gpus = "index, pci.bus_id\n0, 00000000:19:00.0\n1, 00000000:1B:00.0\n"

    (nic,) = machine("\n".join(lines), matrix(("PXB", "PXB")), gpus).node.nics

    assert (nic.nearest, nic.nearest_gpu) == ((1,), 1)


def test_two_kinds_of_nics_in_equal_number_are_all_rails() -> None:
    lines = [
        f"0000:{bus:02x}:00.0 mlx5_{bus} (MT{device} - X) card fw 1.2.3 port 1 (ACTIVE) ==> eth{bus} (Up)"
        for bus, device in ((1, 4129), (2, 4129), (3, 4125), (4, 4125))
    ]

    assert [nic.rdma_device for nic in machine("\n".join(lines)).choice.rails] == [
        "mlx5_1",
        "mlx5_2",
        "mlx5_3",
        "mlx5_4",
    ]


def test_the_memory_of_the_gpus_sets_machines_with_the_same_nics_apart() -> None:
    of_40, of_80 = (
        machine(outputs.lspci(), outputs.ibdev2netdev_verbose(), outputs.nvidia_smi_gpus()).match.equal
        for outputs in (NodeOutputs(catalog().shapes[name]) for name in ("BM.GPU.B4.8", "BM.GPU.A100-v2.8"))
    )

    assert (of_40, of_80) == (("BM.GPU.B4.8",), ("BM.GPU.A100-v2.8", "BM.GPU.GM4.8"))


def test_a_server_of_the_catalog_may_run_the_other_link_type(tmp_path: Path) -> None:
    shape = catalog().shapes["server.dgx-h100.8"]
    assert shape.nic_model is not None
    nics = tuple(nic.model_copy(update={"interface": nic.other_interface}) for nic in shape.nics)
    model = shape.nic_model.model_copy(update={"link_type": "ether"})
    outputs = NodeOutputs(shape.model_copy(update={"nics": nics, "nic_model": model}))

    found = machine(outputs.lspci(), outputs.ibdev2netdev_verbose(), outputs.rdma_link(), outputs.ip_link())
    written = stack_text(found, StackFileOptions()).text
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(written, encoding="utf-8")
    plan = prepare(read_file(file), for_up=False).plan

    assert "shape: server.dgx-h100.8\n" in written
    assert "    linkType: ether  # as seen on the node\n    mtu: 9000  # as seen on the node\n" in written
    assert [rail.interface for rail in plan.rails] == [nic.other_interface for nic in shape.nics]


def test_a_clouds_machine_with_another_link_type_is_another_machine() -> None:
    shape = catalog().shapes["BM.GPU.GB200.4"]
    assert shape.nic_model is not None
    model = shape.nic_model.model_copy(update={"link_type": "ether"})
    outputs = NodeOutputs(shape.model_copy(update={"nic_model": model}))

    found = machine(outputs.lspci(), outputs.ibdev2netdev_verbose(), outputs.rdma_link(), outputs.nvidia_smi_gpus())

    assert found.match.different["BM.GPU.GB200.4"] == ("link type: ether instead of infiniband",)
    assert found.machine.fields["nicModel"]["linkType"] == "ether"


def test_virtual_functions_that_are_seen_or_missing_overrule_the_catalog() -> None:
    dgx, oracle = catalog().shapes["server.dgx-h100.8"], catalog().shapes["BM.GPU.H200.8"]
    written = {
        shape.name: stack_text(
            machine(*(getattr(outputs, name)() for name in ("lspci", "ibdev2netdev_verbose"))), StackFileOptions()
        )
        for shape, outputs in ((dgx, NodeOutputs(dgx, vfs=4)), (oracle, NodeOutputs(oracle)))
    }

    assert "    vfsPerNic: 4  # as seen on the node\n" in written[dgx.name].text
    assert "    vfsPerNic: 0  # as seen on the node\n" in written[oracle.name].text


def test_the_rate_of_a_port_that_is_down_is_not_its_line_rate() -> None:
    down = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Down\n\t\tRate: 10\n\t\tLink layer: Ethernet\n"

    (nic,) = machine(down).node.nics

    assert (nic.speed_gbps, nic.link_type) == (None, "ether")


def test_a_speed_that_the_driver_does_not_know_is_not_a_line_rate() -> None:
    unknown = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 40000\n\t\tLink layer: Ethernet\n"
    known = unknown.replace("40000", "400")

    assert [machine(text).node.nics[0].speed_gbps for text in (unknown, known)] == [None, 400]


def test_functions_in_domains_of_software_are_left_out() -> None:
    # Intel's volume management has domains above ffff, which no stack file can name.
    outputs = NodeOutputs(catalog().shapes["server.dgx-h100.8"])
    further = "10000:e1:00.0 Ethernet controller [0200]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]\n"

    assert machine(outputs.lspci() + further).node.nics == machine(outputs.lspci()).node.nics


def test_an_unequal_number_of_virtual_functions_leaves_the_hosts_network() -> None:
    outputs = NodeOutputs(catalog().shapes["BM.GPU.H100.8"], vfs=1)
    last = outputs.lspci().split("0000:d5:01.1")[0] + "".join(
        outputs.lspci().split("0000:d5:01.1")[1].partition("0000:d8")[1:]
    )

    written = stack_text(machine(last, outputs.rdma_link()), StackFileOptions(own_shape=True)).text

    assert "15 virtual functions were seen, which are no equal number for each rail" in " ".join(written.split())
    assert "model: host-network\n" in written


def test_a_nic_that_launch_kit_finds_far_from_its_gpu_has_no_nearest_one() -> None:
    entry = "pfs:\n- {pciAddress: '0000:1a:00.0', rdmaDevice: mlx5_0, connectedGPU: GPU1, gpuProximity: %s}\n"

    far, near = (machine(entry % proximity, GPUS).node.nics[0].nearest_gpu for proximity in ("NODE", "PXB"))

    assert (far, near) == (None, 1)


def test_one_group_of_a_cluster_config_is_chosen_by_its_name() -> None:
    group = "- {identifier: NAME, pfs: [{pciAddress: '1NAME:00.0'}]}\n"
    text = "clusterConfig:\n" + group.replace("NAME", "a") + group.replace("NAME", "b")

    found = discovered(read_files({"f": text.encode()}, group="b"), catalog())

    assert [nic.pci for nic in found.node.nics] == ["0000:1b:00.0"]
