"""NCCL settings: which rows reach which pods, and with which values."""

from collections import Counter
from itertools import product
from typing import Any, get_args

import pytest
from each_case import each
from planned_fabrics import example

from gpu_fabric.catalog import DeviceAccess, Shape, catalog
from gpu_fabric.catalog.nccl import IpVersion, Scope, nccl_environment
from gpu_fabric.catalog.shape import LinkType

WAYS = get_args(DeviceAccess)
RACKS = ("BM.GPU.GB200.4", "BM.GPU.GB200-v2.4", "BM.GPU.GB200-v3.4", "BM.GPU.GB300.4", "server.dgx-gb200.4")


A100 = {"GID_INDEX": "3", "TC": "41", "SL": "0", "TIMEOUT": "22", "SPLIT_DATA_ON_QPS": "0", "QPS_PER_CONNECTION": "4"}
H100 = {"GID_INDEX": "3", "TC": "41", "SL": "0", "TIMEOUT": "22", "SPLIT_DATA_ON_QPS": "0"}
VIRTUAL = {"BM.GPU4.8": A100, "BM.GPU.A100-v2.8": A100, "BM.GPU.H100.8": H100}


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


@pytest.mark.parametrize(
    ("shape", "devices", "variable", "value"),
    [
        ("BM.GPU.H100.8", "host", "SOCKET_IFNAME", "eth0"),
        ("BM.GPU.MI355X.8", "host", "SOCKET_IFNAME", "ens9np0"),
        # Left to NCCL where the host's own is not known.
        ("server.dgx-h100.8", "host", "SOCKET_IFNAME", None),
        # No index of an address where interfaces lie on top of the node's NICs.
        ("BM.GPU.H100.8", "shared", "IB_GID_INDEX", None),
        ("BM.GPU.GB300.4", "host", "IB_ADAPTIVE_ROUTING", "1"),
        # Oracle's table gives this one shape trees.
        ("BM.GPU.RTXPRO.8", "host", "ALGO", "Tree"),
        ("BM.GPU.H100.8", "host", "ALGO", None),
        # No driver is guessed for NICs that are not known.
        ("server.mi300x.8", "virtual", "IB_HCA", None),
    ],
)
def test_a_pods_way_to_its_nics_and_its_machine_decide(
    shape: str, devices: DeviceAccess, variable: str, value: str | None
) -> None:
    assert environment(shape, devices).get(f"NCCL_{variable}") == value


@pytest.mark.parametrize(("driver", "setting"), [(None, None), ("mlx5_core", "mlx5"), ("bnxt_en", None)])
def test_nics_are_named_by_their_driver_only_where_it_is_known(driver: str | None, setting: str | None) -> None:
    nic = catalog().shapes["BM.GPU.H100.8"].nic_model
    assert nic is not None
    other = changed("BM.GPU.H100.8", nic_model=nic.model_dump() | {"driver": driver})

    assert nccl_environment(catalog().nccl, other, "virtual").get("NCCL_IB_HCA") == setting


def test_without_published_device_names_no_list_is_set() -> None:
    nameless = changed("BM.GPU.H100.8", nics=[{"pci": nic.pci} for nic in catalog().shapes["BM.GPU.H100.8"].nics])

    assert "NCCL_IB_HCA" not in nccl_environment(catalog().nccl, nameless, "physical")
    assert nccl_environment(catalog().nccl, nameless, "virtual")["NCCL_IB_HCA"] == "mlx5"


@each("devices", WAYS)
@each("scope", get_args(Scope))
def test_jobs_and_measurements_in_a_rack_start_without_an_imex_channel(devices: DeviceAccess, scope: Scope) -> None:
    found = {
        name: nccl_environment(catalog().nccl, shape, devices, scope=scope).get("NCCL_MNNVL_ENABLE")
        for name, shape in catalog().shapes.items()
    }

    assert {name for name, value in found.items() if value == "0"} == {*RACKS}
    assert {value for name, value in found.items() if name not in RACKS} == {None}


@each("stack", ["domains", "oke-domains"])
@each("shape", RACKS)
def test_jobs_of_every_rack_have_a_channel_or_leave_nvlink_between_nodes_off(stack: str, shape: str) -> None:
    if stack == "oke-domains" and shape.startswith("server."):
        return  # Oracle has no such machine
    pools = {f"cluster.pools[{number}].shape": shape for number in range(2)}
    without: dict[str, Any] = {**pools, "fabric.domains": None, "software.gpuDraDriver": None}
    contracts = [example(stack, changes).workload for changes in (pools, without)]

    assert [one.environment["NCCL_MNNVL_ENABLE"] for one in contracts] == ["1", "0"]
    assert [len(one.domains) for one in contracts] == [2, 0]


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
