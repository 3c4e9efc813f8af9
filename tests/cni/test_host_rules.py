"""The host scripts that set addresses, routes and policy rules, with the real `ip` on nodes made of namespaces."""

import subprocess
import sys
from pathlib import Path

import pytest
from attachments import addresses, links, routes
from namespaces import Machine
from rows import rows
from test_traffic import RECEIVE, SEND

from gpu_fabric.plan.host.daemons import script

# A host of the fabric that is in no rail's subnet, and one that is not of the fabric.
FAR, WORLD = "172.16.99.5", "192.0.2.7"
# As a source: the kernel chooses.
ANY = ""


class Node:
    """A node with a NIC to the world, by which its default route leads, and two rails that end where that one does."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self._machine = machine
        self.inside, self.outside = machine.namespace(), machine.namespace()
        for namespace in (self.inside, self.outside):
            # Packets that come back by another way are part of the picture; detection of duplicates takes a second.
            for path in ("ipv4/conf/{}/rp_filter", "ipv6/conf/{}/accept_dad"):
                for name in ("all", "default"):
                    namespace.run("sh", "-c", f"echo 0 > /proc/sys/net/{path.format(name)}")
            namespace.run("ip", "link", "set", "lo", "up")
        for name in ("eth0", "rdma0", "rdma1"):
            machine.nic(self.inside, name, self.outside, mtu=9000)
        self.inside.run("ip", "link", "set", "eth0", "up")
        self.inside.run("ip", "addr", "add", "10.0.0.2/24", "dev", "eth0")
        self.inside.run("ip", "route", "add", "default", "via", "10.0.0.1")
        for name, address in (("eth0", "10.0.0.1"), ("rdma0", "172.16.11.1"), ("rdma1", "172.16.12.1")):
            self.outside.run("ip", "addr", "add", f"{address}/24", "dev", name)
        for address in (FAR, WORLD):
            self.outside.run("ip", "addr", "add", address, "dev", "lo")
        self._addresses = folder
        for rail in range(2):
            self.plan(rail, f"rdma{rail} 172.16.{11 + rail}.10/24 172.16.{11 + rail}.1")

    def plan(self, rail: int, line: str) -> None:
        """Writes what the plan has for a rail of this node."""
        (self._addresses / f"{rail:02d}").mkdir(exist_ok=True)
        (self._addresses / f"{rail:02d}/node1").write_text(f"{line}\n")

    def fabric_rule(self, mode: str, fabric: str = "172.16.0.0/16") -> subprocess.CompletedProcess[str]:
        return self._run("fabric_rule", mode, FABRIC_RANGE=fabric, RULE_PRIORITY="2000")

    def nic_addresses(self, mode: str, fabric: str = "", mtu: str = "4200") -> subprocess.CompletedProcess[str]:
        return self._run(
            "nic_addresses",
            mode,
            NODE_NAME="node1",
            ADDRESSES=str(self._addresses),
            MTU=mtu,
            FABRIC_RANGE=fabric,
            RULE_PRIORITY="2100",
            FIRST_TABLE="151",
        )

    def everything(self) -> str:
        """All that `ip` knows of the node."""
        families = ("-4", "-6")
        commands = [(family, *show) for family in families for show in (("rule",), ("route", "show", "table", "all"))]
        return "".join(self.inside.run("ip", *command) for command in (*commands, ("addr",)))

    def rules(self, family: str = "-4") -> list[str]:
        """The rules that are not the kernel's own."""
        lines = self.inside.run("ip", family, "rule").splitlines()
        return [line.replace("\t", " ") for line in lines if line.split(":")[0] not in ("0", "32766", "32767")]

    def arrivals(self, *pairs: tuple[str, str]) -> list[str]:
        """Sender and ingress interface at the far end of a packet for each pair of source and destination."""
        command = self.outside.command(sys.executable, "-c", RECEIVE, *(destination for _, destination in pairs))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as receiver:
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == "ready\n"
            self.inside.run(sys.executable, "-c", SEND, *(address for pair in pairs for address in pair))
            return receiver.stdout.read().splitlines()

    def _run(self, name: str, mode: str, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = (f"{key}={value}" for key, value in {**settings, "WAIT_SECONDS": "10"}.items())
        command = self._machine.on(self.inside, "env", *environment, "bash", "-s", "--", mode)
        return subprocess.run(command, input=script(name), capture_output=True, text=True)


@pytest.fixture
def node(bare_machine: Machine, tmp_path: Path) -> Node:
    """A node on which nothing is set up, with two rails in its plan."""
    return Node(bare_machine, tmp_path)


@pytest.fixture
def prepared(node: Node) -> Node:
    """The same with both scripts done."""
    assert node.fabric_rule("once").returncode == 0
    assert node.nic_addresses("once").returncode == 0
    return node


def test_every_rail_has_its_address_mtu_and_table(prepared: Node) -> None:
    inside = prepared.inside

    for rail, source in enumerate(("172.16.11.10", "172.16.12.10")):
        nic = f"rdma{rail}"
        assert addresses(inside, nic) == [f"{source}/24"]
        assert links(inside)[nic]["mtu"] == 4200
        assert "UP" in links(inside)[nic]["flags"]
        subnet = f"172.16.{11 + rail}"
        assert routes(inside, source, str(151 + rail)) == [("default", f"via {subnet}.1"), (f"{subnet}.0/24", nic)]
    assert prepared.rules() == [
        "2000: not from all to 172.16.0.0/16 lookup main",
        "2100: from 172.16.11.10 lookup 151",
        "2100: from 172.16.12.10 lookup 152",
    ]
    assert [route for route in routes(inside, "10.0.0.2") if route[0] == "default"] == [("default", "via 10.0.0.1")]


def test_packets_of_a_rail_leave_by_its_nic_and_all_others_by_the_default_route(prepared: Node) -> None:
    prepared.outside.run("ip", "addr", "add", "172.16.99.6", "dev", "lo")

    assert prepared.arrivals(("172.16.11.10", FAR), ("172.16.12.10", "172.16.99.6"), ("172.16.12.10", WORLD)) == [
        "172.16.11.10 rdma0",
        "172.16.12.10 rdma1",
        "172.16.12.10 eth0",
    ]


def test_with_subnets_per_node_the_host_reaches_the_fabric_by_its_first_rail(node: Node) -> None:
    assert node.arrivals((ANY, FAR)) == ["10.0.0.2 eth0"]
    assert node.nic_addresses("once", fabric="172.16.0.0/16").returncode == 0
    # Without the fabric's rule other traffic of a rail's address stays in the fabric.
    assert node.arrivals((ANY, FAR), ("172.16.12.10", WORLD)) == ["172.16.11.10 rdma0", "172.16.12.10 rdma1"]


def test_a_second_run_changes_nothing(prepared: Node) -> None:
    before = prepared.everything()

    results = (prepared.fabric_rule("once"), prepared.nic_addresses("once"))

    for result in results:
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.endswith("; nothing had to be changed\n")
    assert prepared.everything() == before
    for result in (prepared.fabric_rule("check"), prepared.nic_addresses("check")):
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_check_of_an_unprepared_node_changes_nothing(node: Node) -> None:
    before = node.everything()

    assert node.fabric_rule("check").returncode == 1
    assert node.nic_addresses("check").returncode == 1
    assert node.everything() == before


def test_ipv6_rails_are_set_up_the_same_way(node: Node) -> None:
    for rail in range(2):
        node.plan(rail, f"rdma{rail} fd00:16:0:{11 + rail}::10/64 fd00:16:0:{11 + rail}::1")

    results = (node.fabric_rule("once", "fd00:16::/32"), node.nic_addresses("once", "fd00:16::/32"))

    assert [(result.returncode, result.stderr) for result in results] == [(0, ""), (0, "")]
    assert node.rules("-6") == [
        "2000: not from all to fd00:16::/32 lookup main",
        "2100: from fd00:16:0:11::10 lookup 151",
        "2100: from fd00:16:0:12::10 lookup 152",
    ]
    assert sorted(routes(node.inside, "fd00::", "152")) == [
        ("default", "via fd00:16:0:12::1"),
        ("fd00:16:0:12::/64", "rdma1"),
    ]
    assert ("fd00:16::/32", "via fd00:16:0:11::1") in routes(node.inside, "fd00::")
    before = node.everything()
    assert node.nic_addresses("once", "fd00:16::/32").stdout.endswith("; nothing had to be changed\n")
    assert node.everything() == before


@pytest.mark.parametrize("old", ["172.20.0.0/16", "fd00:16::/32"])
def test_a_rule_for_an_older_range_is_replaced(node: Node, old: str) -> None:
    assert node.fabric_rule("once", old).returncode == 0

    result = node.fabric_rule("once")

    assert (result.returncode, result.stderr) == (0, "")
    assert (node.rules("-4"), node.rules("-6")) == (["2000: not from all to 172.16.0.0/16 lookup main"], [])


def test_a_second_rule_for_the_same_range_is_removed(prepared: Node) -> None:
    again = ("priority", "2000", "not", "to", "172.16.0.0/16", "table", "main", "protocol", "static")
    prepared.inside.run("ip", "rule", "add", *again)

    assert "2 at priority 2000, not 1" in prepared.fabric_rule("check").stdout
    assert prepared.fabric_rule("once").returncode == 0
    assert [rule for rule in prepared.rules() if rule.startswith("2000")] in (
        ["2000: not from all to 172.16.0.0/16 lookup main"],
        ["2000: not from all to 172.16.0.0/16 lookup main proto static"],
    )


@pytest.mark.parametrize(("command", "told"), rows(__file__, "what somebody changed is reported and put right"))
def test_what_somebody_changed_is_told_and_put_right(prepared: Node, command: str, told: list[str]) -> None:
    before = prepared.everything()
    prepared.inside.run(*command.split())

    checked = prepared.nic_addresses("check")
    done = prepared.nic_addresses("once")

    assert checked.returncode == 1
    assert set(told) <= {line.removeprefix("rail 1, rdma1: ") for line in checked.stdout.splitlines()}
    assert all(line.startswith("rail 1, rdma1: ") for line in checked.stdout.splitlines())
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(prepared.everything().splitlines()) == sorted(before.splitlines())


def test_another_address_of_the_subnet_is_told_with_a_command_that_removes_it(prepared: Node) -> None:
    prepared.inside.run("ip", "addr", "add", "172.16.11.99/24", "dev", "rdma0")

    result = prepared.nic_addresses("once")

    assert result.returncode == 1
    assert addresses(prepared.inside, "rdma0") == ["172.16.11.10/24", "172.16.11.99/24"]
    remedy = result.stderr.split("`")[1]
    prepared.inside.run(*remedy.split())
    assert prepared.nic_addresses("check").returncode == 0


def test_a_wrong_interface_and_the_kernels_refusal_are_told_with_the_nic_they_are_about(node: Node) -> None:
    node.plan(0, "rdma7 172.16.11.10/24 172.16.11.1")
    named = node.nic_addresses("once")

    assert (named.returncode, named.stderr) == (
        1,
        "FAILED rail 0, rdma7: no such interface on this node; see `ip link`, and correct the rail's interface\n",
    )
    assert addresses(node.inside, "rdma1") == ["172.16.12.10/24"]
    result = node.nic_addresses("once", mtu="70000")
    told = "FAILED rail 1, rdma1: MTU 4200, not 70000, and `ip link set dev rdma1 mtu 70000` fails: Error: "
    assert (result.returncode, result.stderr.splitlines()[1].startswith(told)) == (1, True)
