"""The script that gives the rails' NICs their addresses and routes, run by Bash on a node made of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_host import FakeHost
from unprepared_hosts import Settings, nic_addresses

pytestmark = pytest.mark.scripts

UP = "BROADCAST,MULTICAST,UP,LOWER_UP 4200\n"


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path)


@pytest.fixture
def settings(host: FakeHost) -> Settings:
    """Two rails with a gateway each on a node where nothing is set."""
    return nic_addresses(host)


@pytest.fixture
def ready(host: FakeHost) -> Settings:
    """One rail, all set, with a gateway; the whole fabric is reached by it."""
    settings = nic_addresses(host)
    (host.folder / "addresses/01/node1").unlink()
    (host.folder / "addresses/01").rmdir()
    host.write("ip/link.rdma0", UP)
    host.write("ip/address.rdma0-4", "172.16.11.10/24\n")
    host.write("ip/routes.151-4", "default via 172.16.11.1 dev rdma0 \n172.16.11.0/24 dev rdma0 scope 253 \n")
    host.write("ip/routes.main-4", "default via 10.0.0.1 dev eth0 \n172.16.0.0/16 via 172.16.11.1 dev rdma0 \n")
    host.write("ip/rules-4", "2100:\tfrom 172.16.11.10 lookup 151\n")
    assert host.run("nic_addresses", "check", **settings).returncode == 0
    return settings


def test_every_rail_gets_its_address_and_a_table_of_its_own(host: FakeHost, settings: Settings) -> None:
    result = host.run("nic_addresses", "once", **settings)

    assert (result.returncode, result.stderr) == (0, "")
    assert host.changes() == [
        "ip -4 link set dev rdma0 mtu 4200",
        "ip -4 link set dev rdma0 up",
        "ip -4 addr add 172.16.11.10/24 dev rdma0",
        "ip -4 route replace 172.16.11.0/24 dev rdma0 table 151",
        "ip -4 route replace default via 172.16.11.1 dev rdma0 table 151",
        "ip -4 rule add priority 2100 from 172.16.11.10 table 151",
        "ip -4 route replace 172.16.0.0/16 via 172.16.11.1 dev rdma0 table main",
        "ip -4 link set dev rdma1 mtu 4200",
        "ip -4 link set dev rdma1 up",
        "ip -4 addr add 172.16.12.10/24 dev rdma1",
        "ip -4 route replace 172.16.12.0/24 dev rdma1 table 152",
        "ip -4 route replace default via 172.16.12.1 dev rdma1 table 152",
        "ip -4 rule add priority 2100 from 172.16.12.10 table 152",
    ]
    assert result.stdout.splitlines()[0] == (
        "rail 0, rdma0: MTU 1500, not 4200; put right by `ip link set dev rdma0 mtu 4200`"
    )
    assert result.stdout.splitlines()[-1] == "ready: all 2 rails have the addresses of the plan"


def test_ipv6_has_the_same_in_its_own_tables(host: FakeHost, settings: Settings) -> None:
    host.write("addresses/00/node1", "rdma0 fd00:0:0:11::a/64 fd00:0:0:11::1\n")

    result = host.run("nic_addresses", "once", **{**settings, "FABRIC_RANGE": "fd00::/48", "MTU": ""})

    assert (result.returncode, result.stderr) == (0, "")
    assert [change for change in host.changes() if change.startswith("ip -6")] == [
        "ip -6 addr add fd00:0:0:11::a/64 dev rdma0",
        "ip -6 route replace fd00:0:0:11::/64 dev rdma0 table 151",
        "ip -6 route replace default via fd00:0:0:11::1 dev rdma0 table 151",
        "ip -6 rule add priority 2100 from fd00:0:0:11::a table 151",
        "ip -6 route replace fd00::/48 via fd00:0:0:11::1 dev rdma0 table main",
    ]
    assert not any("mtu" in change for change in host.changes())


def test_a_rail_without_a_gateway_gets_only_its_address(host: FakeHost, settings: Settings) -> None:
    for rail in range(2):
        host.write(f"addresses/{rail:02d}/node1", f"rdma{rail} 172.16.1{rail + 1}.10/24\n")

    result = host.run("nic_addresses", "once", **{**settings, "FABRIC_RANGE": ""})

    assert result.returncode == 0
    assert not any("route" in change or "rule" in change for change in host.changes())


def test_a_gateway_that_the_plan_no_longer_has_takes_table_and_rule_with_it(host: FakeHost, ready: Settings) -> None:
    host.write("addresses/00/node1", "rdma0 172.16.11.10/24\n")

    result = host.run("nic_addresses", "once", **{**ready, "FABRIC_RANGE": ""})

    assert (result.returncode, result.stderr) == (0, "")
    assert host.read("ip/routes.151-4") == ""
    assert host.read("ip/rules-4") == ""


def test_a_node_that_the_plan_does_not_have_is_named_with_every_rail(host: FakeHost, settings: Settings) -> None:
    result = host.run("nic_addresses", "once", **{**settings, "NODE_NAME": "node9"})

    assert result.returncode == 1
    assert result.stderr == "".join(
        f"FAILED rail {rail}: the plan has no address for node node9; name it in nodeNames of its pool\n"
        for rail in range(2)
    )
    checked = host.run("nic_addresses", "check", **{**settings, "NODE_NAME": "node9"})
    assert checked.stdout.splitlines()[1] == "rail 1: the plan has no address for node node9"


def test_a_wrong_interface_is_named_with_its_rail_and_the_others_are_set(host: FakeHost, settings: Settings) -> None:
    host.write("addresses/00/node1", "rdma7 172.16.11.10/24 172.16.11.1\n")

    result = host.run("nic_addresses", "once", **settings)

    assert result.returncode == 1
    assert result.stderr == (
        "FAILED rail 0, rdma7: no such interface on this node; see `ip link`, and correct the rail's interface\n"
    )
    assert host.read("ip/address.rdma1-4") == "172.16.12.10/24\n"


@pytest.mark.parametrize(
    "line",
    [
        "rdma0",
        "rdma0 172.16.11.10",
        "rdma0 172.16.11.300/24",
        "rdma0 172.16.11.10/33",
        "rdma0 172.16.11.10/24 172.16.12.1",
        "rdma0 172.16.11.10/24 fd00::1",
        "rdma0 172.16.11.10/24 172.16.11.1 4200",
        "rdma0 172.16.11.10/24 172.16.11.1\nrdma1 172.16.12.10/24",
    ],
)
def test_a_line_that_is_no_address_of_a_nic_is_told_and_not_tried(
    host: FakeHost, settings: Settings, line: str
) -> None:
    host.write("addresses/00/node1", f"{line}\n")

    result = host.run("nic_addresses", "once", **settings)

    assert result.returncode == 1
    assert result.stderr.startswith(f"FAILED rail 0: '{line.splitlines()[0]}")
    assert "is not INTERFACE ADDRESS/LENGTH [GATEWAY]; see the plan's ConfigMap" in result.stderr
    assert not any("rdma0" in change for change in host.changes())


def test_no_folder_of_a_rail_is_a_failure(host: FakeHost, settings: Settings) -> None:
    result = host.run("nic_addresses", "check", **{**settings, "ADDRESSES": str(host.folder / "modprobe.d")})

    assert (result.returncode, result.stdout) == (
        1,
        f"addresses: no folder of a rail in {host.folder}/modprobe.d\n",
    )


def test_another_address_of_the_subnet_is_told_with_its_remedy_and_stays(host: FakeHost, ready: Settings) -> None:
    host.write("ip/address.rdma0-4", "172.16.11.10/24\n172.16.11.99/24\n192.168.7.1/24\n")

    result = host.run("nic_addresses", "once", **ready)

    assert result.returncode == 1
    assert result.stderr == (
        "FAILED rail 0, rdma0: has the address 172.16.11.99/24, too, which is not of the plan; remove it by "
        "`ip addr del 172.16.11.99/24 dev rdma0`, and from what sets it when this node starts\n"
    )
    assert host.changes() == []
    assert host.run("nic_addresses", "check", **ready).returncode == 1


@pytest.mark.parametrize("old", ["from 172.16.11.10 lookup 77", "from 172.16.11.99 lookup 151"])
def test_a_rule_of_the_rail_that_leads_elsewhere_is_put_right(host: FakeHost, ready: Settings, old: str) -> None:
    others = "2100:\tfrom 10.0.0.9 lookup 77\n99:\tfrom 172.16.11.10 lookup 77\n"
    host.write("ip/rules-4", f"{others}2100:\t{old}\n")

    result = host.run("nic_addresses", "once", **ready)

    assert (result.returncode, result.stderr) == (0, "")
    assert host.read("ip/rules-4") == f"{others}2100:\tfrom 172.16.11.10 lookup 151\n"


def test_rails_that_swap_their_addresses_swap_their_rules(host: FakeHost, settings: Settings) -> None:
    assert host.run("nic_addresses", "once", **settings).returncode == 0
    host.write("addresses/00/node1", "rdma0 172.16.12.10/24 172.16.12.1\n")
    host.write("addresses/01/node1", "rdma1 172.16.11.10/24 172.16.11.1\n")
    for rail in range(2):
        host.write(f"ip/address.rdma{rail}-4", "")

    result = host.run("nic_addresses", "once", **settings)

    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(line for line in host.read("ip/rules-4").splitlines() if line.startswith("2100")) == [
        "2100:\tfrom 172.16.11.10 lookup 152",
        "2100:\tfrom 172.16.12.10 lookup 151",
    ]


def test_routes_of_an_older_plan_are_replaced(host: FakeHost, ready: Settings) -> None:
    host.write(
        "ip/routes.151-4", "default via 172.16.11.254 dev rdma0 \n172.16.11.0/24 dev rdma9 \n172.20.0.0/24 dev rdma0 \n"
    )
    host.write("ip/routes.main-4", "172.16.0.0/16 via 172.16.99.1 dev rdma9 \n")

    result = host.run("nic_addresses", "once", **ready)

    assert (result.returncode, result.stderr) == (0, "")
    assert host.changes() == [
        "ip -4 route del 172.20.0.0/24 dev rdma0 table 151",
        "ip -4 route replace 172.16.11.0/24 dev rdma0 table 151",
        "ip -4 route replace default via 172.16.11.1 dev rdma0 table 151",
        "ip -4 route replace 172.16.0.0/16 via 172.16.11.1 dev rdma0 table main",
    ]
    assert "has the default route by 172.16.11.254 and rdma0; put right by" in result.stdout


def test_a_table_that_something_else_uses_is_told_and_kept(host: FakeHost, ready: Settings) -> None:
    host.write("ip/routes.151-4", host.read("ip/routes.151-4") + "10.9.0.0/16 dev eth0 scope 253 \n")

    result = host.run("nic_addresses", "once", **ready)

    assert result.returncode == 1
    assert "rail 0, rdma0: table 151 holds '10.9.0.0/16 dev eth0 scope 253', which is not of the plan; " in (
        result.stderr
    )
    assert host.changes() == []


def test_the_way_to_the_fabric_needs_a_gateway_of_the_first_rail(host: FakeHost, ready: Settings) -> None:
    host.write("addresses/00/node1", "rdma0 172.16.11.10/24\n")

    result = host.run("nic_addresses", "check", **ready)

    assert "rail 0, rdma0: no gateway towards 172.16.0.0/16\n" in result.stdout


def test_a_fabric_that_is_one_subnet_keeps_its_own_route(host: FakeHost, ready: Settings) -> None:
    assert host.run("nic_addresses", "check", **{**ready, "FABRIC_RANGE": "172.16.11.0/24"}).returncode == 0


def test_each_loss_is_told_in_a_line_of_its_own(host: FakeHost, ready: Settings) -> None:
    host.write("ip/link.rdma0", "BROADCAST,MULTICAST 9000\n")
    host.write("ip/address.rdma0-4", "")
    host.write("ip/routes.151-4", "")
    host.write("ip/routes.main-4", "")
    host.write("ip/rules-4", "")

    result = host.run("nic_addresses", "check", **ready)

    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "rail 0, rdma0: MTU 9000, not 4200",
        "rail 0, rdma0: down",
        "rail 0, rdma0: no address 172.16.11.10/24",
        "rail 0, rdma0: table 151 has no route of its own subnet",
        "rail 0, rdma0: table 151 has no default route",
        "rail 0, rdma0: no rule from 172.16.11.10 to table 151",
        "rail 0, rdma0: no route to 172.16.0.0/16 in table main",
    ]
    assert host.changes() == []


def test_a_new_plan_is_taken_up_without_a_restart(host: FakeHost, ready: Settings) -> None:
    with host.running("nic_addresses", "configure", **ready) as running:
        running.lines("ready: ")
        host.write("addresses/00/node1", "rdma0 172.16.31.20/24 172.16.31.1\n")

        assert running.line() == (
            "changed since the last look: rail 0, rdma0: no address 172.16.31.20/24; "
            "put right by `ip -4 addr add 172.16.31.20/24 dev rdma0`"
        )
        running.lines("ready: ")
    assert host.read("ip/rules-4") == "2100:\tfrom 172.16.31.20 lookup 151\n"


def test_the_folder_of_a_rail_that_the_plan_no_longer_has_is_passed_over(host: FakeHost, ready: Settings) -> None:
    (host.folder / "addresses/01").mkdir()
    assert host.run("nic_addresses", "check", **ready).returncode == 1

    assert host.run("nic_addresses", "check", **ready, RAILS="00").returncode == 0
