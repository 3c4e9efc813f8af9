"""Spiderpool on its networks: what the webhook fills in and refuses, and the definition that the controller makes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from played_objects import Object

from sandbox.hardware.spider_checks import Checks, RefusedError
from sandbox.hardware.spider_defaults import with_defaults
from sandbox.hardware.spiderpool import cleaned_definitions, coordinator, definition_of

GROUP = "cni.spidernet.io/rdma-resource-inject"
ANY_GROUP = "cni.spidernet.io/network-resource-inject"
SHARED, VIRTUAL = "spidernet.io/shared_0", "spidernet.io/rail_00"
POOLS = {"ippools": {"ipv4": ["rail-00"]}}


def network(kind: str, section: Object | None = None, annotations: Object | None = None, **spec: Any) -> Object:
    named = {} if section is None else {kind.replace("-", ""): section}
    metadata = {"name": "rail-00", "namespace": "spiderpool", "uid": "u", "annotations": annotations or {}}
    return {
        "apiVersion": "spiderpool.spidernet.io/v2beta1",
        "kind": "SpiderMultusConfig",
        "metadata": metadata,
        "spec": {"cniType": kind, **named, **spec},
    }


def macvlan(annotations: Object | None = None, **section: Any) -> Object:
    return network("macvlan", {"master": ["rdma0"], **section}, annotations)


def admitted(new: Object, old: Object | None = None) -> Object:
    stored = with_defaults(new)
    Checks().check(stored, with_defaults(old) if old else None, {})
    return stored


def refusal(new: Object, old: Object | None = None) -> str:
    with pytest.raises(RefusedError) as caught:
        admitted(new, old)
    return str(caught.value)


def chain(new: Object) -> list[Object]:
    plugins: list[Object] = json.loads(definition_of(admitted(new))["spec"]["config"])["plugins"]
    return plugins


def kinds(new: Object) -> list[str]:
    return [plugin["type"] for plugin in chain(new)]


@pytest.mark.parametrize(
    ("kind", "section"),
    [
        ("macvlan", {"master": ["rdma0"]}),
        ("sriov", {"resourceName": VIRTUAL}),
        ("ib-sriov", {"resourceName": VIRTUAL}),
        ("ipoib", {"master": "ib0"}),
    ],
)
def test_a_network_takes_the_section_of_its_kind_and_no_other(kind: str, section: Object) -> None:
    admitted(network(kind, section))
    assert kind in refusal(network(kind))
    other = {"ipoib": {"master": "ib0"}} if kind != "ipoib" else {"macvlan": {"master": ["rdma0"]}}
    assert "takes exactly the section" in refusal(network(kind, section, **other))


def test_two_masters_need_a_bond_with_name_and_mode() -> None:
    two = ["rdma0", "rdma1"]
    admitted(macvlan(master=two, bond={"name": "bond0", "mode": 1}))
    assert "2 masters need a bond" in refusal(macvlan(master=two))
    assert "mode" in refusal(macvlan(master=two, bond={"name": "bond0"}))
    assert "name" in refusal(macvlan(master=two, bond={"mode": 1}))


def test_the_hosts_subnet_can_be_asked_for_with_sriov_and_has_no_effect_on_infiniband() -> None:
    pools = {"ippools": {"ipv4": ["rail-00-*"], "matchMasterSubnet": True}}
    admitted(network("sriov", {"resourceName": VIRTUAL, **pools}))
    admitted(network("ib-sriov", {"resourceName": VIRTUAL, **pools}))
    admitted(network("ipoib", {"master": "ib0", **pools}))
    assert "matchMasterSubnet" in refusal(macvlan(**pools))


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"minTxRateMbps": 2, "maxTxRateMbps": 1}, "minTxRateMbps"),
        ({"vlanID": 4095}, "vlanID"),
        ({"mtu": -1}, "mtu"),
    ],
)
def test_numbers_that_the_kernel_refuses_are_refused(section: Object, problem: str) -> None:
    assert problem in refusal(network("sriov", {"resourceName": VIRTUAL, **section}))


def test_a_network_to_be_injected_with_its_resource_has_one_and_a_pool() -> None:
    group = {GROUP: "fabric"}
    admitted(macvlan(group, rdmaResourceName=SHARED, **POOLS))
    admitted(network("ipoib", {"master": "ib0", **POOLS}, group))
    assert "resource name" in refusal(macvlan(group, **POOLS))
    assert "at least one pool" in refusal(macvlan(group, rdmaResourceName=SHARED))


def test_a_network_to_be_injected_without_a_resource_needs_no_pool() -> None:
    group = {ANY_GROUP: "fabric"}
    admitted(macvlan(group))
    assert "at least one pool" in refusal(macvlan(group, rdmaResourceName=SHARED))


@pytest.mark.parametrize("value", ["two words", "-fabric", "f" * 64])
def test_a_group_is_a_word_that_a_label_can_be(value: str) -> None:
    assert "label" in refusal(macvlan({GROUP: value}, rdmaResourceName=SHARED, **POOLS))


def test_the_group_becomes_a_label() -> None:
    stored = admitted(macvlan({GROUP: "fabric"}, rdmaResourceName=SHARED, **POOLS))
    assert stored["metadata"]["labels"] == {GROUP: "fabric"}


def test_a_network_of_ones_own_brings_json_and_is_never_injected() -> None:
    admitted(network("custom", customCNI='{"type":"bridge"}'))
    assert "not JSON" in refusal(network("custom", customCNI="{"))
    assert "cannot be injected" in refusal(network("custom", annotations={GROUP: "fabric"}))
    assert "takes only customCNI" in refusal(network("custom", macvlan={"master": ["rdma0"]}))
    assert "only its own section" in refusal(network("macvlan", {"master": ["rdma0"]}, customCNI="{}"))


def test_a_kind_that_is_not_played_says_so() -> None:
    assert "does not play ovs" in refusal(network("ovs", {"bridge": "br0"}))


def test_chained_plugins_are_json_objects_with_a_type() -> None:
    admitted(network("macvlan", {"master": ["rdma0"]}, chainCNIJsonData=['{"type":"sbr"}']))
    assert "chainCNIJsonData" in refusal(network("macvlan", {"master": ["rdma0"]}, chainCNIJsonData=["sbr"]))


def test_the_definitions_name_is_a_dns_name_and_stays() -> None:
    name = "multus.spidernet.io/cr-name"
    assert definition_of(admitted(macvlan({name: "gpu1"})))["metadata"]["name"] == "gpu1"
    assert name in refusal(macvlan({name: "Gpu_1"}))
    assert "cannot change from gpu1 to gpu2" in refusal(macvlan({name: "gpu2"}), macvlan({name: "gpu1"}))


def test_the_cni_version_is_one_that_exists() -> None:
    version = "multus.spidernet.io/cni-version"
    made = definition_of(admitted(macvlan({version: "1.0.0"})))
    assert json.loads(made["spec"]["config"])["cniVersion"] == "1.0.0"
    assert "0.2 is none of" in refusal(macvlan({version: "0.2"}))


def test_what_is_left_out_is_filled_in_once() -> None:
    stored = admitted(macvlan())
    assert stored["spec"]["macvlan"] == {"master": ["rdma0"], "vlanID": 0, "mtu": 0, "rdmaResourceName": ""}
    assert (stored["spec"]["enableCoordinator"], stored["spec"]["coordinator"]["mode"]) == (True, "auto")
    isolated = admitted(network("ib-sriov", {"resourceName": VIRTUAL}))["spec"]["ibsriov"]
    assert (isolated["rdmaIsolation"], isolated["linkState"]) == (True, "enable")
    assert with_defaults(stored) == stored


@pytest.mark.parametrize(
    "settings",
    [
        {"podMACPrefix": "01:00"},
        {"policyRoutes": [{"dst": "10.0.0.0/8", "gw": "fd00::1"}]},
        {"vethMTU": 0},
        {"txQueueLen": -1},
    ],
)
def test_coordinator_settings_that_no_pod_can_have_are_refused(settings: Object) -> None:
    whole = {"podCIDRType": "auto"}
    cluster = {"kind": "SpiderCoordinator", "metadata": {"name": "default"}}
    admitted({**cluster, "spec": whole})
    assert next(iter(settings)) in refusal({**cluster, "spec": {**whole, **settings}})
    assert "spec.coordinator" in refusal(network("macvlan", {"master": ["rdma0"]}, coordinator=settings))


def test_the_clusters_coordinator_says_where_the_pod_range_is_and_keeps_its_finalizer() -> None:
    cluster = {"kind": "SpiderCoordinator", "metadata": {"name": "default"}, "spec": {"mode": "auto"}}
    assert "podCIDRType" in refusal(cluster)
    assert with_defaults(cluster)["metadata"]["finalizers"] == ["spiderpool.spidernet.io"]


def test_a_network_becomes_a_definition_that_goes_with_it() -> None:
    made = definition_of(admitted(macvlan(rdmaResourceName=SHARED, **POOLS)))
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == ("rail-00", "spiderpool")
    assert made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] == SHARED
    assert [owner["name"] for owner in made["metadata"]["ownerReferences"]] == ["rail-00"]


def test_a_macvlan_lies_on_its_master_with_addresses_from_its_pools() -> None:
    first, last = chain(macvlan(mtu=4200, **POOLS))
    assert (first["type"], first["master"], first["mode"], first["mtu"]) == ("macvlan", "rdma0", "bridge", 4200)
    assert first["ipam"] == {"type": "spiderpool", "ipv4": ["rail-00"]}
    assert last == {"type": "coordinator"}


def test_bonds_and_vlans_are_made_before_the_macvlan_on_them() -> None:
    tagged = chain(macvlan(vlanID=100))
    assert [(plugin["type"], plugin.get("master")) for plugin in tagged[:2]] == [
        ("ifacer", None),
        ("macvlan", "rdma0.100"),
    ]
    bonded = chain(macvlan(master=["rdma0", "rdma1"], bond={"name": "bond0", "mode": 1}))
    assert (bonded[0]["interfaces"], bonded[1]["master"]) == (["rdma0", "rdma1"], "bond0")


def test_a_virtual_function_brings_its_rdma_device_where_isolation_is_on() -> None:
    assert kinds(network("sriov", {"resourceName": VIRTUAL})) == ["sriov", "coordinator"]
    whole = network("sriov", {"resourceName": VIRTUAL, "rdmaIsolation": True, "mtu": 4200})
    assert kinds(whole) == ["sriov", "coordinator", "tuning", "rdma"]


def test_an_infiniband_function_is_isolated_and_has_its_partition() -> None:
    first = chain(network("ib-sriov", {"resourceName": VIRTUAL, "pkey": "0x10", "enableIbKubernetes": True}))[0]
    assert (first["type"], first["pkey"], first["rdmaIsolation"]) == ("ib-sriov", "0x10", True)
    assert first["ibKubernetesEnabled"] is True


def test_ipoib_has_no_resource_and_a_network_can_do_without_addresses() -> None:
    without = network("ipoib", {"master": "ib0"}, disableIPAM=True, enableCoordinator=False)
    assert chain(without) == [{"type": "ipoib", "master": "ib0"}]
    assert definition_of(admitted(without))["metadata"]["annotations"].keys() == {"sandbox.gpu-fabric/revision"}


def test_a_network_of_ones_own_is_taken_as_it_is_and_plugins_can_be_chained() -> None:
    made = definition_of(admitted(network("custom", customCNI='{"type":"bridge"}')))
    assert json.loads(made["spec"]["config"]) == {"type": "bridge"}
    chained = network("macvlan", {"master": ["rdma0"]}, chainCNIJsonData=['{"type":"sbr"}'])
    assert kinds(chained) == ["macvlan", "coordinator", "sbr"]


def test_the_job_of_the_first_install_makes_the_coordinator_that_the_charts_values_describe() -> None:
    def made(**environment: str) -> Object | None:
        env = [{"name": name, "value": text} for name, text in environment.items()]
        return coordinator({"spec": {"containers": [{"env": env}]}})

    found = made(COORDINATOR_NAME="default", COORDINATOR='{"podCIDRType":"none"}') or {}
    assert (found["metadata"]["name"], found["spec"]) == ("default", {"podCIDRType": "none"})
    assert made() is None


def test_uninstalling_takes_the_definitions_of_every_sriov_operator_but_its_settings() -> None:
    there = {
        "spiderippools.spiderpool.spidernet.io",
        "sriovnetworknodepolicies.sriovnetwork.openshift.io",
        "sriovoperatorconfigs.sriovnetwork.openshift.io",
        "network-attachment-definitions.k8s.cni.cncf.io",
        "nicclusterpolicies.mellanox.com",
    }
    assert cleaned_definitions(there) == (
        "spiderippools.spiderpool.spidernet.io",
        "sriovnetworknodepolicies.sriovnetwork.openshift.io",
    )
