"""The script that keeps other traffic off the rails, run by Bash on a node whose rules are a file."""

from fake_host import FakeHost

RANGE = {"FABRIC_RANGE": "172.16.0.0/16", "RULE_PRIORITY": "2000"}


def rules(host: FakeHost, *lines: str) -> None:
    host.write("ip/rules-4", "".join(f"{line}\n" for line in lines))


def test_ipv6_has_rules_of_its_own_in_whatever_way_the_range_is_written(host: FakeHost) -> None:
    host.write("ip/rules-6", "2000:\tnot from all to fd00:16::/32 lookup 254 proto 4\n")

    result = host.run("fabric_rule", "once", FABRIC_RANGE="FD00:0016:0:0::0/32", RULE_PRIORITY="2000")

    assert (result.returncode, result.stderr) == (0, "")
    assert host.changes() == []


def test_a_rule_for_an_older_range_goes_after_the_new_one_has_come(host: FakeHost) -> None:
    rules(host, "2000:\tnot from all to 172.20.0.0/16 lookup 254")
    host.write("ip/rules-6", "2000:\tnot from all to fd00:16::/32 lookup 254\n")

    told = host.run("fabric_rule", "check", **RANGE).stdout
    result = host.run("fabric_rule", "once", **RANGE)

    assert told == (
        "fabric rule: none at priority 2000 sends all but 172.16.0.0/16 to table main\n"
        "fabric rule: one for 172.20.0.0/16 at priority 2000, too\n"
        "fabric rule: one for fd00:16::/32 at priority 2000, too\n"
    )
    assert result.returncode == 0
    assert host.changes() == [
        "ip -4 rule add priority 2000 not to 172.16.0.0/16 table main",
        "ip -4 rule del priority 2000 not to 172.20.0.0/16 table main",
        "ip -6 rule del priority 2000 not to fd00:16::/32 table main",
    ]


def test_an_older_rule_stays_where_the_new_one_cannot_be_made(host: FakeHost) -> None:
    rules(host, "2000:\tnot from all to 172.20.0.0/16 lookup 254")
    ip = host.read("bin/ip").removeprefix("#!/bin/bash\n")
    host.install("ip", f'[[ $* != *" add "* ]] || {{ echo "Operation not permitted" >&2; exit 2; }}\n{ip}')

    result = host.run("fabric_rule", "once", **RANGE)

    assert result.returncode == 1
    assert "`ip -4 rule add priority 2000 not to 172.16.0.0/16 table main` fails: Operation not permitted; " in (
        result.stderr
    )
    assert host.changes() == []


def test_rules_of_other_forms_and_priorities_are_left_alone(host: FakeHost) -> None:
    others = (
        "1000:\tnot from all to 172.20.0.0/16 lookup 254",
        "2000:\tfrom 10.0.0.1 lookup 77",
        "2000:\tnot from all to 172.20.0.0/16 iif lo lookup 254",
        "20000:\tnot from all to 172.20.0.0/16 lookup 254",
    )
    rules(host, *others)

    assert host.run("fabric_rule", "once", **RANGE).returncode == 0
    assert set(host.read("ip/rules-4").splitlines()) == {*others, "2000:\tnot from all to 172.16.0.0/16 lookup 254"}
