"""The catalog: facts as data, checked when they are read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from fabric.catalog import Shape, Topology, catalog

# Vendor ids 15b3; PF and VF device ids, and front-end NICs, of the shapes overview of the OKE guide's successor.
OVERVIEW = {
    "BM.GPU4.8": ("A100-40", "ConnectX-5 Ex", "1019", "101a", 1),
    "BM.GPU.A100-v2.8": ("A100-80", "ConnectX-5 Ex", "1019", "101a", 1),
    "BM.GPU.H100.8": ("H100", "ConnectX-7", "1021", "101e", 2),
}

# mlx5 numbers in rail order; what is left out below 18 belongs to the front end.
RDMA_DEVICES = {
    "BM.GPU4.8": [6, 7, 8, 9, 0, 1, 2, 3, 14, 15, 16, 17, 10, 11, 12, 13],
    "BM.GPU.A100-v2.8": [5, 6, 7, 8, 1, 2, 3, 4, 14, 15, 16, 17, 9, 10, 11, 12],
    "BM.GPU.H100.8": [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17],
}

# Common to the three shapes, then what differs; names without their prefix NCCL_.
NCCL_OF_ALL = {"IB_GID_INDEX": "3", "IB_TC": "41", "IB_SL": "0", "IB_TIMEOUT": "22", "IB_SPLIT_DATA_ON_QPS": "0"}
NCCL_OF_ONE = {
    "BM.GPU4.8": {"IB_QPS_PER_CONNECTION": "4"},
    "BM.GPU.A100-v2.8": {"IB_QPS_PER_CONNECTION": "4"},
    "BM.GPU.H100.8": {"CUMEM_ENABLE": "0", "IGNORE_CPU_AFFINITY": "1"},
}


def row(shape: str) -> dict[str, Any]:
    return catalog().shapes[shape].model_dump()


def test_the_catalog_holds_the_three_shapes_of_the_oke_guide() -> None:
    assert set(catalog().shapes) == set(OVERVIEW)


@pytest.mark.parametrize("shape", OVERVIEW)
def test_a_shapes_row_agrees_with_the_overview(shape: str) -> None:
    found = catalog().shapes[shape]
    nic = found.nic_model

    assert (found.gpus.model, nic.model, nic.device_id, nic.vf_device_id, len(found.front_end_nics)) == OVERVIEW[shape]
    assert (found.gpus.count, found.rails, found.vfs_per_nic, found.mtu) == (8, 16, 1, 4220)
    assert (nic.vendor_id, nic.driver, nic.link_type) == ("15b3", "mlx5_core", "ether")
    assert found.gpus.resource == "nvidia.com/gpu"


@pytest.mark.parametrize("shape", OVERVIEW)
def test_rails_are_in_ascending_pci_order_two_ports_an_adapter(shape: str) -> None:
    rails = [nic.pci for nic in catalog().shapes[shape].nics]

    assert rails == sorted(rails)
    assert [pci[-1] for pci in rails] == ["0", "1"] * 8


@pytest.mark.parametrize("shape", OVERVIEW)
def test_rails_name_the_rdma_devices_of_the_hosts(shape: str) -> None:
    assert [nic.rdma_device for nic in catalog().shapes[shape].nics] == [f"mlx5_{k}" for k in RDMA_DEVICES[shape]]


@pytest.mark.parametrize("shape", OVERVIEW)
def test_a_nics_interface_follows_from_its_bus_or_its_rail(shape: str) -> None:
    for rail, nic in enumerate(catalog().shapes[shape].nics):
        bus, function = int(nic.pci[5:7], 16), nic.pci[-1]
        assert nic.interface == (f"rdma{rail}" if shape == "BM.GPU.H100.8" else f"enp{bus}s0f{function}")


@pytest.mark.parametrize("shape", OVERVIEW)
def test_every_gpu_is_nearest_to_two_rails(shape: str) -> None:
    assert [nic.nearest_gpu for nic in catalog().shapes[shape].nics] == [gpu for gpu in range(8) for _ in (0, 1)]


@pytest.mark.parametrize("shape", OVERVIEW)
def test_nccl_settings_are_those_of_the_settings_table(shape: str) -> None:
    settings = {setting.variable: setting.value for setting in catalog().nccl if setting.applies_to(shape)}
    expected = {"SOCKET_IFNAME": "=eth0", "IB_HCA": "mlx5", **NCCL_OF_ALL, **NCCL_OF_ONE[shape]}

    assert settings == {f"NCCL_{name}": value for name, value in expected.items()}


def test_no_variable_is_set_twice_for_a_shape_and_each_says_why_and_whence() -> None:
    for shape in catalog().shapes:
        variables = [setting.variable for setting in catalog().nccl if setting.applies_to(shape)]
        assert len(variables) == len(set(variables))
    assert all(setting.why and setting.source for setting in catalog().nccl)


def test_settings_and_topologies_name_known_shapes_only() -> None:
    named = {shape for setting in catalog().nccl for shape in setting.shapes} | set(catalog().topologies)

    assert named <= set(catalog().shapes)


def test_forced_graphs_are_never_shipped() -> None:
    assert "NCCL_GRAPH_FILE" not in {setting.variable for setting in catalog().nccl}


def test_the_release_line_pins_exact_versions_and_one_node_feature_discovery() -> None:
    line = catalog().releases["26.4"]

    assert {name: (chart.version, chart.namespace) for name, chart in line.charts.items()} == {
        "gpu-operator": ("v26.3.3", "gpu-operator"),
        "network-operator": ("26.4.1", "nvidia-network-operator"),
    }
    assert line.charts["gpu-operator"].values["nfd"] == {"enabled": True}
    assert line.charts["network-operator"].values["nfd"] == {"enabled": False, "deployNodeFeatureRules": False}
    assert re.fullmatch(r"network-operator-v26\.4\.1", line.images.version)


def test_the_catalog_is_read_once() -> None:
    assert catalog() is catalog()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pci": "0000:0c:00.1"}, "pci given to two NICs: 0000:0c:00.1"),
        ({"rdma_device": "mlx5_1"}, "rdma_device given to two NICs: mlx5_1"),
        ({"interface": "eth0"}, "interface given to two NICs: eth0"),
        ({"pci": "0000:0f:00.0"}, "PCI address of a GPU and of a NIC: 0000:0f:00.0"),
        ({"pci": "0000:0C:00.0"}, "is no PCI address; write dddd:bb:dd.f in lower case"),
        ({"nearest_gpu": 8}, "rail 0 names GPU 8 of 8"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(change: dict[str, Any], reason: str) -> None:
    wrong = row("BM.GPU.H100.8")
    wrong["nics"][0].update(change)

    with pytest.raises(ValidationError, match=re.escape(reason)):
        Shape.model_validate(wrong)


def test_a_gpu_listed_twice_is_refused() -> None:
    wrong = row("BM.GPU.H100.8")
    wrong["gpus"]["pci"] = ("0000:0f:00.0",) * 8

    with pytest.raises(ValidationError, match="a GPU's PCI address is listed twice"):
        Shape.model_validate(wrong)


@pytest.mark.parametrize("cpus", [((0, 31), (16, 47)), ((100, 128),)])
def test_numa_nodes_that_share_cpus_or_name_absent_ones_are_refused(cpus: tuple[tuple[int, int], ...]) -> None:
    wrong = catalog().topologies["BM.GPU4.8"].model_dump()
    wrong["numa"][0]["cpus"] = cpus

    with pytest.raises(ValidationError, match="of NUMA node 3 overlap"):
        Topology.model_validate(wrong)
