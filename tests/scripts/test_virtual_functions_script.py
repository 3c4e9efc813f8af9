"""The script that makes virtual functions, run by Bash on a node made of files."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_sysfs import FakeNode, on_nics

# Not in the order of their addresses: rail order is what counts.
FIRST, SECOND = "0000:48:00.0", "0000:0c:00.0"
PLUGIN = "network-operator/network-operator-sriov-device-plugin"


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[FakeNode]:
    """A node without NICs."""
    with FakeNode(tmp_path) as node:
        yield node


@pytest.fixture
def node(bare: FakeNode) -> FakeNode:
    """A node with two NICs without virtual functions."""
    bare.add_nic(FIRST, "rdma0")
    bare.add_nic(SECOND, "rdma1")
    return bare


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[FakeNode]:
    """A node on which all is done: a virtual function on each of two NICs."""
    node = FakeNode(tmp_path)
    for address, interface in ((FIRST, "rdma0"), (SECOND, "rdma1")):
        node.add_nic(address, interface)
        node.has_functions(address, 1)
    with node:
        yield node


def test_functions_are_made_in_rail_order_with_their_mac_addresses_before_the_next_nic(node: FakeNode) -> None:
    node.function_mtu = 9000

    result = node.prepare("once", FIRST, SECOND, VFS_PER_NIC="2", MTU="4220")

    assert (result.returncode, result.stderr) == (0, "")
    assert node.happened("write", "ip link set", "bind", "unbind") == [
        "ip link set dev rdma0 mtu 4220",
        "write 0000:48:00.0 2",
        "ip link set dev rdma0 vf 0 mac 02:00:00:00:48:01",
        "unbind 0000:48:00.1",
        "bind 0000:48:00.1",
        "ip link set dev rdma0 vf 1 mac 02:00:00:00:48:02",
        "unbind 0000:48:00.2",
        "bind 0000:48:00.2",
        "ip link set dev vf481 mtu 4220",
        "ip link set dev vf482 mtu 4220",
        "ip link set dev rdma1 mtu 4220",
        "write 0000:0c:00.0 2",
        "ip link set dev rdma1 vf 0 mac 02:00:00:00:0c:01",
        "unbind 0000:0c:00.1",
        "bind 0000:0c:00.1",
        "ip link set dev rdma1 vf 1 mac 02:00:00:00:0c:02",
        "unbind 0000:0c:00.2",
        "bind 0000:0c:00.2",
        "ip link set dev vf0c1 mtu 4220",
        "ip link set dev vf0c2 mtu 4220",
    ]
    assert "rail 0, NIC 0000:48:00.0: made 2 virtual functions" in result.stdout
    assert result.stdout.splitlines()[-1] == "ready: 2 NICs with 2 virtual functions each, RDMA mode exclusive"


def test_a_second_run_changes_nothing(node: FakeNode) -> None:
    assert node.prepare("once", FIRST, SECOND, MTU="4220", PLUGIN_POD=PLUGIN).returncode == 0
    node.events.write_text("")

    result = node.prepare("once", FIRST, SECOND, MTU="4220", PLUGIN_POD=PLUGIN)

    assert result.returncode == 0
    assert node.happened() == [
        "rdma system show",
        "ip link show dev rdma0",
        "ip link show dev rdma1",
        "rdma system show",
    ]
    assert list(node.modprobe.iterdir()) == []


def test_an_old_ip_is_understood_too(ready: FakeNode) -> None:
    ready.has_an_old_ip()

    assert ready.prepare("once", FIRST, SECOND).returncode == 0
    assert ready.happened("ip link set", "unbind") == []


def test_a_function_in_a_pod_survives(ready: FakeNode) -> None:
    ready.give_to_pod(ready.functions(FIRST)[0])

    assert ready.prepare("once", FIRST, SECOND).returncode == 0
    assert ready.happened("write", "ip link set", "unbind") == []


def test_another_count_clears_every_nic_before_the_first_function_is_made(ready: FakeNode) -> None:
    assert ready.prepare("once", FIRST, SECOND, VFS_PER_NIC="3").returncode == 0

    assert ready.happened("write") == [f"write {FIRST} 0", f"write {SECOND} 0", f"write {FIRST} 3", f"write {SECOND} 3"]


def test_another_count_waits_for_the_pod_that_holds_a_function(ready: FakeNode) -> None:
    ready.give_to_pod(ready.functions(SECOND)[0])

    result = ready.prepare("once", SECOND, VFS_PER_NIC="2")

    assert result.returncode == 1
    assert result.stderr == (
        "FAILED rail 0, NIC 0000:0c:00.0: a pod holds virtual function 0000:0c:00.1, "
        "so their number stays; drain this node\n"
    )
    assert ready.happened("write") == []


def test_a_function_that_lost_its_driver_gets_it_back(ready: FakeNode) -> None:
    function = ready.devices / ready.functions(FIRST)[0]
    (function / "driver").unlink()
    shutil.rmtree(function / "net")

    assert ready.prepare("once", FIRST, SECOND).returncode == 0
    assert ready.happened("bind", "unbind", "write") == [f"bind {function.name}"]


def test_nics_that_never_appear_end_the_wait_and_leave_the_others_alone(node: FakeNode) -> None:
    shutil.rmtree(node.devices / SECOND / "net")

    started = time.monotonic()
    result = node.prepare("once", FIRST, "0000:ff:00.0", SECOND, WAIT_SECONDS="1")

    assert time.monotonic() - started < 5
    assert result.returncode == 1
    assert result.stderr == (
        "FAILED rail 1, NIC 0000:ff:00.0: no such PCI device after 1 s; see `lspci -D -d 15b3:` of this node\n"
        "FAILED rail 2, NIC 0000:0c:00.0: no network interface after 1 s; look for mlx5_core in this node's dmesg\n"
    )
    assert node.happened("write") == []


def test_a_nic_that_allows_too_few_functions_is_named_with_both_numbers(bare: FakeNode) -> None:
    bare.add_nic(FIRST, "rdma0", most=1)

    result = bare.prepare("once", FIRST, VFS_PER_NIC="2")

    assert result.returncode == 1
    assert "NIC 0000:48:00.0: allows 1 virtual functions, 2 wanted; raise NUM_OF_VFS" in result.stderr
    assert bare.happened("write") == []


def test_functions_that_never_come_stop_the_run_before_the_next_nic(node: FakeNode) -> None:
    node.makes_functions = False

    result = node.prepare("once", FIRST, SECOND, WAIT_SECONDS="1")

    assert result.returncode == 1
    assert "NIC 0000:48:00.0: a virtual function lacks driver or network interface after 1 s" in result.stderr
    assert node.happened("write") == [f"write {FIRST} 1"]


def test_infiniband_functions_get_no_mac_address_but_the_device_plug_in_looks_again(bare: FakeNode) -> None:
    bare.add_nic(FIRST, "ib0", kind=32)

    assert bare.prepare("once", FIRST, PLUGIN_POD=PLUGIN).returncode == 0
    assert bare.happened("write", "ip link set", "unbind", "crictl --timeout 20s rmp") == [
        f"write {FIRST} 1",
        "crictl --timeout 20s rmp --force 5a0d",
    ]


def test_a_refused_mtu_is_told_in_the_words_of_ip(node: FakeNode) -> None:
    node.breaks("ip")

    result = node.prepare("once", FIRST, SECOND, MTU="4220")

    assert result.returncode == 1
    assert result.stderr == (
        "FAILED rail 0, NIC 0000:48:00.0: rdma0 does not take MTU 4220: cannot do it; choose one that this NIC allows\n"
    )


def test_a_refused_rdma_mode_is_kept_for_the_next_start_and_nothing_is_made(node: FakeNode) -> None:
    node.mode.write_text("shared\n")
    (node.folder / "other-namespace").touch()

    result = node.prepare("once", FIRST, SECOND)

    assert result.returncode == 1
    assert (node.modprobe / "gpu-fabric-rdma.conf").read_text() == "options ib_core netns_mode=0\n"
    assert result.stderr == (
        "FAILED RDMA mode: shared, and the kernel refuses exclusive while pods run (error: Device or resource busy); "
        "reboot this node (if its initramfs loads ib_core, rebuild that first)\n"
    )
    assert node.happened("write") == []
    assert node.prepare("check", FIRST, SECOND).stdout.startswith("RDMA mode: shared, not exclusive\n")


def test_the_device_plug_in_is_removed_after_a_change(node: FakeNode) -> None:
    result = node.prepare("once", FIRST, SECOND, PLUGIN_POD=PLUGIN)
    assert result.returncode == 0
    assert node.happened("crictl") == [
        "crictl --timeout 20s pods --quiet --state ready --namespace ^network-operator$ "
        "--name ^network-operator-sriov-device-plugin",
        "crictl --timeout 20s rmp --force 5a0d",
    ]
    assert node.happened("write", "crictl")[:2] == [f"write {FIRST} 1", f"write {SECOND} 1"]


def test_a_device_plug_in_that_cannot_be_removed_is_a_failure(node: FakeNode) -> None:
    node.breaks("crictl")

    result = node.prepare("once", FIRST, SECOND, PLUGIN_POD=PLUGIN)

    assert result.returncode == 1
    assert "`crictl pods` fails on this node; delete this node's pod network-operator/" in result.stderr


@pytest.mark.skipif(shutil.which("crictl") is not None, reason="this machine has a crictl")
def test_a_node_without_crictl_is_told_what_to_do(node: FakeNode) -> None:
    (node.programs / "crictl").unlink()

    result = node.prepare("once", FIRST, SECOND, PLUGIN_POD=PLUGIN)

    assert result.returncode == 0
    assert "device plug-in: no crictl on this node; delete the pod network-operator/" in result.stdout


def test_check_is_silent_on_a_ready_node(ready: FakeNode) -> None:
    ready.give_to_pod(ready.functions(FIRST)[0])

    result = ready.prepare("check", FIRST, SECOND, MTU="1500")

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert ready.happened() == ["rdma system show"]


def test_check_names_each_nic_once_with_all_that_it_lacks(ready: FakeNode) -> None:
    (ready.devices / ready.functions(FIRST)[0] / "driver").unlink()

    result = ready.prepare("check", FIRST, SECOND, "0000:ff:00.0", VFS_PER_NIC="2", MTU="4220", RDMA_MODE="shared")

    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "RDMA mode: exclusive, not shared",
        "rail 0, NIC 0000:48:00.0: virtual function 0000:48:00.1 has no driver; "
        "1 virtual functions, not 2; MTU 1500, not 4220",
        "rail 1, NIC 0000:0c:00.0: 1 virtual functions, not 2; MTU 1500, not 4220",
        "rail 2, NIC 0000:ff:00.0: no such PCI device",
    ]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("VFS_PER_NIC", "0"),
        ("MTU", "4220 bytes"),
        ("RDMA_MODE", ""),
        ("WAIT_SECONDS", "-1"),
        ("PLUGIN_POD", "no-namespace"),
        ("PCI_ADDRESSES", ""),
        ("PCI_ADDRESSES", "0c:00.0"),
    ],
)
def test_a_wrong_setting_is_named_before_anything_is_looked_at(bare: FakeNode, setting: str, value: str) -> None:
    result = bare.prepare("once", FIRST, **{setting: value})

    assert result.returncode == 2
    assert setting in result.stderr
    assert result.stderr.count("\n") == 1
    assert bare.happened() == []


def test_configure_tries_again_until_the_nic_appears_then_sleeps_until_ended(bare: FakeNode) -> None:
    bare.add_nic(FIRST, "rdma0")
    settings = on_nics(FIRST, SECOND, WAIT_SECONDS="1")
    with bare.running("virtual_functions", "configure", **settings) as running:
        assert running.line() == "trying again in 1 s"
        bare.add_nic(SECOND, "rdma1")
        running.lines("ready")
        assert running.process.poll() is None

        assert running.end() < 1
        assert running.process.returncode == 143
