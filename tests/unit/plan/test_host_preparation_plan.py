"""What a stack sets up on its nodes: which jobs on which nodes, what they are told, and whether they are waited for."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes
from planned_fabrics import example, plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.host.daemons import script
from gpu_fabric.plan.records import PlannedGroup

INTERFACES = " ".join(f"enp{number}s0f0np0" for number in range(11, 19))
NAMES = [f"gpu-{number}" for number in range(3)]


def prepared(stack: str, wanted: dict[str, Any], changes: Changes | None = None) -> Plan:
    """A stack of tests/stacks with a section `hostPreparation`."""
    return plan_of(stack, {"fabric.hostPreparation": wanted, **(changes or {})})


def macvlan(wanted: dict[str, Any], **addressing: Any) -> Plan:
    """Three named nodes with shared subnets of a rail's own."""
    section = {"supernet": "172.16.0.0/16", "prefixLength": 24, "reservedFirst": 8, **addressing}
    changes = {
        "fabric.addressing": section,
        "fabric.podsPerNic": 8,
        "cluster.pools[0].nodes": 3,
        "cluster.pools[0].nodeNames": NAMES,
    }
    return prepared("spiderpool-macvlan", wanted, changes)


def daemons(plan: Plan) -> dict[str, dict[str, Any]]:
    found = (entry.object for entry in (*plan.applied("host-preparation"), *plan.applied("nic-addresses")))
    return {entry.metadata.name: entry.manifest() for entry in found if entry.kind == "DaemonSet"}


def container(plan: Plan, name: str) -> dict[str, Any]:
    (only,) = daemons(plan)[name]["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def told(plan: Plan, name: str) -> dict[str, str]:
    """The environment of a job, without the node's name, which all have."""
    env = {entry["name"]: entry.get("value") for entry in container(plan, name)["env"]}
    assert env.pop("NODE_NAME", "") is None
    return env


def tables(plan: Plan) -> dict[str, dict[str, str]]:
    """What the hosts are told of each rail, by the tables' names and their own."""
    found = (entry for entry in plan.objects if entry.name.startswith("host-addresses-"))
    return {entry.name: entry.object.manifest()["data"] for entry in found}


@pytest.mark.parametrize("stack", ["spiderpool-macvlan", "sriov-per-node", "doks-h200", "oke-h100-26-4"])
def test_without_being_asked_nothing_is_set_up(stack: str) -> None:
    plan = plan_of(stack)

    assert (plan.applied("host-preparation"), plan.applied("nic-addresses"), tables(plan)) == ((), (), {})


@pytest.mark.parametrize(
    ("wanted", "job", "environment"),
    [
        ({"fabricRule": True}, "fabric-rule", {"FABRIC_RANGE": "172.16.0.0/16", "RULE_PRIORITY": "2000"}),
        ({"disableAcs": True}, "acs", {}),
        ({"rdmaMode": True}, "rdma-mode", {"RDMA_MODE": "shared"}),
        (
            {"lossless": {}},
            "lossless",
            {"INTERFACES": INTERFACES, "PRIORITY": "5", "CNP_PRIORITY": "6", "DSCP": "40", "CNP_DSCP": "48"},
        ),
        (
            {"lossless": {"priority": 3, "cnpPriority": 7, "dscp": 26}},
            "lossless",
            {"INTERFACES": INTERFACES, "PRIORITY": "3", "CNP_PRIORITY": "7", "DSCP": "26", "CNP_DSCP": "56"},
        ),
    ],
)
def test_a_job_is_told_what_the_stack_file_and_the_rails_say(
    wanted: dict[str, Any], job: str, environment: dict[str, str]
) -> None:
    plan = macvlan(wanted)

    assert list(daemons(plan)) == [job]
    assert told(plan, job) == environment


@pytest.mark.parametrize(("link_type", "change"), [("report", "false"), ("change", "true")])
def test_the_link_layer_is_changed_only_where_the_stack_file_says_so(link_type: str, change: str) -> None:
    plan = prepared("spiderpool-ib", {"linkType": link_type, "ipoib": True})
    environment = told(plan, "link-type")

    assert (environment["LINK_TYPE"], environment["CHANGE"]) == ("infiniband", change)
    assert environment["PCI_ADDRESSES"].split() == [rail.pci for rail in plan.rails]
    assert told(plan, "ipoib")["INTERFACES"].split() == [rail.interface for rail in plan.rails]


def test_every_job_has_its_script_whole_in_a_config_map_that_its_pods_mount() -> None:
    plan = macvlan({"fabricRule": True, "lossless": {}, "disableAcs": True, "addresses": True})
    files = {
        entry.name: entry.object.manifest()
        for entry in (*plan.applied("host-preparation"), *plan.applied("nic-addresses"))
        if "immutable" in entry.object.manifest()
    }

    assert set(daemons(plan)) == {"fabric-rule", "lossless", "acs", "nic-addresses"}
    for name, daemon in daemons(plan).items():
        volumes = {entry["name"]: entry for entry in daemon["spec"]["template"]["spec"]["volumes"]}
        mounted, stem = files[volumes["script"]["configMap"]["name"]], name.replace("-", "_")
        assert mounted["data"] == {f"{stem}.sh": script(stem)}
        assert mounted["metadata"]["namespace"] == daemon["metadata"]["namespace"] == "spiderpool"


def test_each_kind_of_nodes_has_a_daemon_set_of_its_own_with_its_own_nics() -> None:
    plan = prepared("node-kinds", {"disableAcs": True, "rdmaMode": True, "linkType": "report"})
    selected = {
        name: daemon["spec"]["template"]["spec"]["nodeSelector"]["example.com/machine"]
        for name, daemon in daemons(plan).items()
    }

    assert selected == {f"{job}-{kind}": kind for kind in ("old", "new") for job in ("link-type", "rdma-mode", "acs")}
    assert told(plan, "link-type-old")["PCI_ADDRESSES"] == "0000:18:00.0 0000:3a:00.0"
    assert told(plan, "link-type-new")["PCI_ADDRESSES"] == "0000:0c:00.0 0000:2a:00.0"
    # One script serves both kinds.
    assert len(plan.applied("host-preparation")) == 3 + 6


def test_a_job_works_in_the_hosts_own_root_and_is_ready_where_the_check_is_silent() -> None:
    found = container(macvlan({"lossless": {}}), "lossless")

    assert found["command"][-1] == "exec chroot /host /bin/bash -s -- configure < /script/lossless.sh"
    assert (
        found["readinessProbe"]["exec"]["command"][-1]
        == "exec chroot /host /bin/bash -s -- check < /script/lossless.sh"
    )
    assert found["securityContext"] == {"privileged": True}


def test_a_dry_run_only_reports_and_nothing_waits_for_it() -> None:
    wanted = {"lossless": {}, "fabricRule": True, "addresses": True}
    really, dry = macvlan(wanted), macvlan({**wanted, "dryRun": True})

    def ways(plan: Plan) -> set[tuple[str, bool]]:
        planned = (
            entry
            for entry in (*plan.applied("host-preparation"), *plan.applied("nic-addresses"))
            if entry.object.kind == "DaemonSet"
        )
        return {(container(plan, entry.name)["command"][-1].split(" ")[6], entry.awaited) for entry in planned}

    assert ways(really) == {("configure", True)}
    assert ways(dry) == {("report", False)}


@pytest.mark.parametrize(
    ("addressing", "lines"),
    [
        ({}, ["172.16.0.1/24", "172.16.0.2/24", "172.16.0.3/24"]),
        (
            {"gateway": "last"},
            ["172.16.0.1/24 172.16.0.254", "172.16.0.2/24 172.16.0.254", "172.16.0.3/24 172.16.0.254"],
        ),
        (
            {"gateway": "first"},
            ["172.16.0.2/24 172.16.0.1", "172.16.0.3/24 172.16.0.1", "172.16.0.4/24 172.16.0.1"],
        ),
        ({"reservedFirst": 0, "reservedLast": 3}, ["172.16.0.252/24", "172.16.0.253/24", "172.16.0.254/24"]),
    ],
)
def test_a_rails_table_has_every_hosts_interface_address_and_router(
    addressing: dict[str, Any], lines: list[str]
) -> None:
    found = tables(macvlan({"addresses": True}, **addressing))

    assert list(found) == [f"host-addresses-rail-{rail:02d}" for rail in range(8)]
    assert found["host-addresses-rail-00"] == {
        name: f"enp11s0f0np0 {line}" for name, line in zip(NAMES, lines, strict=True)
    }
    assert found["host-addresses-rail-07"]["gpu-0"].startswith("enp18s0f0np0 172.16.7.")


def test_on_infiniband_a_host_is_told_no_router() -> None:
    changes = {
        "fabric.addressing": {
            "layout": "per-rail",
            "supernet": "172.17.0.0/16",
            "gateway": "first",
            "reservedFirst": 20,
        },
        "cluster.pools[0].nodes": 3,
        "cluster.pools[0].nodeNames": NAMES,
    }
    plan = prepared("spiderpool-ipoib", {"addresses": True, "ipoib": True}, changes)

    assert tables(plan)["host-addresses-rail-00"]["gpu-0"] == f"{plan.rails[0].interface} 172.17.0.2/20"


def test_every_node_finds_all_tables_under_the_numbers_of_their_rails() -> None:
    plan = macvlan({"addresses": True})
    mounts = {entry["mountPath"]: entry["name"] for entry in container(plan, "nic-addresses")["volumeMounts"]}
    template = daemons(plan)["nic-addresses"]["spec"]["template"]["spec"]
    sources = {entry["name"]: entry["configMap"]["name"] for entry in template["volumes"] if "configMap" in entry}
    folder = told(plan, "nic-addresses")["ADDRESSES"]

    # The script sees the host's root alone.
    assert [sources[mounts[f"/host{folder}/{rail:02d}"]] for rail in range(8)] == list(tables(plan))


def test_only_hosts_with_prefixes_of_their_own_route_the_fabric_by_their_first_rail() -> None:
    exclusive = example("spiderpool-sriov")
    shared = macvlan({"addresses": True})

    assert told(exclusive, "nic-addresses")["FABRIC_RANGE"] == "172.17.0.0/21"
    assert told(shared, "nic-addresses")["FABRIC_RANGE"] == ""
    assert {told(plan, "nic-addresses")["MTU"] for plan in (exclusive, shared)} == {"4200", "9000"}


def test_tables_of_nodes_with_pools_of_their_own_come_with_those_and_are_there_once() -> None:
    plan = example("spiderpool-sriov")

    assert [
        entry.name
        for group in plan.records(PlannedGroup, "node-pools")
        for entry in group.objects
        if entry.object.kind == "ConfigMap"
    ] == [f"host-addresses-rail-{rail:02d}" for rail in range(8)]
    assert len(tables(plan)) == 8
    assert [entry.name for entry in plan.applied("nic-addresses") if entry.name.startswith("host-addresses")] == []


def test_without_addresses_to_give_the_nodes_pools_come_alone() -> None:
    plan = example("spiderpool-sriov", {"fabric.hostPreparation.addresses": False})

    assert {entry.object.kind for group in plan.records(PlannedGroup, "node-pools") for entry in group.objects} == {
        "SpiderIPPool"
    }
