"""The script that sets RoCE up for a lossless fabric, run by Bash on a node made of files."""

import shutil

import pytest
from fake_host import FakeHost
from unprepared_hosts import Settings, ethernet_nic, lossless


@pytest.fixture
def settings(host: FakeHost) -> Settings:
    """Two NICs on which nothing is set, and a third that is not the fabric's."""
    ethernet_nic(host, "storage0", "mlx5_9")
    return lossless(host)


def test_no_other_nic_gets_any_setting(host: FakeHost, settings: Settings) -> None:
    before = {path: text for path, text in host.state().items() if "storage0" in path or "mlx5_9" in path}

    assert host.run("lossless", "once", **settings).returncode == 0
    assert host.changes().count("modprobe rdma_cm") == 1
    assert {path: text for path, text in host.state().items() if path in before} == before


def test_each_setting_that_is_lost_is_told_and_put_right_and_nothing_else(host: FakeHost, settings: Settings) -> None:
    lost = {
        "proc/sys/net/ipv4/tcp_ecn": ("2", "TCP: ECN is 2, not 1"),
        "qos/rdma1/trust": ("pcp", "rail 1, rdma1: trusts pcp, not dscp"),
        "qos/rdma1/pfc": (
            "0   0   0   1   0   1   0   0",
            "rail 1, rdma1: flow control on the priorities '0 0 0 1 0 1 0 0', not '0 0 0 0 0 1 0 0'",
        ),
        "sys/class/net/rdma1/ecn/roce_np/enable/5": (
            "0",
            "rail 1, rdma1: congestion notification of priority 5 is 0, not 1",
        ),
        "sys/class/net/rdma1/ecn/roce_rp/enable/5": (
            "0",
            "rail 1, rdma1: reaction to congestion of priority 5 is 0, not 1",
        ),
        "sys/class/net/rdma1/ecn/roce_np/cnp_dscp": (
            "0",
            "rail 1, rdma1: DSCP of congestion notifications is 0, not 48",
        ),
        "sys/class/infiniband/mlx5_1/tc/1/traffic_class": (
            "Global tclass=0",
            "rail 1, rdma1: traffic class of mlx5_1 is 0, not 160",
        ),
        "cma/mlx5_1.tos": ("0", "rail 1, rdma1: connection manager marks mlx5_1 with 0, not 160"),
        "cma/mlx5_1.mode": ("IB/RoCE v1", "rail 1, rdma1: connection manager uses 'IB/RoCE v1' on mlx5_1, not RoCE v2"),
    }
    assert host.run("lossless", "once", **settings).returncode == 0
    before = words_of(host)
    for path, (text, _) in lost.items():
        host.write(path, f"{text}\n")

    checked = host.run("lossless", "check", **settings)
    done = host.run("lossless", "once", **settings)

    told = [words for _, words in lost.values()]
    assert (checked.returncode, checked.stdout.splitlines()) == (1, told)
    assert [line.split("; put right by ")[0] for line in done.stdout.splitlines()[:-1]] == told
    assert words_of(host) == before


def words_of(host: FakeHost) -> dict[str, list[str]]:
    """All files, however the words in them are spaced."""
    return {path: text.split() for path, text in host.state().items()}


def test_other_priorities_and_marks_are_set_as_stated(host: FakeHost, settings: Settings) -> None:
    for side in ("np", "rp"):
        host.write(f"sys/class/net/rdma0/ecn/roce_{side}/enable/3", "0\n")
    wanted = {"INTERFACES": "rdma0", "PRIORITY": "3", "CNP_PRIORITY": "7", "DSCP": "26", "CNP_DSCP": "56"}

    result = host.run("lossless", "once", **{**settings, **wanted})

    assert result.returncode == 0
    assert host.read("qos/rdma0/pfc").split() == list("00010000")
    assert host.read("cma/mlx5_0.tos") == "104\n"
    assert host.read("sys/class/net/rdma0/ecn/roce_np/cnp_dscp") == "56\n"


def test_a_wrong_interface_is_named_and_the_others_are_set(host: FakeHost, settings: Settings) -> None:
    host.write("sys/class/net/ib0/type", "32\n")

    result = host.run("lossless", "once", **{**settings, "INTERFACES": "rdma0 rdma7 ib0"})

    assert result.returncode == 1
    missing, infiniband = result.stderr.splitlines()
    assert missing.startswith("FAILED rail 1, rdma7: no such interface on this node; ")
    assert infiniband.startswith("FAILED rail 2, ib0: InfiniBand, which has flow control of its own; ")
    assert host.read("cma/mlx5_0.tos") == "160\n"


def test_a_driver_without_the_settings_is_named_with_what_brings_them(host: FakeHost, settings: Settings) -> None:
    shutil.rmtree(host.folder / "sys/class/net/rdma1/ecn")
    shutil.rmtree(host.folder / "sys/class/net/rdma1/device")

    result = host.run("lossless", "once", **{**settings, "INTERFACES": "rdma1"})

    assert result.returncode == 1
    assert "rail 0, rdma1: congestion notification of priority 5 cannot be read in " in result.stderr
    assert "rail 0, rdma1: no RDMA device; " in result.stderr
    assert "; install DOCA-OFED on this node\n" in result.stderr


def test_a_tool_that_says_something_else_is_no_proof(host: FakeHost, settings: Settings) -> None:
    assert host.run("lossless", "once", **settings).returncode == 0
    host.install("mlnx_qos", "echo Interface rdma0 has no DCB support\n")

    checked = host.run("lossless", "check", **settings)

    assert checked.returncode == 1
    assert "rail 0, rdma0: `mlnx_qos -i rdma0` says 'Interface rdma0 has no DCB support'" in checked.stdout
