"""Libraries other than NCCL: every row of their table on every shape, and the names that UCX itself has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import pytest
import yaml
from changes import Changes
from stack_plans import stack_plan

from gpu_fabric.base.repeats import repeated
from gpu_fabric.catalog import CatalogError, DeviceAccess, Shape, catalog, read_model
from gpu_fabric.catalog.library import LibraryTable
from gpu_fabric.catalog.nccl import UNSET, nccl_environment
from gpu_fabric.catalog.shape import LinkType
from gpu_fabric.catalog.version import Version
from gpu_fabric.nccl.name_list import NameList
from gpu_fabric.plan import Plan
from gpu_fabric.plan.library_settings import decided, environments, shared_facts

PlanWith = Callable[[Changes], Plan]

TABLE = catalog().libraries
FACTS = {name: "1" for name in TABLE.facts} | {"storagePorts": "mlx5_1:1", "railsApart": "y", "hcaPrefix": "rdma"}
BEGINNINGS = {
    "ucx": ("UCX_",),
    "nixl": ("NIXL_", "VLLM_NIXL_", "SGLANG_DISAGGREGATION_NIXL_"),
    "nvshmem": ("NVSHMEM_",),
    "deepep": ("DEEP_EP_", "EP_"),
    "mooncake": ("MOONCAKE_", "MC_"),
    "gloo": ("GLOO_", "TP_"),
}


def shapes() -> list[Shape]:
    return [shape for shape in catalog().shapes.values() if shape.nic_model is not None]


def on(shape: Shape, access: DeviceAccess) -> dict[str, dict[str, str]]:
    assert shape.nic_model is not None
    nccl = nccl_environment(catalog().nccl, shape, access)
    return environments(shape, catalog(), access, shape.nic_model.link_type, nccl, {})


def test_every_row_decides_on_some_shape() -> None:
    """A row that none reaches is a row behind one that takes all, or for machines that are not here."""
    reached = set()
    for shape in shapes():
        for access in get_args(DeviceAccess):
            for link in get_args(LinkType):
                for variable in TABLE.known.values():
                    for row in variable.settings:
                        if row.applies_to(shape, access, link):
                            value = row.value_on(shape, FACTS)
                            if value is not None or row.value == UNSET:
                                reached.add(id(row))
                                # Without storage the next row is asked.
                                if "{storagePorts}" not in row.value:
                                    break

    rows = [row for variable in TABLE.known.values() for row in variable.settings]
    assert [f"{row.variable}={row.value}" for row in rows if id(row) not in reached] == []


@pytest.mark.parametrize("library", TABLE.by_name)
def test_each_variable_is_the_librarys_and_says_why_it_is_left_alone(library: str) -> None:
    for variable in TABLE.by_name[library].variables:
        assert variable.name.startswith(BEGINNINGS[library])
        assert variable.does
        assert variable.not_set


def test_every_value_is_what_its_library_takes() -> None:
    known = TABLE.known
    for shape in shapes():
        for access in get_args(DeviceAccess):
            for variables in on(shape, access).values():
                for name, value in variables.items():
                    assert known[name].takes(value), f"{name}={value}"
                    limits = known[name].limits
                    assert limits is None or limits.hold(value), f"{name}={value} on {shape.name}"


def test_addresses_classes_and_interfaces_are_nccls_on_every_shape() -> None:
    """All libraries of a pod, or none, state an index, a class and an interface, and the same."""
    for shape in shapes():
        for access in get_args(DeviceAccess):
            nccl, values = nccl_environment(catalog().nccl, shape, access), on(shape, access)
            flat = {name: value for variables in values.values() for name, value in variables.items()}
            nvidia = ("NVSHMEM_IB_GID_INDEX",) if shape.gpus.vendor == "nvidia" else ()
            for name in ("UCX_IB_GID_INDEX", "MC_GID_INDEX", *nvidia):
                assert flat.get(name) == nccl.get("NCCL_IB_GID_INDEX"), f"{name} on {shape.name}"
            for name in ("UCX_IB_TRAFFIC_CLASS", "MC_IB_TC"):
                assert flat.get(name) == nccl.get("NCCL_IB_TC"), f"{name} on {shape.name}"
            interface = nccl.get("NCCL_SOCKET_IFNAME", "").removeprefix("=")
            assert flat.get("GLOO_SOCKET_IFNAME", "") == interface


def test_lists_of_devices_are_those_of_nccl_wherever_a_pod_sees_the_nodes_own() -> None:
    for shape in shapes():
        for access in ("physical", "shared", "host"):
            taken = NameList.parse(nccl_environment(catalog().nccl, shape, access).get("NCCL_IB_HCA", "")).names
            values = on(shape, access)
            ports = values["ucx"].get("UCX_NET_DEVICES", "")
            assert tuple(entry.removesuffix(":1") for entry in ports.split(",") if entry) == taken
            assert values["mooncake"].get("MC_TE_FILTERS", "") == ",".join(taken)
        assert "UCX_NET_DEVICES" not in on(shape, "virtual")["ucx"]


@pytest.mark.parametrize(
    ("shape", "mapping"),
    [
        # The NICs of this tray are crossed: those at 0000:03 are next to GPU 1.
        ("BM.GPU.GB300.4", "0:mlx5_2:1,1:mlx5_0:1,2:mlx5_7:1,3:mlx5_5:1"),
        # Two NICs for each GPU, of which a process takes one.
        (
            "BM.GPU.H100.8",
            "0:mlx5_0:1,1:mlx5_3:1,2:mlx5_5:1,3:mlx5_7:1,4:mlx5_9:1,5:mlx5_12:1,6:mlx5_14:1,7:mlx5_16:1",
        ),
        # Two GPUs have no NIC next to them; and nearest GPUs that are not published.
        ("BM.GPU.L40S.4", None),
        ("BM.GPU.B300.8", None),
        # NVSHMEM is for NVIDIA's GPUs.
        ("BM.GPU.MI300X.8", None),
    ],
)
def test_each_gpu_gets_a_nic_of_its_own_where_that_is_published(shape: str, mapping: str | None) -> None:
    values = on(catalog().shapes[shape], "host")

    assert values.get("deepep", {}).get("DEEP_EP_DEVICE_TO_HCA_MAPPING") == mapping


def test_one_setting_of_the_stack_file_changes_all_libraries(plan_with: PlanWith) -> None:
    own = {"NCCL_IB_GID_INDEX": 5, "NCCL_IB_TC": 104, "NCCL_SOCKET_IFNAME": "=mgmt0"}
    found = plan_with({"fabric.nccl.settings": own}).workload.libraries
    flat = {name: value for variables in found.values() for name, value in variables.items()}

    assert {flat[name] for name in ("UCX_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX", "MC_GID_INDEX")} == {"5"}
    assert {flat[name] for name in ("UCX_IB_TRAFFIC_CLASS", "NVSHMEM_IB_TRAFFIC_CLASS", "MC_IB_TC")} == {"104"}
    assert flat["GLOO_SOCKET_IFNAME"] == "mgmt0"
    assert flat["NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"] == "=mgmt0"


def test_a_variable_that_the_stack_file_sets_is_in_the_environment_alone(plan_with: PlanWith) -> None:
    contract = plan_with({"fabric.nccl.settings.UCX_TLS": "rc,cuda,sm,self"}).workload

    assert contract.environment["UCX_TLS"] == "rc,cuda,sm,self"
    assert "UCX_TLS" not in contract.libraries["ucx"]


@pytest.mark.parametrize(
    ("value", "interface"),
    [("=eth0", "eth0"), ("eth0", "eth0"), ("eth0,eth1", None), ("^docker0", None), ("", None)],
)
def test_an_interface_is_named_to_others_where_nccl_has_one_by_name(value: str, interface: str | None) -> None:
    assert shared_facts(catalog(), {"NCCL_SOCKET_IFNAME": value}).get("controlInterface") == interface


def test_ucx_keeps_to_its_own_subnet_where_rails_do_not_reach_each_other(plan_with: PlanWith) -> None:
    variable = "UCX_IB_ROCE_LOCAL_SUBNET"

    assert plan_with({}).workload.libraries["ucx"][variable] == "y"
    for change in ({"fabric.addressing.layout": "flat"}, {"fabric.addressing.gateway": "first"}):
        assert variable not in plan_with(change).workload.libraries["ucx"]


def test_devices_of_storage_are_left_out_where_pods_see_them(root: Path) -> None:
    found = stack_plan("storage-fabric", root).workload.libraries

    assert found["ucx"]["UCX_NET_DEVICES"] == "^mlx5_1:1,mlx5_7:1"
    assert found["nvshmem"]["NVSHMEM_HCA_LIST"] == "^mlx5_1:1,mlx5_7:1"


def test_pods_without_rdma_devices_get_the_settings_of_tcp_alone(root: Path) -> None:
    """IPoIB by Spiderpool gives pods no verbs device: UCX must take TCP there."""
    assert set(stack_plan("spiderpool-ipoib", root).workload.libraries) <= {"gloo"}


def test_each_name_is_in_one_table_and_stands_for_something_that_is_there() -> None:
    assert repeated([*catalog().nccl_variables, *(row.name for one in TABLE.libraries for row in one.variables)]) == []
    assert set(TABLE.facts.values()) <= catalog().nccl_variables.keys()


ENTRY: dict[str, Any] = {
    "facts": {"gidIndex": "NCCL_IB_GID_INDEX"},
    "libraries": {
        "ucx": {
            "title": "UCX",
            "read": "1.22.0",
            "source": "source",
            "variables": {"UCX_TLS": {"does": "d", "since": "unmarked", "source": "s", "notSet": "n"}},
        }
    },
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"read": "soon"}, "read"),
        ({"source": ""}, "source"),
        ({"variables": {"UCX_TLS": {"does": "d", "since": "soon", "source": "s"}}}, "since"),
    ],
)
def test_an_entry_that_contradicts_itself_is_refused_with_its_file(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "libraries.yaml"
    path.write_text(yaml.safe_dump(ENTRY), encoding="utf-8")
    assert set(read_model(LibraryTable, path).known) == {"UCX_TLS"}

    path.write_text(
        yaml.safe_dump(ENTRY | {"libraries": {"ucx": ENTRY["libraries"]["ucx"] | change}}), encoding="utf-8"
    )

    with pytest.raises(CatalogError, match=reason):
        read_model(LibraryTable, path)


# What UCX itself says: `ucx_info -c` prints the configuration that it makes of its environment.

UCX_INFO = shutil.which("ucx_info")
NEEDS_UCX = pytest.mark.skipif(UCX_INFO is None, reason="no ucx_info is here: Debian has it in ucx-utils")
# Every transport of InfiniBand and RoCE reads UCX_IB_NAME under its own name.
_OF_A_TRANSPORT = re.compile(r"UCX_(RC_VERBS|RC_MLX5|DC_MLX5|UD_VERBS|UD_MLX5)_")


def ucx_info(option: str, environment: Mapping[str, str] = MappingProxyType({})) -> str:
    """What it prints, without variables of the machine's own."""
    assert UCX_INFO is not None
    clean = {name: value for name, value in os.environ.items() if not name.startswith("UCX_")}
    ended = subprocess.run([UCX_INFO, option], env=clean | dict(environment), capture_output=True, text=True)
    return ended.stdout


def ucx_problems(environment: Mapping[str, str]) -> list[str]:
    """The variables that UCX does not take as they are written: their names, their values, and unknown transports."""
    printed = ucx_info("-cf", environment)
    settings = [line.split("=", 1) for line in printed.splitlines() if line.startswith("UCX_")]
    read = {
        name: {text for own, text in settings if name in (own, _OF_A_TRANSPORT.sub("UCX_IB_", own))}
        for name in environment
    }
    # It prints no more than 126 characters of a value.
    problems = [name for name, value in environment.items() if read[name] != {value[:126]}]
    names = set(re.findall(r"^# +- ([a-z_/]+) *:", printed, re.MULTILINE))
    short = {part for entry in names for part in entry.split("/")} | {"self"}
    for word in environment.get("UCX_TLS", "self").split(","):
        # Debian's UCX is built without CUDA and ROCm: it names the group and not its parts.
        if word not in short and word.partition("_")[0] not in short & {"cuda", "rocm"}:
            problems.append(f"UCX_TLS={word}")
    return problems


@NEEDS_UCX
def test_ucx_takes_every_name_and_value_of_the_table() -> None:
    facts = {**FACTS, "gidIndex": "3", "trafficClass": "41"}
    found = {
        tuple(
            (variable.name, value)
            for variable in TABLE.by_name["ucx"].variables
            if (value := decided(variable, shape, "host", link, facts)) is not None
        )
        for shape in shapes()
        for link in get_args(LinkType)
    }

    assert [problems for values in found if (problems := ucx_problems(dict(values)))] == []


@NEEDS_UCX
@pytest.mark.parametrize(
    "planted",
    [{"UCX_IB_GID_INDX": "3"}, {"UCX_IB_GID_INDEX": "three"}, {"UCX_TLS": "rcx,sm"}, {"UCX_IB_TRAFFIC_CLASS": "low"}],
)
def test_a_name_or_value_that_ucx_does_not_take_is_found(planted: dict[str, str]) -> None:
    assert ucx_problems(planted)


@NEEDS_UCX
def test_ucx_has_every_variable_of_the_table_that_its_release_has() -> None:
    """Also those that no stack sets."""
    release = Version.parse(re.findall(r"# (?:Library )?[Vv]ersion:? ([0-9.]+)", ucx_info("-v"))[0])
    has = {_OF_A_TRANSPORT.sub("UCX_IB_", name) for name in re.findall(r"^(UCX_\w+)=", ucx_info("-cf"), re.MULTILINE)}
    wanted = {one.name for one in TABLE.by_name["ucx"].variables if not one.newer_than(release)}

    assert len(wanted) >= 7
    assert wanted - has == set()
