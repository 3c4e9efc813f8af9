"""The script that sets the RDMA mode, run by Bash on a node made of files."""

from pathlib import Path

import pytest
from fake_host import FakeHost

OPTION = "modprobe.d/gpu-fabric-rdma.conf"


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    host = FakeHost(tmp_path)
    host.write("mode", "shared\n")
    return host


def test_the_mode_is_changed_now_and_for_the_next_start(host: FakeHost) -> None:
    result = host.run("rdma_mode", "once", RDMA_MODE="exclusive")

    assert (result.returncode, result.stderr) == (0, "")
    assert host.read("mode") == "exclusive\n"
    assert host.read(OPTION) == "options ib_core netns_mode=0\n"
    assert result.stdout.splitlines()[-1] == "ready: RDMA mode exclusive"


def test_a_mode_that_is_right_leaves_no_file(host: FakeHost) -> None:
    assert host.run("rdma_mode", "once", RDMA_MODE="shared").returncode == 0
    assert host.changes() == []
    assert not (host.folder / OPTION).exists()


def test_a_refused_mode_announces_a_reboot_and_the_node_stays_not_ready(host: FakeHost) -> None:
    host.write("other-namespace", "")

    result = host.run("rdma_mode", "once", RDMA_MODE="exclusive")

    assert result.returncode == 1
    assert "REBOOT NEEDED: RDMA mode: this node starts with exclusive\n" in result.stdout
    assert "the kernel refuses exclusive while pods run (error: Device or resource busy)" in result.stderr
    assert host.read(OPTION) == "options ib_core netns_mode=0\n"
    checked = host.run("rdma_mode", "check", RDMA_MODE="exclusive")
    assert (checked.returncode, checked.stdout) == (1, "RDMA mode: shared, not exclusive\n")


def test_no_reboot_is_announced_for_a_mode_that_is_not_kept(host: FakeHost) -> None:
    host.write("other-namespace", "")
    (host.folder / "modprobe.d").rmdir()

    result = host.run("rdma_mode", "once", RDMA_MODE="exclusive")

    assert result.returncode == 1
    assert "REBOOT" not in result.stdout
    assert "RDMA mode: cannot write" in result.stderr


def test_a_file_of_an_earlier_wish_is_told_and_rewritten(host: FakeHost) -> None:
    host.write(OPTION, "options ib_core netns_mode=0\n")

    told = host.run("rdma_mode", "check", RDMA_MODE="shared")
    done = host.run("rdma_mode", "once", RDMA_MODE="shared")

    assert told.returncode == 1
    assert "has 'options ib_core netns_mode=0' for the next start" in told.stdout
    assert done.returncode == 0
    assert host.read(OPTION) == "options ib_core netns_mode=1\n"
    assert host.changes() == []
