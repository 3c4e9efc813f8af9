"""What a plan says of NVIDIA's support of its release line: by chart, by the vendor's rule, with a day."""

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.release import OF_THE_VENDOR, newest_line
from gpu_fabric.findings import Finding, Severity
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

LINES = catalog().releases
VENDOR = catalog().upgrades.lines
WORDS = ("NVIDIA supports {}", "NVIDIA has deprecated {}", "NVIDIA's support of {} has ended")


def findings_of(stack: str, line: str) -> list[Finding]:
    document = read_document(stack, folder_of(stack))
    plan = prepare(changed(document, {"software.releaseLine": line}), for_up=False).plan
    return [entry for entry in plan.findings if entry.id in ("REL015", "REL016", "REL017", "REL018")]


def age(chart: str, version: str) -> int:
    """How many lines of the vendor are newer than that of a version; two is as old as any."""
    line = ".".join(version.removeprefix("v").split(".")[:2])
    return min(2, list(reversed(VENDOR[chart].order)).index(line))


@pytest.mark.parametrize("line", LINES)
def test_one_finding_says_of_each_chart_what_the_rule_says_and_of_what_day(line: str) -> None:
    stack = "host-device" if LINES[line].policy_by == "stack" else "guide-23-10"
    (said,) = [entry for entry in findings_of(stack, line) if entry.id != "REL018"]
    states = {chart: age(chart, LINES[line].charts[chart].version) for chart in OF_THE_VENDOR}

    for state in set(states.values()):
        charts = [f"{chart} {LINES[line].charts[chart].version}" for chart in states if states[chart] == state]
        assert WORDS[state].format(" and ".join(charts)) in said.message
    assert str(VENDOR["network-operator"].as_of) in said.message
    # Nobody can leave the newest line that is planned here: that is no warning.
    assert said.severity is (Severity.NOTE if line == newest_line(LINES) else Severity.WARNING)
    assert (said.id == "REL016") == (line != newest_line(LINES) and max(states.values()) == 2)


def test_the_newest_line_says_what_is_missing_of_nvidias_and_what_of_its_own_was_not_read() -> None:
    newest = newest_line(LINES)
    said = {entry.id: entry.message for entry in findings_of("host-device", newest)}

    assert catalog().upgrades.named_only(VENDOR["network-operator"].order[-1]) in said["REL017"]
    assert LINES[newest].unread["network-operator"] in said["REL018"]
    assert "26.7.0-rc.2" in said["REL018"]
    for chart in OF_THE_VENDOR:
        assert [name for name in VENDOR[chart].patches(newest) if name not in said["REL018"]] == []


def test_a_policy_of_an_operator_that_the_cluster_has_says_that_it_was_read_from_a_candidate() -> None:
    newest = newest_line(LINES)
    (said,) = [entry for entry in findings_of("existing-operators", newest) if entry.id == "REL018"]

    assert said.path == "gpu-fabric:software.releaseLine"
    assert (
        f"the NicClusterPolicy as of network-operator {LINES[newest].charts['network-operator'].version}"
        in said.message
    )
    assert LINES[newest].unread["network-operator"] in said.message
