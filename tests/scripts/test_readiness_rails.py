"""The program that closes rails of a node whose NICs pods claim, on a node made of files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.api_of_a_node import NodeApi, served
from test_readiness_script import Machine, _remove, pod

from gpu_fabric.on_nodes import FOLDER

TAINT = {"driver": "dra.net", "key": "gpu-fabric.dev/rail-not-ready", "effect": "NoSchedule", "name": "ready"}
RULE = "ready-gpu-7-01"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with served(NodeApi(), tmp_path / "account") as api:
        claimed = Machine(tmp_path, api)
        claimed.script = FOLDER / "readiness_rails.py"
        claimed.expected |= {"railTaint": TAINT, "resources": {"nvidia.com/gpu": 2}}
        yield claimed


def test_a_rail_that_fails_closes_its_nic_alone_and_is_opened_once_it_works(machine: Machine) -> None:
    assert machine.found()[:2] == ("True", "Proven")
    assert machine.api.rules == {}

    state = machine.nic(1, "net/rdma1/operstate")
    state.write_text("down\n")
    assert machine.found() == ("True", "RailsClosed", "rail 1 (0000:1c:00.0): rdma1 is down")
    assert machine.api.taints == ["nvidia.com/gpu"]
    (rule,) = machine.api.rules.values()
    assert (rule["apiVersion"], rule["kind"], rule["metadata"]["name"]) == (
        "resource.k8s.io/v1beta2",
        "DeviceTaintRule",
        RULE,
    )
    assert rule["spec"] == {
        "deviceSelector": {"driver": "dra.net", "pool": "gpu-7", "device": "pci-0000-1c-00-0"},
        "taint": {"key": "gpu-fabric.dev/rail-not-ready", "effect": "NoSchedule"},
    }

    state.write_text("up\n")
    assert machine.found()[:2] == ("True", "Proven")
    assert machine.api.rules == {}


def test_what_is_of_no_single_rail_or_of_all_closes_the_node(machine: Machine) -> None:
    machine.api.pods["fabric"] = [pod("multus", ready=False)]
    assert machine.found()[:2] == ("False", "PodNotReady")
    machine.api.pods["fabric"] = [pod("multus")]
    for rail in (0, 1):
        machine.nic(rail, f"net/rdma{rail}/operstate").write_text("down\n")
    assert machine.found()[:2] == ("False", "LinkDown")
    assert machine.api.taints == ["nvidia.com/gpu", "startup"]


@pytest.mark.parametrize("folders", [("net",), ("net", "infiniband")])
def test_a_rail_whose_nic_a_pod_has_stays_as_it_was(machine: Machine, folders: tuple[str, ...]) -> None:
    # In RDMA mode shared the RDMA device is seen on the host while a pod has the interface.
    machine.nic(1, "net/rdma1/operstate").write_text("down\n")
    assert machine.found()[1] == "RailsClosed"
    for folder in folders:
        _remove(machine.nic(1, folder))
    machine.found()
    assert list(machine.api.rules) == [RULE]
    machine.api.rules.clear()
    machine.found()
    assert machine.api.rules == {}

    machine.boot("second")
    assert machine.found()[1] == "RailsClosed"
    assert list(machine.api.rules) == [RULE]


def test_a_server_without_the_kind_leaves_the_node_closed_and_says_why(machine: Machine) -> None:
    machine.api.served = ("v1",)
    status, reason, message = machine.found()
    assert (status, reason) == ("Unknown", "LookFailed")
    assert message == "the API server serves no DeviceTaintRules, by which a rail is closed"
