"""The program that proves a node, run on a node made of files, against an API server on loopback."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.api_of_a_node import Json, NodeApi, served

from gpu_fabric.on_nodes import FOLDER

SCRIPT = FOLDER / "readiness_agent.py"
TAINT = {"key": "startup", "value": "pending", "effect": "NoSchedule"}
OTHER_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
_IP = """#!/bin/sh
case "$*" in
    "-o address show dev "*) cat "$NODE/address.$5" ;;
    "-4 rule show") cat "$NODE/rules" ;;
    "-4 route show table "*) cat "$NODE/table.$5" ;;
esac 2>/dev/null
"""


class Machine:
    """A node with two rails, each below the switch of a GPU, and what is planned for it."""

    def __init__(self, folder: Path, api: NodeApi) -> None:
        self.folder, self.api, self.script = folder, api, SCRIPT
        self.sys = folder / "sys"
        self.boot("first")
        self.write("bin/ip", _IP)
        (folder / "bin/ip").chmod(0o755)
        self.expected: dict[str, Any] = {
            "seconds": 30,
            "taint": TAINT,
            "nicsMove": False,
            "rails": [self._rail(number) for number in (0, 1)],
            "gpus": {"pci": [], "vendor": "0x10de"},
            "resources": {"nvidia.com/rail_00": 1, "nvidia.com/gpu": 2},
            "pods": [{"namespace": "fabric", "daemonSets": ["multus"], "every": True}],
        }
        api.node["spec"]["taints"] = [OTHER_TAINT, TAINT]
        api.node["status"]["allocatable"] = {"nvidia.com/rail_00": "1", "nvidia.com/gpu": "2"}
        api.pods["fabric"] = [pod("multus"), pod("plug-in")]

    def _rail(self, number: int) -> dict[str, Any]:
        pci, gpu = f"0000:{number}c:00.0", f"0000:{number}f:00.0"
        switch = f"devices/pci0000:00/0000:00:0{number + 1}.0/0000:0{number + 1}:00.0"
        for place, kind, vendor in ((gpu, "0x030200", "0x10de"), (pci, "0x020000", "0x15b3")):
            function = self.sys / switch / place
            self.write(function / "class", kind)
            self.write(function / "vendor", vendor)
            link = self.sys / "bus/pci/devices" / place
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(function)
        (function / "driver").mkdir()
        self.write(function / "sriov_numvfs", "8")
        for file, text in (("operstate", "up"), ("mtu", "4220")):
            self.write(function / f"net/rdma{number}" / file, text)
        for file, text in (("state", "4: ACTIVE"), ("link_layer", "Ethernet"), ("rate", "400 Gb/sec (4X NDR)")):
            self.write(function / f"infiniband/mlx5_{number}/ports/1" / file, text)
        facts = {"rail": number, "pci": pci, "interface": f"rdma{number}", "rdmaDevice": f"mlx5_{number}"}
        return {**facts, "link": "ether", "gbps": 400, "mtu": 4220, "vfs": 8, "gpu": number, "addresses": None}

    def write(self, place: str | Path, text: str) -> None:
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def boot(self, name: str) -> None:
        self.write("proc/sys/kernel/random/boot_id", name)

    def nic(self, rail: int, place: str = "") -> Path:
        return (self.sys / f"bus/pci/devices/0000:{rail}c:00.0").resolve() / place

    def has_addresses(self) -> None:
        """The first rail's NIC has the address of the plan, with a table of its own."""
        self.expected["rails"][0]["addresses"] = "table"
        self.write("addresses/00/gpu-7", "rdma0 172.16.0.7/24 172.16.0.254")
        self.write("address.rdma0", "2: rdma0    inet 172.16.0.7/24 brd 172.16.0.255 scope global rdma0")
        self.write("rules", "0:\tfrom all lookup local\n2100:\tfrom 172.16.0.7 lookup 151 proto 4")
        self.write("table.151", "default via 172.16.0.254 dev rdma0 proto 4\n172.16.0.0/24 dev rdma0 scope link")

    def environment(self) -> dict[str, str]:
        self.write("expected.json", json.dumps(self.expected))
        return {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "NODE": str(self.folder),
            "NODE_NAME": "gpu-7",
            "EXPECTED": str(self.folder / "expected.json"),
            "ADDRESSES": str(self.folder / "addresses"),
            "ALIVE": str(self.folder / "alive"),
            "SYS": str(self.sys),
            "PROC": str(self.folder / "proc"),
            "ACCOUNT": str(self.folder / "account"),
            "KUBERNETES_SERVICE_HOST": "localhost",
            "KUBERNETES_SERVICE_PORT": str(self.api.port),
        }

    def run(self, mode: str = "once", **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", str(self.script), mode],
            env=self.environment() | settings,
            capture_output=True,
            text=True,
        )

    @contextmanager
    def started(self, mode: str) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen([sys.executable, "-I", str(SCRIPT), mode], env=self.environment()) as process:
            try:
                yield process
            finally:
                process.kill()

    def found(self) -> tuple[str, str, str]:
        """Status, reason and message after a look."""
        result = self.run()
        condition = self.api.condition
        assert result.stderr == ""
        assert result.returncode == int(condition["status"] != "True")
        return condition["status"], condition["reason"], condition["message"]


def pod(daemon_set: str, *, ready: bool = True, **metadata: Any) -> Json:
    owner = {"kind": "DaemonSet", "name": daemon_set}
    conditions = [{"type": "Ready", "status": str(ready)}]
    spec: Json = {"containers": []}
    return {"metadata": {"ownerReferences": [owner], **metadata}, "spec": spec, "status": {"conditions": conditions}}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with served(NodeApi(), tmp_path / "account") as api:
        yield Machine(tmp_path, api)


def test_a_node_as_planned_is_proven_and_loses_the_taint_last(machine: Machine) -> None:
    assert machine.found() == ("True", "Proven", "2 rails, what they offer and what serves them are as planned")

    assert machine.api.taints == ["nvidia.com/gpu"]
    assert [path for path, _ in machine.api.writes] == ["/status", "/"]
    assert machine.api.annotations == {"gpu-fabric.dev/proved-boot": "first"}
    assert machine.api.bearers == {"Bearer token-of-the-pod"}


def test_a_second_look_at_a_node_that_is_the_same_writes_nothing(machine: Machine) -> None:
    machine.run()
    machine.api.writes.clear()

    machine.run()

    assert machine.api.writes == []


def test_a_condition_is_written_again_when_its_heartbeat_is_old(machine: Machine) -> None:
    machine.run()
    machine.api.condition["lastHeartbeatTime"] = "2026-01-01T00:00:00Z"
    machine.api.condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    machine.run()

    assert machine.api.condition["lastHeartbeatTime"] > "2026-01-01T00:00:00Z"
    assert machine.api.condition["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    folder.rmdir()


_BREAKAGES = {
    "NicMissing": lambda m: (m.sys / "bus/pci/devices/0000:1c:00.0").unlink(),
    "DriverMissing": lambda m: m.nic(1, "driver").rmdir(),
    "FunctionsMissing": lambda m: m.nic(1, "sriov_numvfs").write_text("7\n"),
    "InterfaceMissing": lambda m: m.nic(1, "net/rdma1").rename(m.nic(1, "net/eth9")),
    "LinkDown": lambda m: m.nic(1, "net/rdma1/operstate").write_text("down\n"),
    "MtuTooSmall": lambda m: m.nic(1, "net/rdma1/mtu").write_text("1500\n"),
    "RdmaDeviceMissing": lambda m: _remove(m.nic(1, "infiniband")),
    "PortDown": lambda m: m.nic(1, "infiniband/mlx5_1/ports/1/state").write_text("1: DOWN\n"),
    "LinkTypeWrong": lambda m: m.nic(1, "infiniband/mlx5_1/ports/1/link_layer").write_text("InfiniBand\n"),
    "LinkSlow": lambda m: m.nic(1, "infiniband/mlx5_1/ports/1/rate").write_text("200 Gb/sec (2X NDR)\n"),
    "GpuFar": lambda m: m.expected["rails"][1].update(gpu=0),
    "GpuMissing": lambda m: m.expected["gpus"].update(pci=["0000:0f:00.0", "0000:77:00.0"]),
    "ResourceMissing": lambda m: m.api.node["status"]["allocatable"].update({"nvidia.com/rail_00": "0"}),
    "PodNotReady": lambda m: m.api.pods["fabric"].append(pod("driver", ready=False)),
    "PodMissing": lambda m: m.api.pods["fabric"].pop(0),
}


@pytest.mark.parametrize("reason", _BREAKAGES)
def test_what_is_not_as_planned_is_named_and_closes_the_node(machine: Machine, reason: str) -> None:
    machine.run()
    assert machine.api.taints == ["nvidia.com/gpu"]
    machine.api.writes.clear()

    _BREAKAGES[reason](machine)
    status, found, message = machine.found()

    assert (status, found) == ("False", reason)
    assert "not" in message or "no " in message or "down" in message or "below" in message
    assert machine.api.taints == ["nvidia.com/gpu", "startup"]
    # Closed before anybody reads that it is not proven.
    assert [path for path, _ in machine.api.writes] == ["/", "/status"]


def test_a_slow_rail_is_found_beside_others_where_no_line_rate_is_published(machine: Machine) -> None:
    for rail in machine.expected["rails"]:
        rail["gbps"] = None
    machine.nic(0, "infiniband/mlx5_0/ports/1/rate").write_text("200 Gb/sec (2X NDR)\n")

    assert machine.found() == ("False", "LinkSlow", "rail 0: its port runs at 200 Gb/s, and others at 400")


def test_addresses_and_routes_of_the_host_are_those_of_the_plan(machine: Machine) -> None:
    machine.has_addresses()
    assert machine.found()[0] == "True"

    machine.write("table.151", "default via 172.16.0.253 dev rdma0")
    assert machine.found()[1] == "RouteMissing"
    machine.write("address.rdma0", "2: rdma0    inet 172.16.0.8/24 scope global rdma0")
    assert machine.found()[1] == "AddressMissing"


def test_a_nic_that_a_pod_has_is_believed_if_it_was_seen_in_this_boot(machine: Machine) -> None:
    machine.expected["nicsMove"] = True
    machine.run()
    _remove(machine.nic(1, "net"))
    _remove(machine.nic(1, "infiniband"))
    assert machine.found()[0] == "True"

    machine.boot("second")
    assert machine.found()[:2] == ("False", "InterfaceMissing")


def test_a_nic_that_no_pod_asks_for_and_the_host_has_not_is_lost_after_a_while(machine: Machine) -> None:
    machine.expected |= {"nicsMove": True, "lostNics": {"0": "nvidia.com/rail_00", "1": "nvidia.com/rail_01"}}
    machine.run()
    for folder in ("net", "infiniband"):
        _remove(machine.nic(1, folder))
    job = {
        "metadata": {},
        "spec": {"containers": [{"resources": {"requests": {"nvidia.com/rail_01": "1"}}}]},
        "status": {"phase": "Running"},
    }
    machine.api.pods["jobs"] = [job]
    assert machine.found()[:2] == ("True", "Proven")
    assert "gpu-fabric.dev/nics-away-since" not in machine.api.annotations

    # A pod that has ended holds nothing, and its networks are removed within the time.
    job["status"]["phase"] = "Succeeded"
    assert machine.found()[:2] == ("True", "Proven")
    assert machine.api.annotations["gpu-fabric.dev/nics-away-since"].startswith("1=20")
    machine.api.node["metadata"]["annotations"]["gpu-fabric.dev/nics-away-since"] = "1=2026-01-01T00:00:00Z"
    assert machine.found() == (
        "False",
        "NicLost",
        "rail 1 (0000:1c:00.0): the NIC is not on the host, and since 2026-01-01T00:00:00Z no pod asks for "
        "nvidia.com/rail_01",
    )
    assert machine.api.taints == ["nvidia.com/gpu", "startup"]

    job["status"]["phase"] = "Running"
    assert machine.found()[:2] == ("True", "Proven")
    assert "gpu-fabric.dev/nics-away-since" not in machine.api.annotations


def test_pods_of_the_cluster_are_listed_for_lost_nics_alone(machine: Machine) -> None:
    machine.expected["nicsMove"] = True
    machine.run()
    machine.api.refused.add("/api/v1/pods")
    for folder in ("net", "infiniband"):
        _remove(machine.nic(1, folder))

    assert machine.found()[:2] == ("True", "Proven")


def test_a_node_that_has_booted_again_is_closed_before_it_is_looked_at(machine: Machine) -> None:
    machine.run()
    machine.api.writes.clear()
    machine.boot("second")

    assert machine.found()[0] == "True"
    closed, proved, opened = machine.api.writes
    assert [taint["key"] for taint in closed[1]["spec"]["taints"]] == ["nvidia.com/gpu", "startup"]
    assert proved[1]["metadata"]["annotations"] == {"gpu-fabric.dev/proved-boot": "second"}
    assert [taint["key"] for taint in opened[1]["spec"]["taints"]] == ["nvidia.com/gpu"]


@pytest.mark.parametrize(
    ("message", "taints"),
    [
        ("node is shutting down", ["nvidia.com/gpu", "startup"]),
        ("container runtime network not ready", ["nvidia.com/gpu"]),
    ],
    ids=["the node is shut down", "the pod is replaced"],
)
def test_a_node_is_closed_when_it_is_shut_down_and_not_when_its_pod_ends(
    machine: Machine, message: str, taints: list[str]
) -> None:
    with machine.started("watch") as watching:
        # It is written after a whole look.
        while not (machine.folder / "alive").exists():
            assert watching.poll() is None
            time.sleep(0.05)
        assert machine.api.taints == ["nvidia.com/gpu"]
        ready = {"type": "Ready", "status": "False", "message": message}
        machine.api.node["status"]["conditions"].append(ready)
        watching.send_signal(signal.SIGTERM)
        assert watching.wait() == 143

    assert machine.api.taints == taints


def test_a_proof_that_is_asked_for_is_answered_with_the_condition(machine: Machine) -> None:
    machine.run()
    machine.api.node["metadata"]["annotations"]["gpu-fabric.dev/prove"] = "wave 3"
    machine.nic(1, "net/rdma1/operstate").write_text("down\n")
    machine.run()

    assert machine.api.annotations["gpu-fabric.dev/proved"] == "wave 3"
    (body,) = [
        body for path, body in machine.api.writes if "gpu-fabric.dev/proved" in str(body) and "wave" in str(body)
    ]
    assert body["status"]["conditions"][0]["status"] == "False"


def test_a_taint_that_another_sets_at_the_same_time_stays(machine: Machine) -> None:
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    machine.run()
    machine.nic(1, "net/rdma1/operstate").write_text("down\n")
    machine.api.meanwhile.append({"spec": {"taints": [OTHER_TAINT, cordoned]}})
    machine.run()

    assert machine.api.taints == ["nvidia.com/gpu", "node.kubernetes.io/unschedulable", "startup"]


def test_without_a_taint_of_its_own_the_condition_is_all_that_is_written(machine: Machine) -> None:
    machine.expected["taint"] = None
    machine.nic(1, "net/rdma1/operstate").write_text("down\n")
    machine.run()

    assert {path for path, _ in machine.api.writes} == {"/status"}
    assert machine.api.taints == ["nvidia.com/gpu", "startup"]


def test_a_look_that_fails_is_unknown_and_closes_the_node(machine: Machine) -> None:
    machine.run()
    machine.api.refused.add("/api/v1/namespaces/fabric/pods")

    status, reason, message = machine.found()
    assert (status, reason) == ("Unknown", "LookFailed")
    assert message == "403: /api/v1/namespaces/fabric/pods is forbidden"
    assert machine.api.taints == ["nvidia.com/gpu", "startup"]


def test_a_pod_that_is_ending_counts_neither_for_nor_against_its_daemon_set(machine: Machine) -> None:
    machine.api.pods["fabric"].append(pod("driver", ready=False, deletionTimestamp="2026-11-26T00:00:00Z"))
    assert machine.found()[0] == "True"

    machine.api.pods["fabric"][0]["metadata"]["deletionTimestamp"] = "2026-11-26T00:00:00Z"
    assert machine.found()[1] == "PodMissing"


def test_a_long_list_of_failures_is_cut_and_says_so(machine: Machine) -> None:
    machine.expected["resources"] = {f"nvidia.com/rail_{number:02d}": 1 for number in range(40)}
    message = machine.found()[2]

    assert len(message) <= 1024
    assert message.endswith("; and more (39 in all)")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"KUBERNETES_SERVICE_PORT": "1"}, "the API server was not reached"),
        ({"EXPECTED": "/nowhere"}, "what is planned cannot be read"),
        ({"ACCOUNT": "/nowhere"}, "the API server's authority cannot be read"),
    ],
)
def test_a_wrong_environment_is_told_without_a_traceback(machine: Machine, settings: dict[str, str], said: str) -> None:
    result = machine.run(**settings)

    assert result.returncode == 2
    assert result.stderr.startswith(said)
    assert "Traceback" not in result.stderr


def test_an_unknown_mode_is_told(machine: Machine) -> None:
    assert machine.run("twice").stderr == "mode is 'twice'; give watch, once or alive\n"


def test_a_pod_is_alive_while_its_looks_are_written(machine: Machine) -> None:
    assert machine.run("alive").returncode == 1
    machine.write("alive", "")
    assert machine.run("alive").returncode == 0
