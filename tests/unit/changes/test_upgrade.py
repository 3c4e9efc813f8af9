"""The way between release lines: hop by hop, from the plans of both lines."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.changes.manager_change import manager_change, manager_change_lines
from gpu_fabric.changes.upgrade import Hop, LineError, hop, lines_on_the_way, route
from gpu_fabric.changes.upgrade_text import upgrade_lines
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

ROOT = Path(__file__).parents[3]
KNOWN = catalog()
DAY = date(2026, 11, 26)


def planned(stack: str, line: str, **software: Any) -> Plan:
    document = read_document(stack, ROOT)
    sections = {
        **document.sections,
        "software": {**document.sections.get("software", {}), "releaseLine": line, **software},
    }
    return prepare(document.model_copy(update={"sections": sections}), for_up=False).plan


def hop_of(stack: str, old: str, new: str, **software: Any) -> Hop:
    base = planned(stack, old, **software)
    try:
        return hop(KNOWN, base, planned(stack, new, **software), new, DAY)
    except ConfigurationError as error:
        return hop(KNOWN, base, error.findings, new, DAY)


def text_of(found: Hop, day: date = DAY) -> str:
    return "\n".join(upgrade_lines(route(KNOWN, "s", (found.old, found.new), (found,), day)))


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("26.4", "26.7", ("26.4", "26.7")),
        ("23.10", "26.7", ("23.10", "26.1", "26.4", "26.7")),
        ("23.10", "26.1", ("23.10", "26.1")),
    ],
)
def test_a_way_leads_over_every_line_between(old: str, new: str, lines: tuple[str, ...]) -> None:
    assert lines_on_the_way(KNOWN, old, new) == lines


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("26.4", "25.7", "there is no release line 25.7; write one of 23.10, 26.1, 26.4, 26.7"),
        (
            "26.4",
            "26.10",
            "there is no release line 26.10: network-operator 26.10.0 is known by name only, since its chart",
        ),
        ("26.4", "26.4", "is in release line 26.4 already; newer ones: 26.7"),
        ("26.7", "26.7", "newer ones: none"),
        ("26.4", "26.1", "26.1 is older than the stack's, 26.4: NVIDIA supports no way back"),
    ],
)
def test_there_is_no_way_to_an_unknown_line_the_same_or_an_older_one(old: str, new: str, reason: str) -> None:
    with pytest.raises(LineError, match=reason):
        lines_on_the_way(KNOWN, old, new)


def test_a_hop_to_the_vendors_next_line_is_supported_and_changes_in_place() -> None:
    found = hop_of("host-device", "26.4", "26.7")

    assert found.supported
    assert [(chart.name, chart.old, chart.new, chart.moves) for chart in found.charts] == [
        ("gpu-operator", "v26.3.3", "v26.7.0", False),
        ("network-operator", "26.4.1", "26.7.0", False),
    ]
    assert found.resources is not None
    assert (found.resources.replaced, found.resources.deleted) == ((), ())


def test_another_driver_drains_every_node_in_as_many_waves() -> None:
    software = {"gpuOperator": {"driver": True}}
    with_driver, without = (hop_of("host-device", "26.4", "26.7", **more) for more in (software, {}))
    nodes = sum(pool.nodes for pool in planned("host-device", "26.7").cluster.pools)

    assert {image.name: (image.old, image.new) for image in with_driver.of("drains")} == {
        "driver": ("580.126.20", "595.91.07")
    }
    assert (with_driver.nodes, without.nodes) == (nodes, 0)
    assert f"{nodes} waves of one node each" in text_of(with_driver)
    assert "gpu-fabric:upgrade" in text_of(with_driver)
    assert "drains no node" in text_of(without)
    assert "gpu-fabric:upgrade" not in text_of(without)


def test_network_drivers_in_a_container_drain_as_well() -> None:
    found = hop_of("host-device", "26.4", "26.7", networkOperator={"ofedDriver": True})

    assert [image.name for image in found.of("drains")] == ["doca-driver"]


def test_device_plug_ins_and_address_managers_restart_and_say_what_that_means() -> None:
    restarted = {image.name: image.what for image in hop_of("host-device", "26.4", "26.7").of("restarts")}

    assert "running pods keep theirs" in restarted["sriov-network-device-plugin"]
    assert "without its networks" in restarted["multus-cni"]


def test_a_hop_over_lines_of_the_vendor_is_not_supported_and_names_them() -> None:
    found = hop_of("oke-guide", "23.10", "26.1")

    assert not found.supported
    assert found.charts[1].skipped == ("24.1", "24.4", "24.7", "24.10", "25.1", "25.4", "25.7", "25.10")
    assert found.charts[1].moves
    assert found.resources is not None
    assert "network-operator-network-operator" in found.resources.replaced
    assert found.resources.acknowledge
    text = text_of(found)
    assert "NOT SUPPORTED BY NVIDIA" in text
    assert "let all jobs end" in text
    assert "Helm leaves older ones as they are" in text


def test_a_stack_with_the_old_operators_whereabouts_is_not_sent_the_way_in_place() -> None:
    text = text_of(hop_of("whereabouts", "23.10", "26.1"))

    assert "networkOperator.namespace" not in text
    assert "an upgrade in place is not possible" in text
    assert "change to fabric.addressing.ipam: nv-ipam in the old line first" in text
    assert "acknowledge what is lost or not supported in the section gpu-fabric:guard: " in text


def test_a_line_that_the_cluster_is_too_old_for_is_shown_with_what_refuses_it() -> None:
    found = hop_of("oke-h100", "26.4", "26.7")

    assert [finding.id for finding in found.refused] == ["REL001"]
    assert found.resources is None
    assert "cannot be planned, 1 problem" in text_of(found)
    assert "correct what the hop is refused for" in text_of(found)


def test_a_stack_on_the_clusters_own_operators_is_told_who_upgrades_them() -> None:
    found = hop_of("existing-operators", "26.4", "26.7")

    assert found.charts == ()
    assert "who installed them upgrades them" in text_of(found)


def test_a_way_says_which_lines_nvidia_supports_how_old_that_is_and_what_is_not_planned_here() -> None:
    found = hop_of("host-device", "26.1", "26.4")
    known = KNOWN.upgrades.lines["network-operator"].as_of

    text = text_of(found, known + timedelta(days=6))
    assert "26.4 is no longer supported" in text
    assert f"its lines as of {known}, 6 days ago\n" in text
    assert [line for line in text.splitlines() if line.startswith("not planned here")] == [
        f"not planned here: {KNOWN.upgrades.named_only('26.10')}"
    ]
    assert "look at NVIDIA's page first" in text_of(found, known + timedelta(days=100))


def test_with_waves_every_node_is_drained_and_so_many_at_a_time() -> None:
    document = read_document("host-device", ROOT)
    sections = {**document.sections, "upgrade": {"percent": 50}}

    def with_waves(line: str) -> Plan:
        changed = {**sections, "software": {"releaseLine": line}}
        return prepare(document.model_copy(update={"sections": changed}), for_up=False).plan

    found = hop(KNOWN, with_waves("26.4"), with_waves("26.7"), "26.7", DAY)
    assert "drains 4 nodes of jobs, one after another: 2 waves of 2 nodes at most" in text_of(found)
    # The section that the file has is not asked for.
    assert "write the section gpu-fabric:upgrade" not in text_of(found)
    assert "write the section gpu-fabric:upgrade" in text_of(found.model_copy(update={"by_waves": False}))


def text_of_managers(stack: str, old: str) -> str:
    """The way between managers of a committed stack from whose nodes another manager is taken."""
    document = read_document(stack, ROOT / "tests" / "stacks")
    sections = {**document.sections, "upgrade": {"fromManager": old, "nodes": 2}}
    plan = prepare(document.model_copy(update={"sections": sections}), for_up=False).plan
    return "\n".join(manager_change_lines(manager_change(plan)))


def test_the_way_to_claims_is_shown_before_the_change_and_for_it() -> None:
    before, change = (text_of_managers(stack, "network-operator") for stack in ("host-device", "dranet"))
    for text in (before, change):
        assert "from network-operator (device plug-ins and networks) to dranet (claims)" in text
        assert "4 nodes, 2 at a time: 2 waves" in text
    assert "run `make up` with this file: network-operator then chooses its nodes by the label" in before
    assert "proof: dra.net publishes 16 planned NICs" in change
    assert "`make up` must have run with fabric.manager network-operator" in change


def test_the_way_back_is_proven_by_what_nodes_offer() -> None:
    text = text_of_managers("host-device", "dranet")
    assert "proof: 1 of nvidia.com/rail_00 to nvidia.com/rail_15, 8 of nvidia.com/gpu" in text
