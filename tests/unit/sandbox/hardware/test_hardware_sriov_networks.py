"""The definitions that the SR-IOV operator makes of its networks, and what the operator itself runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.hardware.sriov_networks import UnusableNetworkError, definition_of
from sandbox.hardware.sriov_operator import daemon_sets, resource_prefix


def network(kind: str = "SriovNetwork", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "rail-00", "namespace": "nvidia-network-operator"}
    return {"kind": kind, "metadata": metadata, "spec": {"resourceName": "rail_00", **spec}}


def chain(made: dict[str, Any]) -> list[dict[str, Any]]:
    plugins: list[dict[str, Any]] = json.loads(made["spec"]["config"])["plugins"]
    return plugins


def operator(**environment: str) -> dict[str, Any]:
    env = [{"name": name, "value": text} for name, text in environment.items()]
    return {"spec": {"template": {"spec": {"containers": [{"env": env}]}}}}


CONFIG = {
    "apiVersion": "sriovnetwork.openshift.io/v1",
    "kind": "SriovOperatorConfig",
    "metadata": {"name": "default", "namespace": "n", "uid": "u"},
    "spec": {"configDaemonNodeSelector": {"a": "b"}},
}


def test_a_network_becomes_a_definition_in_the_namespace_that_it_names() -> None:
    made = definition_of(network(networkNamespace="training"), "nvidia.com")
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == ("rail-00", "training")
    assert made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] == "nvidia.com/rail_00"


def test_a_network_that_names_no_namespace_stays_in_its_own() -> None:
    assert definition_of(network(), "nvidia.com")["metadata"]["namespace"] == "nvidia-network-operator"


def test_the_chain_is_the_virtual_functions_plugin_then_the_others_in_their_order() -> None:
    made = definition_of(
        network(ipam='{"type":"nv-ipam"}', spoofChk="off", vlan=0, metaPlugins='{"type":"tuning"},{"type":"rdma"}'), "p"
    )
    assert json.loads(made["spec"]["config"])["cniVersion"] == "1.0.0"
    assert [plugin["type"] for plugin in chain(made)] == ["sriov", "tuning", "rdma"]
    assert chain(made)[0] == {"type": "sriov", "ipam": {"type": "nv-ipam"}, "spoofchk": "off", "vlan": 0}


def test_an_infiniband_network_has_its_own_plugin() -> None:
    made = definition_of(network("SriovIBNetwork", linkState="enable"), "nvidia.com")
    assert chain(made) == [{"type": "ib-sriov", "link_state": "enable", "ipam": {}}]


@pytest.mark.parametrize("field", ["ipam", "metaPlugins", "capabilities"])
def test_text_that_is_not_json_makes_no_definition(field: str) -> None:
    with pytest.raises(UnusableNetworkError, match=f"spec.{field} is not JSON"):
        definition_of(network(**{field: "{'type'"}), "nvidia.com")


def test_the_config_daemon_installs_the_cni_plugins_where_the_configuration_says() -> None:
    daemon, plugin = daemon_sets(operator(RDMA_CNI_IMAGE="r/rdma-cni:v1"), CONFIG)
    pod = daemon["spec"]["template"]["spec"]
    assert [item["args"] for item in pod["initContainers"]] == [["--no-sleep"]] * 3
    assert pod["initContainers"][-1]["image"] == "r/rdma-cni:v1"
    assert pod["nodeSelector"] == {"a": "b"}
    assert (daemon["metadata"]["name"], plugin["metadata"]["name"]) == (
        "sriov-network-config-daemon",
        "sriov-device-plugin",
    )


def test_resources_begin_with_what_the_operator_is_told() -> None:
    assert resource_prefix(operator(RESOURCE_PREFIX="example.com")) == "example.com"
    assert resource_prefix(operator()) == "nvidia.com"
