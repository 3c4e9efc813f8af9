"""NCCL settings: which rows reach which pods, and with which values."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from typing import Any, get_args

import pytest
from each_case import each
from planned_fabrics import plan_of
from pydantic import ValidationError

from gpu_fabric.catalog import DeviceAccess, IpVersion, NcclSetting, Scope, Shape, catalog, nccl_environment
from gpu_fabric.catalog.shape import LinkType
from gpu_fabric.plan.nccl_files import plan_nccl_files

WAYS = get_args(DeviceAccess)
MEASURED = {name for name in catalog().shapes if any(name in row.shapes for row in catalog().nccl)}

# NCCL_IB_HCA of Oracle's lists; where those name a front-end NIC or another order, the shape's NIC table holds.
PUBLISHED_LISTS = {
    "BM.GPU.H100.8": "=mlx5_0,mlx5_1,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,"
    "mlx5_9,mlx5_10,mlx5_12,mlx5_13,mlx5_14,mlx5_15,mlx5_16,mlx5_17",
    "BM.GPU.H200.8": "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11",
    "BM.GPU.B200.8": "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11",
    "BM.GPU.MI300X.8": "=mlx5_0,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_7,mlx5_8,mlx5_9",
}

A100 = {"GID_INDEX": "3", "TC": "41", "SL": "0", "TIMEOUT": "22", "SPLIT_DATA_ON_QPS": "0", "QPS_PER_CONNECTION": "4"}
H100 = {"GID_INDEX": "3", "TC": "41", "SL": "0", "TIMEOUT": "22", "SPLIT_DATA_ON_QPS": "0"}
VIRTUAL = {
    "BM.GPU4.8": A100,
    "BM.GPU.A100-v2.8": A100,
    "BM.GPU.H100.8": H100,
}


def environment(shape: str, devices: DeviceAccess) -> dict[str, str]:
    return nccl_environment(catalog().nccl, catalog().shapes[shape], devices)


def changed(shape: str, **fields: Any) -> Shape:
    return Shape.model_validate(catalog().shapes[shape].model_dump() | fields)


@pytest.mark.parametrize("shape", VIRTUAL)
def test_pods_with_virtual_functions_keep_the_settings_of_oracles_table(shape: str) -> None:
    expected = {"NCCL_SOCKET_IFNAME": "=eth0", "NCCL_IB_HCA": "mlx5"}
    expected |= {f"NCCL_IB_{name}": value for name, value in VIRTUAL[shape].items()}
    if shape == "BM.GPU.H100.8":
        expected |= {"NCCL_CUMEM_ENABLE": "0", "NCCL_IGNORE_CPU_AFFINITY": "1"}

    assert environment(shape, "virtual") == expected


def test_the_settings_file_of_virtual_functions_has_not_changed_by_a_byte() -> None:
    # The name carries a hash of the content: another name would roll every pod that mounts it.
    names = [plan_nccl_files(catalog().shapes[shape], catalog()).files[0].config_map for shape in VIRTUAL]

    assert names == [
        "nccl-settings-bm-gpu4-8-76bc20f0",
        "nccl-settings-bm-gpu-a100-v2-8-76bc20f0",
        "nccl-settings-bm-gpu-h100-8-1396d571",
    ]


@pytest.mark.parametrize("shape", PUBLISHED_LISTS)
@pytest.mark.parametrize("devices", ["physical", "shared", "host"])
def test_a_pod_that_sees_physical_functions_is_given_oracles_list_of_them(shape: str, devices: DeviceAccess) -> None:
    assert environment(shape, devices)["NCCL_IB_HCA"] == PUBLISHED_LISTS[shape]


def test_the_list_leaves_out_a_front_end_nic_that_oracles_list_names() -> None:
    assert environment("BM.GPU.GB200-v2.4", "host")["NCCL_IB_HCA"] == "=mlx5_0,mlx5_1,mlx5_4,mlx5_5"


def test_without_published_device_names_no_list_is_set() -> None:
    nameless = changed("BM.GPU.H100.8", nics=[{"pci": nic.pci} for nic in catalog().shapes["BM.GPU.H100.8"].nics])

    assert "NCCL_IB_HCA" not in nccl_environment(catalog().nccl, nameless, "physical")
    assert nccl_environment(catalog().nccl, nameless, "virtual")["NCCL_IB_HCA"] == "mlx5"


def test_a_nic_of_another_driver_is_never_called_mlx5() -> None:
    nic = catalog().shapes["BM.GPU.H100.8"].nic_model
    assert nic is not None
    other = changed("BM.GPU.H100.8", nic_model=nic.model_copy(update={"driver": "bnxt_en"}).model_dump())

    assert "NCCL_IB_HCA" not in nccl_environment(catalog().nccl, other, "virtual")


@pytest.mark.parametrize(
    ("shape", "interface"),
    [("BM.GPU.H100.8", "eth0"), ("BM.GPU.MI355X.8", "ens9np0"), ("BM.GPU4.8", None), ("server.dgx-h100.8", None)],
)
def test_in_the_hosts_network_the_bootstrap_interface_is_the_hosts_own_or_left_to_nccl(
    shape: str, interface: str | None
) -> None:
    assert environment(shape, "host").get("NCCL_SOCKET_IFNAME") == interface


@pytest.mark.parametrize("shape", [name for name, row in catalog().shapes.items() if row.provider == "doks"])
def test_digitaloceans_sizes_get_the_bootstrap_interface_and_no_address_index(shape: str) -> None:
    found = environment(shape, "physical")
    plugin = {"NCCL_NET_PLUGIN": "librccl-anp.so"} if shape == "gpu-mi350x8-2304gb-fabric-contracted" else {}

    assert found == {"NCCL_SOCKET_IFNAME": "=eth0", **plugin}


def test_an_address_index_is_not_set_where_interfaces_lie_on_top_of_the_nodes_nics() -> None:
    assert "NCCL_IB_GID_INDEX" not in environment("BM.GPU.H100.8", "shared")
    assert environment("BM.GPU.H100.8", "shared")["NCCL_IB_TC"] == "41"


@each("devices", WAYS)
@each("scope", get_args(Scope))
def test_jobs_and_measurements_in_a_rack_start_without_an_imex_channel(devices: DeviceAccess, scope: Scope) -> None:
    found = {
        name: nccl_environment(catalog().nccl, shape, devices, scope=scope).get("NCCL_MNNVL_ENABLE")
        for name, shape in catalog().shapes.items()
    }
    racks = {"BM.GPU.GB200.4", "BM.GPU.GB200-v2.4", "BM.GPU.GB200-v3.4", "BM.GPU.GB300.4", "server.dgx-gb200.4"}

    assert {name for name, value in found.items() if value == "0"} == racks
    assert {value for name, value in found.items() if name not in racks} == {None}


def test_a_stack_files_own_machine_with_the_gpus_of_a_rack_starts_without_a_channel_too() -> None:
    own = changed("BM.GPU.GB300.4", name="tray", provider="inline")

    assert nccl_environment(catalog().nccl, own, "host")["NCCL_MNNVL_ENABLE"] == "0"


def test_messages_between_racks_of_gb300_take_every_path() -> None:
    found = environment("BM.GPU.GB300.4", "host")
    names = ("ADAPTIVE_ROUTING", "SPLIT_DATA_ON_QPS", "QPS_PER_CONNECTION")

    assert [found[f"NCCL_IB_{name}"] for name in names] == ["1", "1", "4"]


def test_infiniband_shapes_get_no_traffic_class_and_no_address_index() -> None:
    for name, shape in catalog().shapes.items():
        if shape.nic_model is not None and shape.nic_model.link_type == "infiniband":
            found = [variable for way in WAYS for variable in environment(name, way)]
            assert not {"NCCL_IB_TC", "NCCL_IB_GID_INDEX"} & set(found), name


@pytest.mark.parametrize("scope", ["training", "verification"])
@pytest.mark.parametrize("devices", WAYS)
def test_no_pod_is_given_one_variable_twice(devices: DeviceAccess, scope: Scope) -> None:
    rows = [row for row in catalog().nccl if row.serves(scope)]
    for shape, link, version in product(catalog().shapes.values(), get_args(LinkType), get_args(IpVersion)):
        variables = Counter(row.variable for row in rows if row.applies_to(shape, devices, link, version))
        assert max(variables.values(), default=0) <= 1, (shape.name, variables.most_common(1))


@pytest.mark.parametrize("devices", WAYS)
def test_a_measurement_has_a_word_of_its_own_where_a_setting_is_for_jobs_alone(devices: DeviceAccess) -> None:
    for shape in catalog().shapes.values():
        rows = [row for row in catalog().nccl if row.applies_to(shape, devices)]
        measured = {row.variable for row in rows if row.scope == "verification"}
        assert {row.variable for row in rows if row.scope == "training"} <= measured, shape.name


def test_every_row_says_why_and_whence_and_names_known_shapes_only() -> None:
    assert all(row.why and row.source for row in catalog().nccl)
    assert {name for row in catalog().nccl for name in row.shapes} <= set(catalog().shapes)


def test_what_belongs_to_a_measurement_reaches_no_job() -> None:
    measured = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_ALGO", "NCCL_PROTO", "NCCL_GRAPH_FILE", "NCCL_TOPO_DUMP_FILE"}
    # Oracle's table gives this one shape trees, since they are faster there.
    others = [shape for shape in catalog().shapes if shape != "BM.GPU.RTXPRO.8"]
    given = {name for shape in others for way in WAYS for name in environment(shape, way)}

    assert not measured & given
    assert {environment("BM.GPU.RTXPRO.8", way)["NCCL_ALGO"] for way in WAYS} == {"Tree"}
    assert "NCCL_GRAPH_FILE" not in {row.variable for row in catalog().nccl}


@pytest.mark.parametrize(("devices", "keys"), [("virtual", ["nccl.conf", "topo.xml"]), ("host", ["nccl.conf"])])
def test_only_pods_with_virtual_functions_need_the_pci_tree(devices: DeviceAccess, keys: list[str]) -> None:
    files = plan_nccl_files(catalog().shapes["BM.GPU.H100.8"], catalog(), devices=devices).files

    assert [file.key for file in files] == keys


def test_a_way_to_the_nics_that_does_not_exist_is_refused() -> None:
    row = catalog().nccl[0].model_dump() | {"devices": ["bridged"]}

    with pytest.raises(ValidationError, match=re.escape("devices.0")):
        NcclSetting.model_validate(row)


@pytest.mark.parametrize(
    ("stack", "lossless", "told"),
    [
        ("spiderpool-macvlan", {}, "160"),
        ("spiderpool-macvlan", {"priority": 3}, "96"),
        ("spiderpool-macvlan", {"priority": 3, "dscp": 26}, "104"),
        ("spiderpool-sriov-per-node", {}, "160"),
        ("dev", {"priority": 1, "dscp": 10}, "40"),
        ("dev", {}, "160"),
        ("dev", None, "41"),
    ],
)
def test_jobs_mark_their_packets_with_the_class_that_the_hosts_pause(
    stack: str, lossless: dict[str, Any] | None, told: str
) -> None:
    prepared = {} if lossless is None else {"fabric.hostPreparation": {"lossless": lossless}}
    assert plan_of(stack, prepared).workload.environment["NCCL_IB_TC"] == told


def test_a_dry_run_of_the_hosts_leaves_the_jobs_as_they_are() -> None:
    plan = plan_of("dev", {"fabric.hostPreparation": {"lossless": {}, "dryRun": True}})

    assert plan.workload.environment["NCCL_IB_TC"] == "41"


@pytest.mark.parametrize("shape", ["server.mi300x.8", "server.hgx-h100.8"])
def test_no_driver_is_guessed_for_nics_that_are_not_known(shape: str) -> None:
    assert "NCCL_IB_HCA" not in environment(shape, "virtual")
