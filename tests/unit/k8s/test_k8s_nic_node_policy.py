"""The policy for the nodes of one selector: what the operator would refuse or never run."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.mellanox import NicNodePolicy, NicNodePolicySpec, SriovDevicePlugin
from gpu_fabric.k8s.scheduling import Toleration

CONFIG = '{"resourceList":[{"resourceName":"rail_00","selectors":{"vendors":["15b3"]}}]}'
PLUGIN = SriovDevicePlugin(
    image="sriov-network-device-plugin",
    repository="nvcr.io/nvidia/mellanox",
    version="network-operator-v26.4.1",
    config=CONFIG,
)
SPEC = NicNodePolicySpec(node_selector={"pool": "a"}, sriov_device_plugin=PLUGIN)


def test_a_policy_gives_one_group_of_nodes_its_own_device_plugin() -> None:
    spec = NicNodePolicySpec(
        node_selector={"pool": "a"},
        tolerations=(Toleration(key="gpu", operator="Exists"),),
        sriov_device_plugin=PLUGIN,
    )
    written = NicNodePolicy(metadata=ObjectMeta(name="pool-a"), spec=spec).manifest()
    assert written == {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicNodePolicy",
        "metadata": {"name": "pool-a"},
        "spec": {
            "nodeSelector": {"pool": "a"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "sriovDevicePlugin": {
                "image": "sriov-network-device-plugin",
                "repository": "nvcr.io/nvidia/mellanox",
                "version": "network-operator-v26.4.1",
                "config": CONFIG,
            },
        },
    }


def test_a_name_may_have_thirty_characters_and_no_more() -> None:
    assert NicNodePolicy(metadata=ObjectMeta(name="p" * 30), spec=SPEC).metadata.name == "p" * 30
    with pytest.raises(ValidationError, match="has a name of 31 characters: allowed are at most 30"):
        NicNodePolicy(metadata=ObjectMeta(name="p" * 31), spec=SPEC)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sriovDevicePlugin": None}, "at least one of ofedDriver, rdmaSharedDevicePlugin and sriovDevicePlugin"),
        ({"nodeSelector": {}}, "at least 1 item"),
        ({"nvIpam": {"image": "nvidia-k8s-ipam"}}, "unknown field 'nvIpam'"),
        ({"global": {"version": "v1"}}, "unknown field 'global'"),
    ],
)
def test_a_policy_that_would_run_nothing_or_too_much_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NicNodePolicySpec.model_validate(SPEC.to_dict() | changes)


@pytest.mark.parametrize("part", ["repository", "version"])
def test_an_image_is_complete_because_there_is_no_global_section(part: str) -> None:
    with pytest.raises(ValidationError, match=rf"sriovDevicePlugin\.{part}"):
        NicNodePolicySpec.model_validate({**SPEC.to_dict(), "sriovDevicePlugin": {**PLUGIN.to_dict(), part: None}})
