"""The SR-IOV operator's objects: what its webhook would refuse, or the operator silently not do, is refused here."""

from typing import Any

import pytest

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


def test_spaces_between_the_parts_of_an_ipam_text_are_taken() -> None:
    text = '{ "type": "nv-ipam", "poolName": "rail-00" }'
    assert NetworkSpec(resource_name="rail_00", ipam=text).ipam == text
