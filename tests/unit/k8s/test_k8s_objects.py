"""What the typed objects refuse, what they say then, and the form in which they are dumped."""

import json

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.cni import NetworkAttachmentDefinition, NetworkAttachmentDefinitionSpec
from gpu_fabric.k8s.core import ConfigMap, Namespace
from gpu_fabric.k8s.mellanox import (
    NicClusterPolicy,
    NicClusterPolicySpec,
    OfedDriver,
    RdmaSharedDevicePlugin,
    SriovDevicePlugin,
)
from gpu_fabric.k8s.nv_ipam import IPPool, IPPoolSpec
from gpu_fabric.k8s.scheduling import LabelRequirement, NodeSelectorRequirement, Toleration

OPERATOR_NAMESPACE = "nvidia-network-operator"
IMAGE = {"image": "operand", "repository": "nvcr.io/nvidia/mellanox", "version": "26.04-1.1.0.0"}


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


def test_a_policy_of_a_name_that_the_operator_ignores_is_refused() -> None:
    with pytest.raises(ValidationError, match="the only allowed name is nic-cluster-policy"):
        NicClusterPolicy(metadata=ObjectMeta(name="my-policy"), spec=NicClusterPolicySpec())


def test_a_policy_with_a_broken_device_plugin_configuration_is_refused() -> None:
    with pytest.raises(ValidationError, match="resourceName 'rail-00': allowed are letters, digits"):
        SriovDevicePlugin(
            **IMAGE,
            config='{"resourceList":[{"resourceName":"rail-00","selectors":{"vendors":["15b3"]}}]}',
        )


def test_a_policy_with_a_broken_shared_device_plugin_configuration_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"configList[\s\S]*at least 1 item"):
        RdmaSharedDevicePlugin(**IMAGE, config='{"configList":[]}')


def test_a_driver_version_in_no_accepted_form_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"ofedDriver version 'latest': allowed are YY\.MM"):
        OfedDriver(**{**IMAGE, "version": "latest"})


def test_a_toleration_of_any_value_refuses_one() -> None:
    with pytest.raises(ValidationError, match="operator Exists takes no value"):
        Toleration(key="nvidia.com/gpu", operator="Exists", value="present")


def test_a_node_selector_that_compares_needs_values() -> None:
    with pytest.raises(ValidationError, match="operator In needs values"):
        NodeSelectorRequirement(key="shape", operator="In")


def test_a_node_selector_that_compares_numbers_takes_one_whole_number() -> None:
    with pytest.raises(ValidationError, match="operator Gt takes one whole number"):
        NodeSelectorRequirement(key="nvidia.com/gpu.count", operator="Gt", values=("8", "9"))


def test_a_label_selector_that_compares_needs_values() -> None:
    with pytest.raises(ValidationError, match="operator NotIn needs values"):
        LabelRequirement(key="team", operator="NotIn")


@pytest.mark.parametrize("config", ["{", "[]", '{"name":"rail"}'])
def test_a_network_whose_configuration_multus_could_not_read_is_refused(config: str) -> None:
    with pytest.raises(ValidationError, match="config"):
        NetworkAttachmentDefinition(
            metadata=ObjectMeta(name="rail", namespace="default"), spec=NetworkAttachmentDefinitionSpec(config=config)
        )
