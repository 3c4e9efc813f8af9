"""The SR-IOV operator's objects: what its webhook would refuse, or the operator silently not do, is refused here."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.cni import NvIpam, RdmaPlugin, SbrPlugin, TuningPlugin, ipam_text, meta_plugins_text
from gpu_fabric.k8s.sriov_operator import (
    NetworkSpec,
    NicSelector,
    SriovNetwork,
    SriovNetworkNodePolicy,
    SriovNetworkNodePolicySpec,
    SriovNetworkPoolConfigSpec,
    SriovNetworkSpec,
)
from gpu_fabric.k8s.whereabouts import Whereabouts

POLICY: dict[str, Any] = {
    "resourceName": "rail_00",
    "nodeSelector": {"node.kubernetes.io/instance-type": "BM.GPU.H100.8"},
    "nicSelector": {"vendor": "15b3", "pfNames": ["rdma0#0-0"]},
    "numVfs": 1,
}


def policy(**changes: object) -> SriovNetworkNodePolicySpec:
    return SriovNetworkNodePolicySpec.model_validate({**POLICY, **changes})


def test_a_policy_reads_as_the_operator_knows_it() -> None:
    written = SriovNetworkNodePolicy(
        metadata=ObjectMeta(name="rail-00", namespace="nvidia-network-operator"),
        spec=SriovNetworkNodePolicySpec(
            resource_name="rail_00",
            node_selector={"pool": "a"},
            nic_selector=NicSelector(vendor="15b3", device_id="1021", pf_names=("rdma0#0-3",)),
            num_vfs=8,
            mtu=4220,
            is_rdma=True,
            link_type="ETH",
            e_switch_mode="legacy",
            externally_managed=True,
        ),
    ).manifest()
    assert (written["apiVersion"], written["kind"]) == ("sriovnetwork.openshift.io/v1", "SriovNetworkNodePolicy")
    assert written["spec"] == {
        "resourceName": "rail_00",
        "nodeSelector": {"pool": "a"},
        "nicSelector": {"vendor": "15b3", "deviceID": "1021", "pfNames": ["rdma0#0-3"]},
        "numVfs": 8,
        "mtu": 4220,
        "isRdma": True,
        "linkType": "ETH",
        "eSwitchMode": "legacy",
        "externallyManaged": True,
    }


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({}, "at least one of vendor, deviceID, pfNames, rootDevices and netFilter"),
        ({"pfNames": []}, "at least one of vendor"),
        ({"vendor": "mellanox"}, "should match pattern"),
        ({"pfName": ["rdma0"]}, r"unknown field 'pfName'.*did you mean pfNames\?"),
        ({"pfNames": ["rdma0#0"]}, r"'rdma0#0' is not a physical function: .*<name>#first-last"),
        ({"pfNames": ["rdma0#0-1,3-4"]}, "is not a physical function"),
        ({"pfNames": ["rdma0#0-1#2-3"]}, "is not a physical function"),
        ({"pfNames": ["rdma0#a-b"]}, "is not a physical function"),
        ({"pfNames": ["a-name-of-16-let"]}, "is not a physical function"),
        ({"pfNames": ["rdma0#3-1"]}, "must not end before it starts"),
        ({"pfNames": ["rdma0#0-0", "rdma0#1-1"]}, "rdma0 comes twice: only a function's first entry would count"),
        ({"netFilter": "vlan 7"}, "write openstack/NetworkID:<id>"),
        ({"netFilter": "openstack/NetworkID:1", "vendor": "15b3"}, "excludes the other selectors: leave out vendor"),
    ],
)
def test_a_selector_that_would_match_nothing_or_not_be_understood_is_refused(
    selector: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        policy(nicSelector=selector)


def test_a_root_device_with_a_range_is_refused_because_it_never_matches() -> None:
    with pytest.raises(ValidationError, match=r"rootDevices[\s\S]*should match pattern"):
        policy(nicSelector={"rootDevices": ["0000:0c:00.0#0-0"]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numVfs": 0}, "greater than or equal to 1"),
        ({"numVfs": 129}, "less than or equal to 128"),
        ({"numVfs": 2, "nicSelector": {"pfNames": ["rdma0#0-1", "rdma1#1-2"]}}, r"rdma1#1-2: numVfs 2 creates .* 0-1"),
        ({"priority": 100}, "less than or equal to 99"),
        ({"mtu": 0}, "greater than or equal to 1"),
        ({"linkType": "ether"}, "'eth', 'ETH', 'ib' or 'IB'"),
        ({"resourceName": "nvidia.com/rail_00"}, "without the prefix"),
        ({"resourceName": "rail-00"}, "allowed are letters, digits and '_'"),
        ({"nodeSelector": {"pool": "a b"}}, "no node can have such a label"),
        ({"deviceType": "vfio-pci"}, "vendor 15b3 excludes deviceType vfio-pci: its functions stay on mlx5_core"),
        (
            {"deviceType": "vfio-pci", "isRdma": True, "nicSelector": {"vendor": "8086"}},
            "isRdma excludes deviceType vfio-pci",
        ),
        ({"eSwitchMode": "switchdev", "linkType": "IB"}, "works only on Ethernet"),
        ({"nicSelector": {"netFilter": "aws/NetworkID:1"}, "linkType": "ib"}, "netFilter works only on Ethernet"),
        ({"nicSelector": {"netFilter": "aws/NetworkID:1"}, "eSwitchMode": "legacy"}, "and without eSwitchMode"),
        ({"vdpaType": "vhost"}, "needs deviceType netdevice and eSwitchMode switchdev"),
        (
            {
                "vdpaType": "virtio",
                "eSwitchMode": "switchdev",
                "deviceType": "vfio-pci",
                "nicSelector": {"vendor": "8086"},
            },
            "needs deviceType netdevice and eSwitchMode switchdev",
        ),
        ({"vdpaType": "vhost", "eSwitchMode": "switchdev", "isRdma": True}, "isRdma excludes vdpaType"),
    ],
)
def test_a_policy_that_the_operators_webhook_would_refuse_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        policy(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"numVfs": 128, "nicSelector": {"pfNames": ["rdma0#0-127", "rdma1"]}},
        {"deviceType": "vfio-pci", "nicSelector": {"vendor": "8086"}},
        {"vdpaType": "vhost", "eSwitchMode": "switchdev"},
        {"isRdma": True, "linkType": "IB"},
    ],
)
def test_a_policy_at_the_edge_of_the_rules_is_taken(changes: dict[str, Any]) -> None:
    assert policy(**changes).to_dict() == {**POLICY, **changes}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"maxUnavailable": "20"}, r"'1%' to '100%'; as a number write 20 without quotes"),
        ({"maxUnavailable": "0%"}, "allowed are a whole number and a text from '1%' to '100%'"),
        ({"maxUnavailable": "101%"}, "from '1%' to '100%'"),
        ({"maxUnavailable": 0}, "nothing would ever be updated"),
        ({"rdmaMode": "host"}, "'shared' or 'exclusive'"),
        ({"nodeSelector": {"pool": "a"}}, "unknown field 'pool' in LabelSelector"),
        ({"nodeSelector": ["pool=a"]}, "valid dictionary or instance of LabelSelector"),
    ],
)
def test_a_pool_of_nodes_with_a_mistake_from_published_examples_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SriovNetworkPoolConfigSpec.model_validate(spec)


@pytest.mark.parametrize("amount", [1, 20, "1%", "20%", "100%"])
def test_a_pool_counts_unavailable_nodes_in_numbers_or_percent(amount: int | str) -> None:
    assert SriovNetworkPoolConfigSpec(max_unavailable=amount).to_dict() == {"maxUnavailable": amount}


def test_a_network_carries_typed_cni_sections_as_text() -> None:
    plugins = (TuningPlugin(sysctl={"net.ipv4.conf.all.rp_filter": "0"}, mtu=4220), RdmaPlugin(), SbrPlugin())
    network = SriovNetwork(
        metadata=ObjectMeta(name="rail-00", namespace="nvidia-network-operator"),
        spec=SriovNetworkSpec(
            resource_name="rail_00",
            network_namespace="ai",
            spoof_chk="off",
            vlan_qos=3,
            ipam=ipam_text(NvIpam(pool_name="rail-00", pool_type="cidrpool")),
            meta_plugins=meta_plugins_text(plugins),
        ),
    )
    assert network.manifest()["spec"] == {
        "resourceName": "rail_00",
        "networkNamespace": "ai",
        "ipam": '{"poolName":"rail-00","poolType":"cidrpool","type":"nv-ipam"}',
        "metaPlugins": (
            '{"mtu":4220,"sysctl":{"net.ipv4.conf.all.rp_filter":"0"},"type":"tuning"},{"type":"rdma"},{"type":"sbr"}'
        ),
        "spoofChk": "off",
        "vlanQoS": 3,
    }


def test_a_network_may_have_its_addresses_from_whereabouts() -> None:
    ipam = Whereabouts.model_validate({"type": "whereabouts", "range": "10.0.0.0/16"})
    assert '"range":"10.0.0.0/16"' in str(NetworkSpec(resource_name="rail_00", ipam=ipam_text(ipam)).ipam)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"resourceName": "nvidia.com/rail_00"}, "without the prefix, which the operator adds"),
        ({"ipam": "nv-ipam"}, "is not a JSON object"),
        ({"ipam": '["nv-ipam"]'}, "is not a JSON object with the name of a plug-in as its type"),
        ({"ipam": '{"poolName":"a"}'}, "with the name of a plug-in as its type"),
        ({"ipam": '{"type":"nv-ipam","poolName":"it\'s"}'}, "holds a single quote"),
        ({"ipam": '{"type":"nv-ipam","poolName":"a b"}'}, "a space inside a value"),
        ({"metaPlugins": '{"type":"rdma"'}, "is not a list of JSON objects with commas"),
        ({"metaPlugins": '[{"type":"rdma"}]'}, "write the objects with commas and without brackets"),
        ({"metaPlugins": '{"type":"rdma"},"sbr"'}, "every plug-in is a JSON object with its name as type"),
        ({"metaPlugins": '{"mtu":4220}'}, "with its name as type"),
        ({"metaPlugins": ""}, "is not a list of JSON objects"),
        ({"metaPluginsConfig": '{"type":"rdma"}'}, r"did you mean metaPlugins\?"),
        ({"capabilities": '["ips"]'}, "is not a JSON object of true and false"),
        ({"capabilities": '{"ips":"yes"}'}, "is not a JSON object of true and false"),
        ({"networkNamespace": "AI"}, "should match pattern"),
        ({"linkState": "on"}, "'auto', 'enable' or 'disable'"),
    ],
)
def test_a_network_that_the_operator_could_not_render_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NetworkSpec.model_validate({"resourceName": "rail_00", **spec})


def test_spaces_between_the_parts_of_an_ipam_text_are_taken() -> None:
    text = '{ "type": "nv-ipam", "poolName": "rail-00" }'
    assert NetworkSpec(resource_name="rail_00", ipam=text).ipam == text


def test_an_infiniband_network_knows_no_vlan() -> None:
    with pytest.raises(ValidationError, match="unknown field 'vlan' in NetworkSpec"):
        NetworkSpec.model_validate({"resourceName": "rail_00", "vlan": 7})
