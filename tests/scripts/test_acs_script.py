"""The script that turns PCI Access Control Services off, run by Bash on a node made of files."""

from pathlib import Path

import pytest
from fake_host import FakeHost
from unprepared_hosts import acs


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    """A root port without ACS, a bridge with it, and one where it is off already."""
    host = FakeHost(tmp_path)
    acs(host)
    return host


def test_only_functions_where_it_is_on_are_written_to(host: FakeHost) -> None:
    result = host.run("acs", "once")

    assert (result.returncode, result.stderr) == (0, "")
    assert host.changes() == ["setpci -s 0000:0a:01.0 ECAP_ACS+6.w=0000"]
    assert result.stdout == (
        "PCI function 0000:0a:01.0: ACS control 001d, not 0000; "
        "put right by `setpci -s 0000:0a:01.0 ECAP_ACS+6.w=0000`\n"
        "ready: ACS is off at all 2 PCI functions that have it\n"
    )


def test_every_function_is_read_back(host: FakeHost) -> None:
    host.write("acs.locked", "")

    result = host.run("acs", "once")

    assert result.returncode == 1
    assert result.stderr == (
        "FAILED put right, and yet not as wanted: PCI function 0000:0a:01.0: ACS control 001d, not 0000; "
        "turn ACS (IO virtualisation, VT-d) off in the BIOS\n"
    )


def test_a_refused_write_names_the_function_and_the_way_by_the_bios(host: FakeHost) -> None:
    setpci = host.read("bin/setpci").removeprefix("#!/bin/bash\n")
    host.install("setpci", f'[[ $* != *=* ]] || {{ echo "setpci: Operation not permitted" >&2; exit 1; }}\n{setpci}')

    result = host.run("acs", "once")

    assert result.returncode == 1
    assert "FAILED PCI function 0000:0a:01.0: ACS control 001d, not 0000, and `setpci" in result.stderr
    assert result.stderr.endswith("turn ACS (IO virtualisation, VT-d) off in the BIOS\n")
