"""The script that gives the rails' NICs their addresses and routes, run by Bash on a node made of files."""

import pytest
from fake_host import FakeHost
from unprepared_hosts import SECOND, Settings, claimed_nic_addresses, nic_addresses

UP = "BROADCAST,MULTICAST,UP,LOWER_UP 4200\n"


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

    assert (result.returncode, result.stdout) == (1, f"addresses: no folder of a rail in {host.folder}/modprobe.d\n")


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


def test_a_claimed_nic_is_passed_over_until_its_pod_has_brought_it_back(host: FakeHost) -> None:
    settings = claimed_nic_addresses(host)
    interface = f"sys/bus/pci/devices/{SECOND}/net/rdma1"
    (host.folder / f"{interface}/type").unlink()
    (host.folder / interface).rmdir()
    (host.folder / "ip/link.rdma1").unlink()

    away = host.run("claimed_nic_addresses", "once", **settings)

    assert (away.returncode, away.stderr) == (0, "")
    assert away.stdout.endswith("ready: all 2 rails have the addresses of the plan, but for those that pods have: 1\n")
    assert not any("rdma1" in change for change in host.changes())

    host.write(f"{interface}/type", "1\n")
    host.write("ip/link.rdma1", UP)
    assert host.run("claimed_nic_addresses", "check", **settings).returncode == 1
    back = host.run("claimed_nic_addresses", "once", **settings)
    assert back.stdout.endswith("ready: all 2 rails have the addresses of the plan\n")
    assert host.read("ip/address.rdma1-4") == "172.16.12.10/24\n"


def test_a_claimed_nic_with_another_name_or_without_its_driver_is_told(host: FakeHost) -> None:
    settings = claimed_nic_addresses(host)
    (host.folder / "ip/link.rdma1").unlink()
    renamed = host.run("claimed_nic_addresses", "once", **settings)
    assert "rail 1, rdma1: no such interface on this node" in renamed.stderr

    for path in ("net/rdma1/type", "net/rdma1", "net", "driver/module", "driver"):
        place = host.folder / f"sys/bus/pci/devices/{SECOND}/{path}"
        place.rmdir() if place.is_dir() else place.unlink()
    unbound = host.run("claimed_nic_addresses", "once", **settings)
    assert "rail 1, rdma1: no such interface on this node" in unbound.stderr
