"""The script that looks after the NICs' link type, run by Bash on a node made of files."""

import pytest
from fake_host import FakeHost
from unprepared_hosts import FIRST, SECOND, Settings, link_type


@pytest.fixture
def settings(host: FakeHost) -> Settings:
    """Two NICs wanted as Ethernet, of which the second, port 2 of its card, is InfiniBand."""
    return link_type(host)


def test_a_wrong_type_is_only_told_unless_it_may_be_changed(host: FakeHost, settings: Settings) -> None:
    result = host.run("link_type", "once", **{**settings, "CHANGE": "false"})

    assert result.returncode == 1
    assert result.stderr == (
        f"FAILED rail 1, NIC {SECOND}: InfiniBand, not Ethernet; set it by mlxconfig, and reboot this node\n"
    )
    assert host.changes() == []


def test_a_wrong_type_is_set_once_in_the_firmware_and_a_reboot_announced(host: FakeHost, settings: Settings) -> None:
    first, second = host.run("link_type", "once", **settings), host.run("link_type", "once", **settings)

    assert host.changes() == [f"mlxconfig -d {SECOND} -y set LINK_TYPE_P2=2"]
    for result in (first, second):
        assert (result.returncode, result.stderr) == (1, "")
        assert result.stdout.splitlines()[-1] == (
            f"REBOOT NEEDED: rail 1, NIC {SECOND}: its firmware has LINK_TYPE_P2=2 for the next start"
        )
    checked = host.run("link_type", "check", **settings)
    assert (checked.returncode, checked.stdout) == (1, f"rail 1, NIC {SECOND}: InfiniBand, not Ethernet\n")


def test_a_card_of_one_port_has_its_setting_as_port_1(host: FakeHost, settings: Settings) -> None:
    host.write(f"firmware/{SECOND}", "        LINK_TYPE_P1      IB(1)\n")

    host.run("link_type", "once", **settings)

    assert host.changes() == [f"mlxconfig -d {SECOND} -y set LINK_TYPE_P1=2"]


def test_infiniband_can_be_wanted_as_well(host: FakeHost, settings: Settings) -> None:
    host.run("link_type", "once", **{**settings, "LINK_TYPE": "infiniband"})

    assert host.changes() == [f"mlxconfig -d {FIRST} -y set LINK_TYPE_P1=1"]


def test_nics_of_the_wanted_type_are_ready(host: FakeHost, settings: Settings) -> None:
    result = host.run("link_type", "once", **{**settings, "PCI_ADDRESSES": FIRST})

    assert (result.returncode, result.stdout) == (0, "ready: all 1 NICs are Ethernet; nothing had to be changed\n")
    assert host.run("link_type", "check", **{**settings, "PCI_ADDRESSES": FIRST}).returncode == 0


def test_a_dry_run_names_the_command_and_sets_nothing(host: FakeHost, settings: Settings) -> None:
    before = host.state()
    with host.running("link_type", "report", **settings) as running:
        lines = running.lines("dry run:")

    assert lines == [
        f"rail 1, NIC {SECOND}: InfiniBand, not Ethernet; "
        f"would be put right by `mlxconfig -d {SECOND} -y set LINK_TYPE_P2=2`",
        "dry run: nothing was changed",
    ]
    assert host.state() == before


def test_a_card_whose_type_is_fixed_is_told_as_such(host: FakeHost, settings: Settings) -> None:
    host.write(f"firmware/{SECOND}", "        NUM_OF_VFS      8\n")

    result = host.run("link_type", "once", **settings)

    assert result.returncode == 1
    assert f"NIC {SECOND}: InfiniBand, not Ethernet, and its firmware has no LINK_TYPE_P1; " in result.stderr


def test_a_node_without_mlxconfig_a_nic_or_its_driver_is_told_so(host: FakeHost, settings: Settings) -> None:
    host.breaks("mlxconfig")
    host.write("sys/bus/pci/devices/0000:5e:00.0/class", "0x020000\n")

    result = host.run("link_type", "once", **{**settings, "PCI_ADDRESSES": f"{SECOND} 0000:ff:00.0 0000:5e:00.0"})

    assert result.returncode == 1
    first, second, third = result.stderr.splitlines()
    assert f"rail 0, NIC {SECOND}: InfiniBand, not Ethernet, and `mlxconfig -d {SECOND} q` fails: cannot do it" in first
    assert "rail 1, NIC 0000:ff:00.0: no such PCI device; see `lspci -D -d 15b3:`" in second
    assert "rail 2, NIC 0000:5e:00.0: no RDMA device; " in third
