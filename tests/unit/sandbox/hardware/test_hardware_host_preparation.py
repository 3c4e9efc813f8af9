"""This stack's DaemonSets for the hosts on a simulated node: when their pods are ready, and what they leave there."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from played_objects import NAMESPACE, Object, node, operand_pod

from sandbox.hardware.host_preparation import PREPARATIONS
from sandbox.hardware.node_agent import play
from sandbox.hardware.node_records import Outcome, World
from sandbox.hardware.proving import COMPONENT as PROVING
from sandbox.hardware.virtual_functions import COMPONENT
from sandbox.nodes import NIC_ADDRESSES_ANNOTATION, RDMA_MODE_ANNOTATION
from sandbox.stages import FOLDER

FIRST, SECOND = "host-addresses-rail-00", "host-addresses-rail-01"


def pod(
    component: str, *tables: str, mode: str = "configure", networks: str | None = None, **environment: str
) -> Object:
    """A pod as the plan has it: the script in a volume of its own, each table in a folder below ADDRESSES."""
    made = operand_pod("none")
    made["metadata"] |= {"labels": {"gpu-fabric/component": component}}
    if networks is not None:
        made["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/networks": networks}
    told = {**environment, **({"ADDRESSES": "/run/addresses"} if tables else {})}
    mounts = [{"name": "script", "mountPath": "/script"}]
    mounts += [{"name": name, "mountPath": f"/host/run/addresses/{place:02d}"} for place, name in enumerate(tables)]
    command = ["/bin/sh", "-c", f"exec chroot /host /bin/bash -s -- {mode} < /script/some.sh"]
    env = [{"name": name, "value": text} for name, text in told.items()]
    made["spec"] = {
        "containers": [{"name": "c", "env": env, "command": command, "volumeMounts": mounts}],
        "volumes": [{"name": name, "configMap": {"name": name}} for name in ("script", *tables)],
    }
    return made


def infiniband_node() -> Object:
    machine = node()
    key = "sandbox.gpu-fabric/nics"
    machine["metadata"]["annotations"][key] = machine["metadata"]["annotations"][key].replace("ether", "infiniband")
    return machine


def after(made: Object, machine: Object | None = None, **world: Any) -> Outcome:
    return play(machine or node(rdma_mode="shared"), {"pod": made}, {}, World(**world), sync_is_over=True)


def tables(*texts: str) -> dict[str, Object]:
    """ConfigMaps of one rail each, with the node's text."""
    return {
        f"{NAMESPACE}/{name}": {"data": {"gpu-0": text}} for name, text in zip((FIRST, SECOND), texts, strict=False)
    }


@pytest.mark.parametrize("component", ["fabric-rule", "acs"])
def test_a_job_that_needs_no_nic_is_done_on_every_node(component: str) -> None:
    assert after(pod(component)).ready == ["pod"]


@pytest.mark.parametrize("component", [name for name in PREPARATIONS if name != "fabric-check"])
def test_a_pod_is_not_ready_where_an_interface_is_missing(component: str) -> None:
    missing = after(pod(component, INTERFACES="rdma0 enp9s0"))
    assert (missing.ready, missing.failures) == ([], {"pod": "the node has no NIC enp9s0"})


def test_flow_control_is_for_ethernet_and_ipoib_for_infiniband() -> None:
    assert after(pod("lossless", INTERFACES="rdma0 rdma1")).ready == ["pod"]
    assert after(pod("ipoib", INTERFACES="rdma0"), infiniband_node()).ready == ["pod"]
    assert "not of link type infiniband: rdma0" in after(pod("ipoib", INTERFACES="rdma0")).failures["pod"]
    other = after(pod("lossless", INTERFACES="rdma0"), infiniband_node())
    assert "not of link type ether" in other.failures["pod"]


def test_a_link_type_is_right_or_takes_a_start_of_the_node() -> None:
    told = {"PCI_ADDRESSES": "0000:0c:00.0 0000:0c:00.1", "CHANGE": "true"}
    assert after(pod("link-type", LINK_TYPE="ether", **told)).ready == ["pod"]
    assert "rdma0, rdma1" in after(pod("link-type", LINK_TYPE="infiniband", **told)).failures["pod"]
    elsewhere = after(pod("link-type", LINK_TYPE="ether", PCI_ADDRESSES="0000:77:00.0"))
    assert elsewhere.failures == {"pod": "the node has no NIC 0000:77:00.0"}
    assert "is empty" in after(pod("link-type", LINK_TYPE="ether")).failures["pod"]


def test_the_rdma_mode_is_set_on_the_node() -> None:
    outcome = after(pod("rdma-mode", RDMA_MODE="exclusive"))
    assert (outcome.annotations, outcome.ready) == ({RDMA_MODE_ANNOTATION: "exclusive"}, ["pod"])
    assert after(pod("rdma-mode", RDMA_MODE="shared")).annotations == {}
    assert "RDMA_MODE is ''" in after(pod("rdma-mode")).failures["pod"]


def test_a_pod_that_only_reports_changes_nothing_and_is_ready_where_nothing_lacks() -> None:
    there = node(rdma_mode="exclusive")
    lacks = after(pod("rdma-mode", mode="report", RDMA_MODE="exclusive"))
    assert (lacks.annotations, lacks.ready) == ({}, [])
    assert after(pod("rdma-mode", mode="report", RDMA_MODE="exclusive"), there).ready == ["pod"]
    told = after(pod("nic-addresses", FIRST, mode="report"), config_maps=tables("rdma0 172.16.11.1/24"))
    assert (told.annotations, told.ready) == ({}, [])
    assert "172.16.11.1/24" in told.failures["pod"]


def test_addresses_are_set_as_the_tables_say_for_the_node() -> None:
    maps = tables("rdma0 172.16.11.1/24 172.16.11.254\n", "rdma1 172.16.12.1/24")
    outcome = after(pod("nic-addresses", FIRST, SECOND, INTERFACES="rdma0 rdma1"), config_maps=maps)
    assert outcome.ready == ["pod"]
    assert json.loads(outcome.annotations[NIC_ADDRESSES_ANNOTATION] or "") == [
        {"interface": "rdma0", "address": "172.16.11.1/24", "gateway": "172.16.11.254"},
        {"interface": "rdma1", "address": "172.16.12.1/24"},
    ]


def test_addresses_that_are_there_are_not_written_again() -> None:
    maps = tables("rdma0 172.16.11.1/24")
    first = after(pod("nic-addresses", FIRST), config_maps=maps)
    known = node(nic_addresses=str(first.annotations[NIC_ADDRESSES_ANNOTATION]))
    again = after(pod("nic-addresses", FIRST), known, config_maps=maps)
    assert (again.annotations, again.ready) == ({}, ["pod"])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "no line for node gpu-0"),
        ("enp9s0 172.16.11.1/24", "no NIC enp9s0"),
        ("rdma0 172.16.11.1", "INTERFACE ADDRESS/LENGTH"),
        ("rdma0 172.16.11.1/40", "cannot be used"),
        ("rdma0 172.16.11.1/24 gateway", "cannot be used"),
        ("rdma0 172.16.11.1/24 172.16.12.254", "outside 172.16.11.0/24"),
        ("rdma0 172.16.11.1/24\nrdma1 172.16.12.1/24", "cannot be used"),
    ],
)
def test_without_a_usable_line_for_the_node_the_pod_is_not_ready(line: str, problem: str) -> None:
    outcome = after(pod("nic-addresses", FIRST), config_maps=tables(line))
    assert problem in outcome.failures["pod"]
    assert (outcome.annotations, outcome.ready) == ({}, [])


def test_a_table_that_is_not_there_is_named() -> None:
    assert after(pod("nic-addresses", FIRST)).failures == {"pod": f"there is no ConfigMap {FIRST}"}
    assert "mounts no table" in after(pod("nic-addresses")).failures["pod"]


@pytest.mark.parametrize(
    "asked",
    ["b/rail-0,rail-1@net2", '[{"name":"rail-0","namespace":"b"},{"name":"rail-1"}]'],
)
def test_the_check_is_ready_when_its_networks_are_there(asked: str) -> None:
    there = frozenset({"b/rail-0", f"{NAMESPACE}/rail-1"})
    assert after(pod("fabric-check", networks=asked), networks=there).ready == ["pod"]
    missing = after(pod("fabric-check", networks=asked), networks=there - {"b/rail-0"})
    assert missing.failures == {"pod": "there is no network b/rail-0"}


def test_the_check_of_a_fabric_on_the_hosts_own_network_attaches_nothing() -> None:
    assert after(pod("fabric-check", INTERFACES="net1")).ready == ["pod"]


def test_networks_that_cannot_be_read_are_no_networks() -> None:
    assert "cannot be read" in after(pod("fabric-check", networks="[rail-0]")).failures["pod"]


def test_a_kubelet_does_not_call_any_of_these_pods_ready_by_itself() -> None:
    text = (FOLDER / "pods.yaml").read_text()
    (held,) = [line for line in text.splitlines() if "$prepares := list" in line]
    assert set(re.findall(r'"([^"]+)"', held)) == {COMPONENT, PROVING, *PREPARATIONS}
