"""The script of the fabric check in a pod that real chains attached: it passes, and tells each rail that is broken."""

import subprocess
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from attachments import Attachment, Pod, attachments, tables_by_source
from namespaces import CommandFailed, Machine, Namespace

from gpu_fabric.on_nodes import FOLDER
from gpu_fabric.plan import Plan

_SCRIPT = FOLDER / "fabric_check.sh"


class CheckedPod(Pod):
    """A pod on a node, and what the check is told of two of its rails; `device` is where RDMA devices come from."""

    def __init__(self, machine: Machine, node: Namespace, plan: Plan, device: str = "-") -> None:
        super().__init__(machine, node)
        self.rails = attachments(plan)[:2]
        self.sys = machine.networks / "sys"
        self.settings = {"NODE_NAME": "gpu-node-3", "ROUTES": "yes", "SYS": str(self.sys)}
        self.planned = [_planned(plan, rail, attachment, device) for rail, attachment in enumerate(self.rails)]

    def run(self, mode: str) -> subprocess.CompletedProcess[str]:
        settings = {**self.settings, "RAILS": "\n".join(" ".join(words) for words in self.planned)}
        command = ("env", *(f"{name}={value}" for name, value in settings.items()), "sh", str(_SCRIPT), mode)
        return subprocess.run(self.namespace.command(*command), capture_output=True, text=True)

    def failures(self) -> list[str]:
        """What `check` prints; its exit status fits."""
        result = self.run("check")
        assert (result.returncode, result.stderr) == (int(bool(result.stdout)), "")
        return result.stdout.splitlines()


def _planned(plan: Plan, rail: int, attachment: Attachment, device: str) -> list[str]:
    pool = plan.addresses.pool_of(rail)
    assert pool is not None
    gateway = pool.gateway_of(plan.addresses.numbers[0]) or "-"
    words = (rail, attachment.interface, attachment.network, pool.subnet, gateway, device, "ether", attachment.mtu)
    return [str(word) for word in words]


@pytest.fixture
def node(machine: Machine) -> Namespace:
    """A node with two NICs, wired to a fabric that answers nothing."""
    node, far = machine.namespace(), machine.namespace()
    for name in ("rdma0", "rdma1"):
        machine.nic(node, name, far, mtu=9000)
        node.run("ip", "link", "set", name, "up")
    return node


@pytest.fixture
def pod(machine: Machine, node: Namespace, plan_of: Callable[..., Plan]) -> CheckedPod:
    """A pod with two whole NICs, in subnets with gateways."""
    plan = plan_of("host-device", addressing={"supernet": "192.168.0.0/16", "gateway": "first"})
    pod = CheckedPod(machine, node, plan)
    for attachment in pod.rails:
        pod.attach(attachment)
    return pod


def test_a_pod_passes_once_its_last_rail_is_attached(
    machine: Machine, node: Namespace, plan_of: Callable[..., Plan]
) -> None:
    pod = CheckedPod(machine, node, plan_of("host-device"))
    first, second = pod.rails
    pod.attach(first)
    (failure,) = pod.failures()
    assert failure.startswith(
        f"FAILED node gpu-node-3, rail 1 (net2, network {second.network}): the pod has no interface"
    )

    pod.attach(second)
    assert pod.failures() == []


def test_every_rail_is_shown_with_what_the_chain_made(pod: CheckedPod) -> None:
    result = pod.run("once")

    assert result.returncode == 0
    tables = tables_by_source(pod.namespace)
    assert [line.split()[:9] for line in result.stdout.splitlines()[2:]] == [
        [words[0], words[2], words[1], "up", "ether", words[7], rail.address, tables[rail.source], words[4]]
        for words, rail in zip(pod.planned, pod.rails, strict=True)
    ]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("ip address flush dev net2", "no address in 192.168.16.0/20;"),
        ("ip rule delete from 192.168.16.2", "no rule leads from 192.168.16.2 to a route table;"),
        ("ip link set net2 down", "the interface is down;"),
        ("ip link set net2 mtu 1500", "MTU 1500, not 4220;"),
        ("ip address add 192.168.0.2/20 dev net2 noprefixroute", "address 192.168.0.2 is also on net1;"),
        ("ip route replace default via 192.168.16.9 dev net2 table {table}", "route table {table} of 192.168.16.2 has"),
        ("ip route add default dev net2", "the pod's default route leaves by this rail (default dev net2 scope link);"),
        (
            "ip -6 route add default dev net2",
            "the pod's default route leaves by this rail (default dev net2 metric 1024",
        ),
    ],
)
def test_what_breaks_is_told_with_node_and_rail(pod: CheckedPod, command: str, told: str) -> None:
    assert pod.failures() == []
    table = tables_by_source(pod.namespace)[pod.rails[1].source]
    pod.namespace.run(*command.format(table=table).split())

    failures = [failure for failure in pod.failures() if "also on net2;" not in failure]
    rail = f"FAILED node gpu-node-3, rail 1 (net2, network {pod.rails[1].network}): "
    assert failures[0].startswith(f"{rail}{told.format(table=table)}")
    assert all(failure.startswith(rail) for failure in failures)


def test_ipv6_rails_pass_and_break_alike(machine: Machine, node: Namespace, plan_of: Callable[..., Plan]) -> None:
    pod = CheckedPod(machine, node, plan_of("host-device", addressing={"supernet": "fd00:10::/48"}))
    for attachment in pod.rails:
        pod.attach(attachment)
    assert pod.failures() == []

    pod.namespace.run("ip", "-6", "rule", "delete", "from", pod.rails[1].source)
    (failure,) = pod.failures()
    assert "rail 1" in failure
    assert f"no rule leads from {pod.rails[1].source} to a route table;" in failure


def test_sub_interfaces_pass_on_the_rdma_devices_of_their_nics(
    machine: Machine, node: Namespace, plan_of: Callable[..., Plan]
) -> None:
    pod = CheckedPod(machine, node, plan_of("roce-macvlan"), device="shared")
    for rail, attachment in enumerate(pod.rails):
        _list_gid(pod.sys / f"class/infiniband/mlx5_{rail}/ports/1", attachment)
        try:
            pod.attach(attachment)
        except CommandFailed as error:
            if "operation not supported" in str(error):
                pytest.skip(f"this kernel makes no macvlan interfaces: {error}")
            raise

    assert pod.failures() == []
    node.run("ip", "link", "set", "rdma1", "down")
    (failure,) = pod.failures()
    assert "rail 1" in failure
    assert "the interface has no link;" in failure


def _list_gid(port: Path, attachment: Attachment) -> None:
    """Has an RDMA port list an attachment's address, which no kernel does without an RDMA device."""
    digits = IPv4Address(attachment.source).packed.hex()
    files = {
        "state": "4: ACTIVE",
        "link_layer": "Ethernet",
        "gids/0": f"0000:0000:0000:0000:0000:ffff:{digits[:4]}:{digits[4:]}",
        "gid_attrs/ndevs/0": attachment.interface,
    }
    for name, text in files.items():
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(f"{text}\n")
