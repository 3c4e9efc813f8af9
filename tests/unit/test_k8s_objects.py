"""What the typed objects refuse, what they say then, and the form in which they are dumped."""

import json
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from fabric.k8s.base import ObjectMeta
from fabric.k8s.cni import NetworkAttachmentDefinition, NetworkAttachmentDefinitionSpec
from fabric.k8s.cni_config import CniChain, NvIpam, RdmaPlugin, SbrPlugin, SriovPlugin, TuningPlugin
from fabric.k8s.core import ConfigMap, Namespace
from fabric.k8s.mellanox import (
    GlobalImage,
    NicClusterPolicy,
    NicClusterPolicySpec,
    OfedDriver,
    SriovDevicePlugin,
    UpgradePolicy,
)
from fabric.k8s.nv_ipam import CIDRPool, CIDRPoolSpec, IPPool, IPPoolSpec, StaticAllocation
from fabric.k8s.scheduling import NodeSelectorRequirement, Toleration

OPERATOR_NAMESPACE = "nvidia-network-operator"


def test_a_manifest_has_camel_case_names_and_the_usual_key_order() -> None:
    pool = IPPool(
        metadata=ObjectMeta(name="rail-00", namespace=OPERATOR_NAMESPACE, labels={"b": "2", "a": "1"}),
        spec=IPPoolSpec(subnet="10.200.0.0/24", per_node_block_size=4, gateway="10.200.0.1"),
    )
    assert json.dumps(pool.manifest()) == (
        '{"apiVersion": "nv-ipam.nvidia.com/v1alpha1", "kind": "IPPool", '
        '"metadata": {"name": "rail-00", "namespace": "nvidia-network-operator", "labels": {"a": "1", "b": "2"}}, '
        '"spec": {"subnet": "10.200.0.0/24", "perNodeBlockSize": 4, "gateway": "10.200.0.1"}}'
    )


def test_a_manifest_never_carries_a_status() -> None:
    pool = IPPool.model_validate(
        {
            "metadata": {"name": "rail", "namespace": "n"},
            "spec": {"subnet": "10.0.0.0/24", "perNodeBlockSize": 4},
            "status": {"allocations": [{"nodeName": "gpu-0", "startIP": "10.0.0.1", "endIP": "10.0.0.4"}]},
        }
    )
    assert "status" not in pool.manifest()


def test_an_object_is_read_back_from_its_own_manifest() -> None:
    data = {"topo.xml": "<system/>", "nccl.conf": "NCCL_DEBUG=INFO"}
    files = ConfigMap(metadata=ObjectMeta(name="nccl", namespace="default"), data=data, immutable=True)
    manifest = files.manifest()
    again = ConfigMap.model_validate({key: manifest[key] for key in ("metadata", "data", "immutable")})
    assert again == files


def test_an_unknown_field_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ValidationError, match=r"unknown field 'perNodeBlocksize'.*did you mean perNodeBlockSize\?"):
        IPPoolSpec.model_validate({"subnet": "10.0.0.0/24", "perNodeBlocksize": 4})


def test_a_cluster_scoped_object_refuses_a_namespace() -> None:
    with pytest.raises(ValidationError, match=r"Namespace gpu is cluster-scoped: leave metadata\.namespace out"):
        Namespace(metadata=ObjectMeta(name="gpu", namespace="default"))


def test_a_namespaced_object_asks_for_its_namespace() -> None:
    with pytest.raises(ValidationError, match=r"ConfigMap nccl is namespaced: set metadata\.namespace"):
        ConfigMap(metadata=ObjectMeta(name="nccl"), data={})


@pytest.mark.parametrize("name", ["Rail", "rail_00", "-rail", "rail-", "r" * 254, ""])
def test_an_object_name_that_the_api_server_would_refuse_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="is not an object name: allowed are"):
        ObjectMeta(name=name)


def test_a_label_value_with_a_slash_is_refused() -> None:
    with pytest.raises(ValidationError, match="allowed are at most 63 letters"):
        ObjectMeta(name="a", labels={"shape": "BM/GPU"})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"subnet": "10.0.0.1/24", "perNodeBlockSize": 4}, "without host bits"),
        ({"subnet": "10.0.0.0/30", "perNodeBlockSize": 3}, "allowed 1-2"),
        ({"subnet": "10.0.0.0/24", "perNodeBlockSize": 4, "gateway": "10.0.1.1"}, "lies outside 10.0.0.0/24"),
        ({"subnet": "10.0.0.0/24", "perNodeBlockSize": 4, "gateway": "10.0.0.0/24"}, "is not an IP address"),
        ({"subnet": "10.0.0.0/24", "perNodeBlockSize": 4, "defaultGateway": True}, "need a gateway"),
        (
            {
                "subnet": "10.0.0.0/24",
                "perNodeBlockSize": 4,
                "exclusions": [{"startIP": "10.0.0.250", "endIP": "10.0.1.2"}],
            },
            "exclusion address 10.0.1.2 lies outside",
        ),
    ],
)
def test_an_address_pool_that_the_ipam_webhook_would_refuse_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        IPPoolSpec.model_validate(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 16}, "allowed 17-32"),
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 30, "gatewayIndex": 4}, "allowed 0-3"),
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 30, "gatewayIndex": 0}, "is the network address"),
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 30, "routes": [{"dst": "10.0.0.0/8"}]}, "need a gatewayIndex"),
        (
            {"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 24, "staticAllocations": [{"prefix": "10.1.0.0/24"}]},
            "lies outside 10.0.0.0/16",
        ),
        (
            {"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 24, "staticAllocations": [{"prefix": "10.0.0.0/25"}]},
            "must have prefix length 24",
        ),
        (
            {"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 24, "staticAllocations": [{"prefix": "10.0.0.0/24"}] * 2},
            "repeats a prefix or a node",
        ),
    ],
)
def test_a_prefix_pool_that_the_ipam_webhook_would_refuse_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CIDRPoolSpec.model_validate(spec)


def test_a_prefix_of_two_addresses_may_have_its_gateway_at_index_zero() -> None:
    spec = CIDRPoolSpec(
        cidr="10.0.0.0/16",
        per_node_network_prefix=31,
        gateway_index=0,
        static_allocations=(StaticAllocation(prefix="10.0.0.4/31", node_name="gpu-0", gateway="10.0.0.4"),),
    )
    pool = CIDRPool(metadata=ObjectMeta(name="rail", namespace=OPERATOR_NAMESPACE), spec=spec)
    assert pool.manifest()["spec"]["gatewayIndex"] == 0


def test_a_policy_of_a_name_that_the_operator_ignores_is_refused() -> None:
    with pytest.raises(ValidationError, match="the only allowed name is nic-cluster-policy"):
        NicClusterPolicy(metadata=ObjectMeta(name="my-policy"), spec=NicClusterPolicySpec())


def test_a_policy_without_an_image_version_says_where_to_set_it() -> None:
    with pytest.raises(
        ValidationError, match=r"sriovDevicePlugin\.version is missing: set it there or in global\.version"
    ):
        NicClusterPolicySpec(
            global_=GlobalImage(repository="nvcr.io/nvidia/mellanox"),
            sriov_device_plugin=SriovDevicePlugin(image="sriov-network-device-plugin"),
        )


def test_the_global_section_is_dumped_under_its_reserved_name() -> None:
    spec = NicClusterPolicySpec(global_=GlobalImage(version="network-operator-v26.4.1"))
    assert spec.to_dict() == {"global": {"version": "network-operator-v26.4.1"}}


def test_a_policy_with_a_broken_device_plugin_configuration_is_refused() -> None:
    with pytest.raises(ValidationError, match="resourceName 'rail-00': allowed are letters, digits"):
        SriovDevicePlugin(
            image="sriov-network-device-plugin",
            config='{"resourceList":[{"resourceName":"rail-00","selectors":{"vendors":["15b3"]}}]}',
        )


def test_a_driver_version_in_no_accepted_form_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"ofedDriver version 'latest': allowed are YY\.MM"):
        OfedDriver(image="doca-driver", version="latest")


def test_the_driver_version_of_the_current_line_is_accepted() -> None:
    assert OfedDriver(image="doca-driver", version="doca3.4.1-26.04-1.1.0.0-1").version is not None


def test_safe_load_needs_automatic_upgrades() -> None:
    with pytest.raises(ValidationError, match="safeLoad works only with autoUpgrade"):
        UpgradePolicy(safe_load=True)


def test_a_toleration_of_any_value_refuses_one() -> None:
    with pytest.raises(ValidationError, match="operator Exists takes no value"):
        Toleration(key="nvidia.com/gpu", operator="Exists", value="present")


def test_a_node_selector_that_compares_needs_values() -> None:
    with pytest.raises(ValidationError, match="operator In needs values"):
        NodeSelectorRequirement(key="shape", operator="In")


def test_a_cni_chain_is_one_line_of_sorted_json() -> None:
    chain = CniChain(
        name="rail-00",
        plugins=(
            SriovPlugin(spoofchk="off", ipam=NvIpam(pool_name="rail-00", pool_type="ippool")),
            TuningPlugin(sysctl={"net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.all.arp_ignore": "1"}, mtu=4220),
            RdmaPlugin(),
            SbrPlugin(),
        ),
    )
    assert chain.to_json() == (
        '{"cniVersion":"0.3.1","name":"rail-00","plugins":['
        '{"ipam":{"poolName":"rail-00","poolType":"ippool","type":"nv-ipam"},"spoofchk":"off","type":"sriov"},'
        '{"mtu":4220,"sysctl":{"net.ipv4.conf.all.arp_ignore":"1","net.ipv4.conf.all.rp_filter":"0"},"type":"tuning"},'
        '{"type":"rdma"},{"type":"sbr"}]}'
    )
    assert CniChain.model_validate_json(chain.to_json()) == chain


def test_sriov_cni_keys_keep_their_own_spelling() -> None:
    assert SriovPlugin(link_state="enable", vlan=7, vlan_qos=3).to_dict() == {
        "type": "sriov",
        "link_state": "enable",
        "vlan": 7,
        "vlanQoS": 3,
    }


@pytest.mark.parametrize("config", ["{", "[]", '{"name":"rail"}'])
def test_a_network_whose_configuration_multus_could_not_read_is_refused(config: str) -> None:
    with pytest.raises(ValidationError, match="config"):
        NetworkAttachmentDefinition(
            metadata=ObjectMeta(name="rail", namespace="default"), spec=NetworkAttachmentDefinitionSpec(config=config)
        )


def test_objects_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        ObjectMeta(name="a").name = "b"  # type: ignore[misc]


def test_typed_objects_need_no_engine() -> None:
    script = (
        "import sys, fabric.k8s.mellanox, fabric.k8s.nvidia, fabric.k8s.crd, fabric.k8s.cni_config; "
        "sys.exit(any(name.split('.')[0] == 'pulumi' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
