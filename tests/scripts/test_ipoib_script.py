"""The script that loads IP over InfiniBand, run by Bash on a node made of files."""

from pathlib import Path

import pytest
from fake_host import FakeHost
from unprepared_hosts import ipoib

KEPT = "modules-load.d/gpu-fabric-ipoib.conf"


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    host = FakeHost(tmp_path)
    ipoib(host)
    return host


def test_the_module_is_loaded_now_and_at_the_next_start(host: FakeHost) -> None:
    result = host.run("ipoib", "once", INTERFACES="ib0 ib1")

    assert (result.returncode, result.stderr) == (0, "")
    assert host.changes() == ["modprobe ib_ipoib"]
    assert host.read(KEPT) == "ib_ipoib\n"
    assert result.stdout.splitlines()[-1] == "ready: all 2 interfaces are InfiniBand"


def test_an_interface_that_does_not_come_is_named(host: FakeHost) -> None:
    result = host.run("ipoib", "once", INTERFACES="ib0 ib7", WAIT_SECONDS="1")

    assert result.returncode == 1
    assert result.stderr == (
        "FAILED rail 1, ib7: no such interface on this node; see `ip link`, "
        "and whether the NIC's link type is InfiniBand\n"
    )
    checked = host.run("ipoib", "check", INTERFACES="ib0 ib7")
    assert (checked.returncode, checked.stdout) == (1, "rail 1, ib7: no such interface on this node\n")


def test_an_ethernet_interface_is_refused_by_name(host: FakeHost) -> None:
    host.write("modules/ib_ipoib/class/net/ib1/type", "1\n")

    result = host.run("ipoib", "once", INTERFACES="ib0 ib1")

    assert result.returncode == 1
    assert "FAILED rail 1, ib1: not InfiniBand; " in result.stderr
