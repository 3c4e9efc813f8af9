"""What all host scripts have in common, run by Bash on nodes made of files."""

import shutil

import pytest
from fake_host import FakeHost
from unprepared_hosts import HOSTS, Settings, fabric_rule, link_type


@pytest.fixture(params=sorted(HOSTS))
def unprepared(request: pytest.FixtureRequest, host: FakeHost) -> tuple[FakeHost, str, Settings]:
    """A node on which all lacks, the script that sees to it, and its environment."""
    return host, request.param, HOSTS[request.param](host)


def test_what_lacks_is_told_then_put_right_and_then_left_alone(unprepared: tuple[FakeHost, str, Settings]) -> None:
    host, name, settings = unprepared
    before = host.state()

    told = host.run(name, "check", **settings)
    assert (told.returncode, told.stderr, host.state()) == (1, "", before)
    assert told.stdout

    done = host.run(name, "once", **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("ready: ")
    assert host.state() != before

    checked = host.run(name, "check", **settings)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")

    after = host.state()
    again = host.run(name, "once", **settings)
    assert again.returncode == 0
    assert again.stdout.endswith("; nothing had to be changed\n")
    assert again.stdout.count("\n") == 1
    assert host.state() == after


def test_a_dry_run_says_what_it_would_change_and_changes_nothing(unprepared: tuple[FakeHost, str, Settings]) -> None:
    host, name, settings = unprepared
    before = host.state()

    with host.running(name, "report", **settings) as running:
        lines = running.lines("dry run:")

    assert lines[-1] == "dry run: nothing was changed"
    assert all("; would be put right by " in line for line in lines[:-1])
    assert len(lines) > 1
    assert host.state() == before


def test_a_dry_run_speaks_again_only_when_there_is_something_else_to_say(host: FakeHost) -> None:
    settings = fabric_rule(host)
    with host.running("fabric_rule", "report", **settings) as running:
        running.lines("dry run:")
        assert host.run("fabric_rule", "once", **settings).returncode == 0

        assert running.line().startswith(
            "dry run: nothing would be changed: all but 172.16.0.0/16 leaves by table main"
        )


def test_what_something_else_undid_is_put_right_again_and_told(host: FakeHost) -> None:
    settings = fabric_rule(host)
    with host.running("fabric_rule", "configure", **settings) as running:
        running.lines("ready: ")
        host.write("ip/rules-4", "")

        assert running.line() == (
            "changed since the last look: "
            "fabric rule: none at priority 2000 sends all but 172.16.0.0/16 to table main; "
            "put right by `ip -4 rule add priority 2000 not to 172.16.0.0/16 table main`"
        )
        assert running.line().startswith("ready: ")
    assert "172.16.0.0/16" in host.read("ip/rules-4")


def test_a_try_that_fails_is_followed_by_another_until_all_is_there(host: FakeHost) -> None:
    settings = fabric_rule(host)
    ip = host.read("bin/ip").removeprefix("#!/bin/bash\n")
    host.breaks("ip")
    with host.running("fabric_rule", "configure", **settings) as running:
        assert running.line() == "trying again in 1 s"
        host.install("ip", ip)
        running.lines("ready: ")


def test_a_host_that_could_not_be_looked_at_for_a_while_is_told_to_be_ready_again(host: FakeHost) -> None:
    settings = fabric_rule(host)
    ip = host.read("bin/ip").removeprefix("#!/bin/bash\n")
    with host.running("fabric_rule", "configure", **settings) as running:
        running.lines("ready: ")
        host.breaks("ip")
        assert running.line() == "trying again in 1 s"
        host.install("ip", ip)

        (again,) = [line for line in running.lines("ready: ") if line.startswith("ready: ")]
        assert again.endswith("; nothing had to be changed")


@pytest.mark.parametrize("mode", ["configure", "report"])
def test_a_waiting_script_ends_as_soon_as_it_is_told_to(host: FakeHost, mode: str) -> None:
    with host.running("fabric_rule", mode, **fabric_rule(host), LOOK_AGAIN_SECONDS="600") as running:
        running.lines("ready:" if mode == "configure" else "dry run:")

        assert running.end() < 1
        assert running.process.returncode == 143


@pytest.mark.parametrize(
    ("name", "program", "said"),
    [
        (
            "fabric_rule",
            "ip",
            "policy rules: `ip -N -4 rule show` says 'cannot do it'; this node needs an `ip` that knows -N",
        ),
        ("ipoib", "modprobe", "module ib_ipoib: not loaded, and `modprobe ib_ipoib` fails: cannot do it; install"),
        ("rdma_mode", "rdma", "RDMA mode: `rdma system show` says 'cannot do it'; this node needs iproute2's rdma"),
    ],
)
def test_a_program_that_fails_is_told_in_its_own_words(host: FakeHost, name: str, program: str, said: str) -> None:
    settings = HOSTS[name](host)
    host.breaks(program)

    result = host.run(name, "once", **settings)

    assert result.returncode == 1
    assert f"FAILED {said}" in result.stderr


@pytest.mark.parametrize(
    ("name", "program", "advice"),
    [
        ("acs", "setpci", "ACS: no program setpci on this node; install pciutils on it"),
        ("lossless", "mlnx_qos", "lossless: no program mlnx_qos on this node; install DOCA-OFED on this node"),
    ],
)
def test_a_node_without_a_program_is_told_what_to_install(host: FakeHost, name: str, program: str, advice: str) -> None:
    if shutil.which(program):
        pytest.skip(f"this machine has {program}")
    settings = HOSTS[name](host)
    (host.programs / program).unlink()

    once, check = host.run(name, "once", **settings), host.run(name, "check", **settings)

    assert (once.returncode, once.stderr) == (1, f"FAILED {advice}\n")
    assert (check.returncode, check.stdout.splitlines()[-1]) == (1, advice.partition("; ")[0])


def test_a_command_that_hangs_is_given_up(host: FakeHost) -> None:
    settings = fabric_rule(host)
    host.install("ip", "sleep 60\n")

    result = host.run("fabric_rule", "once", **settings, WAIT_SECONDS="1")

    assert result.returncode == 1
    assert result.stderr.startswith("FAILED policy rules: `ip -N -4 rule show` says ")


def test_every_wrong_setting_is_named_before_anything_is_looked_at(host: FakeHost) -> None:
    wrong = {"FABRIC_RANGE": "172.16.0.1/16", "RULE_PRIORITY": "1000", "WAIT_SECONDS": "0", "RETRY_SECONDS": "soon"}
    host.breaks("ip")

    result = host.run("fabric_rule", "once", **wrong)

    assert result.returncode == 2
    assert [line.split()[1] for line in result.stderr.splitlines()] == [
        "WAIT_SECONDS",
        "RETRY_SECONDS",
        "RULE_PRIORITY",
        "FABRIC_RANGE",
    ]


@pytest.mark.parametrize("mode", ["prepare", "configure once", ""])
def test_an_unknown_mode_is_answered_with_the_known_ones(host: FakeHost, mode: str) -> None:
    result = host.run("fabric_rule", mode, **fabric_rule(host))

    assert (result.returncode, result.stderr) == (
        2,
        f"FAILED mode is '{mode}'; give configure, once, check or report\n",
    )


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("fabric_rule", "FABRIC_RANGE", ""),
        ("fabric_rule", "FABRIC_RANGE", "fd00::1/64"),
        ("fabric_rule", "FABRIC_RANGE", "0.0.0.0/0"),
        ("fabric_rule", "RULE_PRIORITY", "32766"),
        ("nic_addresses", "NODE_NAME", ""),
        ("nic_addresses", "NODE_NAME", "../node1"),
        ("nic_addresses", "ADDRESSES", ""),
        ("nic_addresses", "MTU", "jumbo"),
        ("nic_addresses", "FABRIC_RANGE", "172.16.0.0"),
        ("nic_addresses", "RULE_PRIORITY", "1000"),
        ("nic_addresses", "FIRST_TABLE", "250"),
        ("lossless", "INTERFACES", ""),
        ("lossless", "INTERFACES", "rdma/0"),
        ("lossless", "PRIORITY", "8"),
        ("lossless", "CNP_PRIORITY", "5"),
        ("lossless", "DSCP", "48"),
        ("lossless", "CNP_DSCP", "seven"),
        ("ipoib", "INTERFACES", "a-name-of-16-char"),
        ("link_type", "LINK_TYPE", "roce"),
        ("link_type", "CHANGE", ""),
        ("link_type", "PCI_ADDRESSES", ""),
        ("link_type", "PCI_ADDRESSES", "0c:00.0"),
        ("rdma_mode", "RDMA_MODE", "private"),
    ],
)
def test_a_wrong_setting_is_named(host: FakeHost, name: str, setting: str, value: str) -> None:
    result = host.run(name, "check", **{**{**HOSTS, "link_type": link_type}[name](host), setting: value})

    assert result.returncode == 2
    assert all(line.startswith("FAILED ") for line in result.stderr.splitlines())
    assert setting in result.stderr
    assert result.stdout == ""
