"""Files that contradict each other are refused, and every contradiction is said with both places."""

from itertools import permutations

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from tests.support.node_outputs import NodeOutputs

LINK = "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1np0\n"
VERBOSE = "0000:18:00.0 mlx5_0 (MT4129 - X) card fw 28.41.1000 port 1 (ACTIVE) ==> ens1np0 (Up)\n"
GPU = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n"
TOPO = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV18\tPIX\nGPU1\tNV18\t X \tSYS\n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
LSPCI_GPU = "0000:19:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n"


def reason(**files: str) -> str:
    with pytest.raises(DiscoveryError) as refused:
        discovered(read_files({name: text.encode() for name, text in files.items()}), catalog())
    return str(refused.value)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a": LINK, "b": VERBOSE.replace("ens1np0", "ens2np0")},
            "interface of RDMA device mlx5_0: ens1np0 in a:1, ens2np0 in b:1"),
        ({"a": VERBOSE, "b": VERBOSE.replace("18:00.0", "19:00.0")},
            "PCI address of RDMA device mlx5_0: 0000:18:00.0 in a:1, 0000:19:00.0 in b:1"),
        ({"a": LINK, "b": "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tLink layer: InfiniBand\n"},
            "link type of RDMA device mlx5_0: ether in a:1, infiniband in b:4"),
        ({"a": VERBOSE + VERBOSE.replace("mlx5_0", "mlx5_1").replace("ens1np0", "ens2np0")},
            "RDMA device mlx5_1 and RDMA device mlx5_0 would be one NIC: RDMA device mlx5_1 is at 0000:18:00.0 in a:2"),
        ({"a": VERBOSE, "b": "hca_id:\tmlx5_0\n\tvendor_part_id:\t\t4131\n\t\tport:\t1\n"},
            "device id of RDMA device mlx5_0: 1021 in a:1, 1023 in b:2"),
        ({"a": TOPO, "b": LSPCI_GPU}, "number of GPUs: 2 in a, 1 in b"),
        ({"a": "index, pci.bus_id\n0, 00000000:18:00.0\n", "b": LSPCI_GPU},
            "GPU at 0000:18:00.0, which is not among the GPUs of b"),
        ({"a": TOPO, "b": TOPO.replace("PIX", "SYS", 1).replace("X \tSYS", "X \tPIX", 1)},
            "nearest GPU of mlx5_0: 0 in a:7, 1 by b:7"),
        ({"a": GPU, "b": GPU.replace("H100", "H200")}, "name of GPU 0: NVIDIA H100 80GB HBM3 in a:1, NVIDIA H200"),
    ],
)  # fmt: skip
def test_a_contradiction_is_said_with_both_places(files: dict[str, str], said: str) -> None:
    text = reason(**files)

    assert text.startswith("the files contradict each other; give the output of one node")
    assert said in text


def test_all_contradictions_are_said_at_once() -> None:
    other = VERBOSE.replace("18:00.0", "19:00.0").replace("ens1np0", "ens9np0")

    assert len(reason(a=VERBOSE, b=other).splitlines()) >= 3


def links(*pairs: tuple[str, str]) -> str:
    begin = "lrwxrwxrwx 1 root root 0 Nov 25 10:00"
    return "".join(f"{begin} {name} -> ../../devices/pci0000:15/{path}\n" for name, path in pairs)


def test_interfaces_below_a_port_are_no_contradiction() -> None:
    # A representor of a virtual function, and the interface of a partition, have the port's PCI function.
    sysfs = links(
        ("ens1np0npf0vf0", "0000:18:00.0/net/ens1np0npf0vf0"),
        ("ens1np0.8001", "0000:18:00.0/net/ens1np0.8001"),
        ("ens1np0", "0000:18:00.0/net/ens1np0"),
        ("mlx5_0", "0000:18:00.0/infiniband/mlx5_0"),
    )

    for files in ({"a": sysfs}, {"a": sysfs, "b": LINK}, {"a": LINK, "b": sysfs}):
        found = discovered(read_files({name: text.encode() for name, text in files.items()}), catalog())
        assert [(nic.pci, nic.rdma_device, nic.interface) for nic in found.node.nics] == [
            ("0000:18:00.0", "mlx5_0", "ens1np0")
        ]


def test_an_interface_that_is_at_another_function_is_a_contradiction() -> None:
    sysfs = links(("ens9np0", "0000:18:00.0/net/ens9np0"), ("mlx5_0", "0000:18:00.0/infiniband/mlx5_0"))

    assert "interface ens9np0 and interface ens1np0 would be one NIC" in reason(a=LINK, b=sysfs)


def test_a_bond_keeps_its_ports_interfaces() -> None:
    link = "link mlx5_bond_0/1 state ACTIVE physical_state LINK_UP netdev bond0\n"
    sysfs = links(
        ("mlx5_bond_0", "0000:18:00.0/infiniband/mlx5_bond_0"),
        ("ens1f0np0", "0000:18:00.0/net/ens1f0np0"),
        ("ens1f1np1", "0000:18:00.1/net/ens1f1np1"),
    )

    found = discovered(read_files({"a": link.encode(), "b": sysfs.encode()}), catalog())

    assert [(nic.rdma_device, nic.interface) for nic in found.node.nics] == [
        ("mlx5_bond_0", "ens1f0np0"),
        (None, "ens1f1np1"),
    ]


def test_a_bond_is_one_device_of_two_rows_in_the_table_of_mst() -> None:
    rows = ("ConnectX6DX(rev:0)      NA       17:00.1   mlx5_bond_1     net-bond1                 0",
            "ConnectX6DX(rev:0)      NA       17:00.0   mlx5_bond_1     net-bond1                 0")  # fmt: skip
    mst = "DEVICE_TYPE             MST      PCI       RDMA            NET                       NUMA\n" + "\n\n".join(
        rows
    )
    gids = "mlx5_bond_1\t1\t3\t0000:0000:0000:0000:0000:ffff:0a60:531a\t10.96.83.26  \tv2\tbond1\nn_gids_found=1\n"

    found = discovered(read_files({"a": mst.encode(), "b": gids.encode()}), catalog())

    assert [(nic.rdma_device, nic.interface, nic.pci) for nic in found.node.nics] == [("mlx5_bond_1", None, None)]


def test_what_a_tool_states_of_a_port_is_more_than_its_pci_class_and_nccls_file() -> None:
    files = {
        "a": "0000:19:00.0 Infiniband controller [0207]: Mellanox Technologies Device [15b3:1021]\n",
        "b": links(("mlx5_0", "0000:19:00.0/infiniband/mlx5_0")),
        "c": "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n\t\tLink layer: Ethernet\n",
        "d": '<system version="1"><cpu><nic><net name="mlx5_0" port="1" speed="180000"/></nic></cpu></system>',
    }

    (found,) = discovered(read_files({name: text.encode() for name, text in files.items()}), catalog()).node.nics

    assert (found.link_type, found.speed_gbps) == ("ether", 200)


def test_the_order_of_the_files_does_not_matter() -> None:
    outputs = NodeOutputs(catalog().shapes["BM.GPU.H100.8"], vfs=1)
    commands = ("lspci", "rdma_link", "ibdev2netdev_verbose", "ibstat", "ip_link", "sysfs", "nvidia_smi_topo")
    files = {name: getattr(outputs, name)().encode() for name in commands}
    first = discovered(read_files(files), catalog()).machine.fields

    for order in list(permutations(commands))[::400]:
        fields = discovered(read_files({name: files[name] for name in order}), catalog()).machine.fields
        assert sorted(fields.pop("frontEndNics"), key=str) == sorted(first["frontEndNics"], key=str)
        assert fields == {key: value for key, value in first.items() if key != "frontEndNics"}
