"""Definitions that come and go with a section of the Network Operator's policy, as it is played."""

from __future__ import annotations

import pytest
from played_objects import IMAGE, NAMESPACE, Object, cluster_policy, node_policy

from gpu_fabric.catalog import catalog
from sandbox.crds import CHARTS
from sandbox.hardware.operands import NETWORK_OPERATOR, Installed, installed
from sandbox.hardware.policy_definitions import definitions_of
from sandbox.hardware.policy_status import is_current
from sandbox.hardware.writing import path_of

WHEREABOUTS = {"ippools.whereabouts.cni.cncf.io", "overlappingrangeipreservations.whereabouts.cni.cncf.io"}
NV_IPAM = {"ippools.nv-ipam.nvidia.com", "cidrpools.nv-ipam.nvidia.com"}


def made(policy: Object, line: str | None = "26.4") -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in definitions_of(policy, Installed(NAMESPACE, line=line))}


@pytest.mark.parametrize(
    ("line", "sections", "names"),
    [
        ("26.4", {"nvIpam": IMAGE}, NV_IPAM),
        ("26.4", {"nvIpam": {}}, NV_IPAM),
        ("26.4", {"sriovDevicePlugin": IMAGE, "secondaryNetwork": {"multus": IMAGE}}, set()),
        ("23.10", {"nvIpam": IMAGE}, {"ippools.nv-ipam.nvidia.com"}),
        ("23.10", {"secondaryNetwork": {"ipamPlugin": IMAGE}}, WHEREABOUTS),
        ("23.10", {}, set()),
        (None, {"nvIpam": IMAGE}, NV_IPAM),
    ],
)
def test_a_section_brings_the_definitions_of_its_release_line(
    line: str | None, sections: Object, names: set[str]
) -> None:
    assert set(made(cluster_policy(**sections), line)) == names


def test_the_definitions_are_deleted_with_their_policy_and_a_policy_made_again_writes_its_own() -> None:
    first, second = (cluster_policy(nvIpam=IMAGE) for _ in range(2))
    second["metadata"]["uid"] = "another"
    for name, item in made(first).items():
        assert [owner["uid"] for owner in item["metadata"]["ownerReferences"]] == ["uid-of-nic-cluster-policy"]
        assert is_current(item, made(first)[name])
        assert not is_current(item, made(second)[name])
        assert path_of(item) == f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"


def test_a_policy_for_some_nodes_brings_none() -> None:
    assert made(node_policy("first", sriovDevicePlugin=IMAGE)) == {}


def test_an_older_lines_pools_need_a_gateway() -> None:
    for line, needs in (("23.10", True), ("26.4", False)):
        (version,) = made(cluster_policy(nvIpam=IMAGE), line)["ippools.nv-ipam.nvidia.com"]["spec"]["versions"]
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        assert ("gateway" in spec["required"]) is needs


@pytest.mark.parametrize("line", catalog().releases)
def test_an_operator_is_of_the_release_line_that_pins_its_version_and_its_chart_has_no_definition_of_a_pool(
    line: str,
) -> None:
    version = catalog().releases[line].charts[NETWORK_OPERATOR].version
    pod = {"containers": [{"image": f"nvcr.io/nvidia/cloud-native/network-operator:v{version}"}]}
    operator = {"metadata": {"namespace": NAMESPACE}, "spec": {"template": {"spec": pod}}}
    assert installed(operator).line == line
    assert not list((CHARTS / line / NETWORK_OPERATOR / "crds").glob("*pools.yaml"))
