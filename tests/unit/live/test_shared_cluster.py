"""What a live cluster lacks of what a plan relies on, and which of its objects are another's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.live.sharing import missing_definitions, policy_problems, taken_by_others
from gpu_fabric.plan.records import (
    ExpectedDefinition,
    ExpectedOperator,
    ExpectedPolicy,
    ExpectedResource,
    PlannedObject,
)

RAIL = ExpectedResource(
    name="nvidia.com/rail_00",
    shared=False,
    addresses=("0000:18:00.0",),
    interfaces=("enp24s0np0",),
    all_rails=False,
    pods=1,
)
EXPECTED = ExpectedPolicy(sections=("nvIpam", "secondaryNetwork.cniPlugins"), resources=(RAIL,))


def spec(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A policy with both sections, and these resources of the SR-IOV device plug-in."""
    config = json.dumps({"resourceList": list(resources)})
    sections = {"nvIpam": {}, "secondaryNetwork": {"cniPlugins": {}}, "sriovDevicePlugin": {"config": config}}
    return {**sections, **more}


def resource(name: str = "rail_00", prefix: str | None = "nvidia.com", **selectors: list[str]) -> dict[str, Any]:
    prefixed = {} if prefix is None else {"resourcePrefix": prefix}
    return {**prefixed, "resourceName": name, "selectors": selectors}


ADDRESS, INTERFACE, ROOT = "0000:18:00.0", "enp24s0np0", {"rootDevices": ["0000:18:00.0"]}
UNKNOWN = EXPECTED.model_copy(update={"resources": (RAIL.model_copy(update={"interfaces": (None,)}),)})
OF_ALL = EXPECTED.model_copy(update={"resources": (RAIL.model_copy(update={"all_rails": True}),)})
NONE = "the section sriovDevicePlugin offers no such resource; it offers"
BARE = {"nvIpam": {}, "secondaryNetwork": {"cniPlugins": {}}}
OF_NODES = {"sriovDevicePlugin": {"config": json.dumps({"resourceList": [resource(**ROOT)]})}}
LACKING = spec(resource(pciAddresses=[ADDRESS]), nvIpam=None, secondaryNetwork={"multus": {}})


@pytest.mark.parametrize(
    ("expected", "there", "problems"),
    [
        (EXPECTED, [spec(resource(pciAddresses=[ADDRESS]))], []),
        (EXPECTED, [spec(resource(**ROOT))], []),
        (EXPECTED, [spec(resource(pfNames=[INTERFACE]))], []),
        (EXPECTED, [spec(resource(pfNames=[f"{INTERFACE}#0-7"]))], []),
        (EXPECTED, [spec(resource(prefix=None, vendors=["15b3"], pciAddresses=[ADDRESS]))], []),
        # One of node groups may offer the resources; one of all rails may select by kind.
        (EXPECTED, [BARE, OF_NODES], []),
        (OF_ALL, [spec(resource(vendors=["15b3"]))], []),
        (
            EXPECTED,
            [spec(resource(pciAddresses=["0000:40:00.0"]))],
            ["it selects PCI addresses 0000:40:00.0, and the plan's are 0000:18:00.0"],
        ),
        (
            EXPECTED,
            [spec(resource(pciAddresses=[ADDRESS, "0000:40:00.0"]))],
            ["it selects PCI addresses 0000:18:00.0, 0000:40:00.0, and the plan's are 0000:18:00.0"],
        ),
        (EXPECTED, [spec(resource(pfNames=["eth2"]))], ["it selects interfaces eth2, and the plan's are enp24s0np0"]),
        (
            EXPECTED,
            [spec(resource(vendors=["15b3"]))],
            ["it selects NICs by their kind alone, and the plan's resource is one rail's"],
        ),
        (EXPECTED, [spec(resource("roce", pciAddresses=[ADDRESS]))], [f"{NONE} nvidia.com/roce"]),
        (EXPECTED, [spec(resource(prefix="openshift.io", **ROOT))], [f"{NONE} openshift.io/rail_00"]),
        (
            UNKNOWN,
            [spec(resource(pfNames=[INTERFACE]))],
            ["it selects interfaces enp24s0np0, and those of this stack's rails are not known"],
        ),
        (
            EXPECTED,
            [LACKING],
            ["no policy has the section nvIpam", "no policy has the section secondaryNetwork.cniPlugins"],
        ),
        (EXPECTED, [], ["there is no NicClusterPolicy"]),
    ],
)
def test_a_policy_fits_or_is_reported_with_what_it_lacks(
    expected: ExpectedPolicy, there: list[dict[str, Any]], problems: list[str]
) -> None:
    assert [one.removeprefix("nvidia.com/rail_00: ") for one in policy_problems(expected, there)] == problems


@pytest.mark.parametrize("config", ["{", "[]", '{"resourceList": [{}]}', '{"resourceList": [7]}'])
def test_a_configuration_that_cannot_be_read_is_reported(config: str) -> None:
    found = list(policy_problems(EXPECTED, [spec(sriovDevicePlugin={"config": config})]))

    assert "the configuration in the section sriovDevicePlugin cannot be read" in found


@pytest.mark.parametrize(("most", "problems"), [(4, 0), (3, 1)])
def test_a_nic_must_be_shared_by_as_many_pods_as_planned(most: int, problems: int) -> None:
    shared = RAIL.model_copy(update={"name": "rdma/rail_00", "shared": True, "pods": 4})
    entry = {"resourceName": "rail_00", "rdmaHcaMax": most, "selectors": {"ifNames": ["enp24s0np0"]}}
    there = {"rdmaSharedDevicePlugin": {"config": json.dumps({"configList": [entry]})}}

    found = list(policy_problems(ExpectedPolicy(sections=(), resources=(shared,)), [there]))

    assert len(found) == problems


def test_kinds_that_are_missing_or_of_another_version_are_reported_by_operator() -> None:
    kinds = tuple(ExpectedDefinition(name=name, version="v1") for name in ("a.example", "b.example", "c.example"))
    operator = ExpectedOperator(name="x", title="Operator X", definitions=kinds)

    assert list(missing_definitions([operator], {"a.example": ["v1"], "b.example": ["v1beta1"]})) == [
        "Operator X: b.example is served in v1beta1, and not in v1",
        "Operator X: the cluster has no definition c.example",
    ]


CONFIG_MAP = PlannedObject(object=ConfigMap(metadata=ObjectMeta(name="files", namespace="jobs"), data={}))


def live(stack: str | None, manager: str = "kubectl") -> dict[str, Any]:
    annotations = {} if stack is None else {"gpu-fabric/stack": stack}
    return {"metadata": {"annotations": annotations, "managedFields": [{"manager": manager}]}}


@pytest.mark.parametrize(
    ("item", "has_run", "line"),
    [
        (live("mine"), False, None),
        (live("yours"), True, "ConfigMap jobs/files is of stack yours"),
        (live(None), True, "ConfigMap jobs/files exists, and no stack has marked it as its own"),
        (
            live(None, "pulumi-kubernetes-1a2b"),
            False,
            "ConfigMap jobs/files exists, and no stack has marked it as its own",
        ),
        (live(None, "pulumi-kubernetes-1a2b"), True, None),
    ],
    ids=["own", "of-another", "by-hand", "of-a-first-run", "from-before-it-shared"],
)
def test_an_object_that_another_owns_is_reported(item: dict[str, Any], has_run: bool, line: str | None) -> None:
    assert list(taken_by_others("mine", [(CONFIG_MAP, item)], has_run)) == ([] if line is None else [line])
