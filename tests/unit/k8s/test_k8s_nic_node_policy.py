"""The policy for the nodes of one selector: what the operator would refuse or never run."""

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.mellanox import NicNodePolicy, NicNodePolicySpec, SriovDevicePlugin

CONFIG = '{"resourceList":[{"resourceName":"rail_00","selectors":{"vendors":["15b3"]}}]}'
PLUGIN = SriovDevicePlugin(
    image="sriov-network-device-plugin",
    repository="nvcr.io/nvidia/mellanox",
    version="network-operator-v26.4.1",
    config=CONFIG,
)
SPEC = NicNodePolicySpec(node_selector={"pool": "a"}, sriov_device_plugin=PLUGIN)


def test_a_name_may_have_thirty_characters_and_no_more() -> None:
    assert NicNodePolicy(metadata=ObjectMeta(name="p" * 30), spec=SPEC).metadata.name == "p" * 30
    with pytest.raises(ValidationError, match="has a name of 31 characters: allowed are at most 30"):
        NicNodePolicy(metadata=ObjectMeta(name="p" * 31), spec=SPEC)
