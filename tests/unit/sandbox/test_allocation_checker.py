"""The checker of allocations on cases that can be done by hand; tests/sandbox compares it with the scheduler."""

from typing import Any

import pytest
from allocation_checker import Node
from each_case import each

from gpu_fabric.base.cel import CelRuntimeError

Object = dict[str, Any]

ROOT = "resource.kubernetes.io/pcieRoot"
CLASSES = [
    {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}}
    for name, driver in (("nic", "dra.net"), ("gpu", "gpu.nvidia.com"))
]


def _slice(driver: str, devices: dict[str, Object]) -> Object:
    kinds = {str: "string", int: "int", bool: "bool"}
    entries = [
        {"name": name, "attributes": {key: {kinds[type(value)]: value} for key, value in attributes.items()}}
        for name, attributes in devices.items()
    ]
    return {"spec": {"driver": driver, "nodeName": "n", "pool": {"name": "n"}, "devices": entries}}


# Two roots with two NICs and a GPU each; a third NIC is at no known root.
NICS = _slice(
    "dra.net",
    {
        **{f"nic-{number}": {"dra.net/ifName": f"rdma{number}", ROOT: f"pci{number // 2}"} for number in range(4)},
        "nic-4": {"dra.net/ifName": "rdma4"},
    },
)
GPUS = _slice("gpu.nvidia.com", {f"gpu-{number}": {"type": "gpu", ROOT: f"pci{number}"} for number in range(2)})


def _request(name: str, device_class: str, count: int = 1, selector: str = "true") -> Object:
    exactly = {"deviceClassName": device_class, "count": count, "selectors": [{"cel": {"expression": selector}}]}
    return {"name": name, "exactly": exactly}


def _claim(*requests: Object, matched: tuple[str, ...] | None = None, attribute: str = ROOT) -> Object:
    constraints = [] if matched is None else [{"requests": list(matched), "matchAttribute": attribute}]
    return {"spec": {"devices": {"requests": list(requests), "constraints": constraints}}}


def _node(*taken: str) -> Node:
    ids = frozenset(("dra.net" if name.startswith("nic") else "gpu.nvidia.com", "n", name) for name in taken)
    return Node([NICS, GPUS], CLASSES, ids)


def _given(node: Node, *claims: Object) -> list[list[str]] | None:
    found = node.allocation(claims)
    if found is not None:
        assert node.violations(claims, found) == []
    return None if found is None else [[device for _, (_, _, device) in allocation] for allocation in found]


PAIR = _claim(_request("gpu", "gpu"), _request("nic", "nic", 2), matched=("gpu", "nic"))
TWO_NICS = _claim(_request("nic", "nic", 2), matched=())


@each(
    ("taken", "claims", "given"),
    [
        ((), [_claim(_request("nic", "nic", 5))], [[f"nic-{number}" for number in range(5)]]),
        ((), [_claim(_request("nic", "nic", 6))], None),
        ((), [PAIR], [["gpu-0", "nic-0", "nic-1"]]),
        # the first GPU is free, and its NICs are not
        (("nic-1",), [PAIR], [["gpu-1", "nic-2", "nic-3"]]),
        (("nic-1", "gpu-1"), [PAIR], None),
        # both claims, each at a root of its own; a third finds none
        ((), [PAIR, PAIR], [["gpu-0", "nic-0", "nic-1"], ["gpu-1", "nic-2", "nic-3"]]),
        ((), [PAIR, PAIR, PAIR], None),
        # one that takes what another needs is given something else: the order of claims does not decide
        ((), [_claim(_request("nic", "nic")), PAIR, PAIR],
            [["nic-4"], ["gpu-0", "nic-0", "nic-1"], ["gpu-1", "nic-2", "nic-3"]]),
        (("nic-0", "nic-2"), [TWO_NICS], None),
        ((), [_claim(_request("nic", "nic", 3), matched=())], None),
        # a constraint of one request leaves the other alone
        (("nic-0", "nic-2"), [_claim(_request("a", "nic"), _request("b", "nic"), matched=("a",))],
            [["nic-1", "nic-3"]]),
        ((), [_claim(_request("nic", "nic", 1, 'device.attributes["dra.net"].ifName == "rdma4"'), matched=())], None),
    ],
)  # fmt: skip
def test_claims_get_devices_wherever_there_is_any_way(taken: tuple[str, ...], claims: list[Object], given: Any) -> None:
    assert _given(_node(*taken), *claims) == given


def test_a_selector_without_a_value_is_an_error_as_soon_as_a_free_device_lacks_the_attribute() -> None:
    claim = _claim(_request("a", "nic", 1, 'device.attributes["resource.kubernetes.io"].pcieRoot == "pci1"'))
    with pytest.raises(CelRuntimeError, match="no such key: pcieRoot"):
        _given(_node(), claim)
    assert _given(_node("nic-4"), claim) == [["nic-2"]]


@each(
    ("given", "problem"),
    [
        ([("gpu", "gpu-0"), ("nic", "nic-0"), ("nic", "nic-9")], "is no device of the node"),
        ([("gpu", "gpu-0"), ("nic", "nic-0"), ("nic", "nic-2")], "differs or is missing"),
        ([("gpu", "gpu-0"), ("nic", "nic-0"), ("nic", "nic-4")], "differs or is missing"),
        ([("gpu", "gpu-0"), ("nic", "nic-0"), ("nic", "nic-0")], "serves two requests"),
        ([("gpu", "gpu-0"), ("nic", "nic-0")], "has 1 devices and asks for 2"),
        ([("gpu", "nic-2"), ("nic", "nic-2"), ("nic", "nic-3")], "serves two requests"),
        ([("gpu", "nic-2"), ("nic", "nic-3"), ("nic", "gpu-0")], "is not what request gpu selects"),
        ([("gpu", "gpu-1"), ("nic", "nic-2"), ("nic", "nic-3")], "is taken"),
    ],
)
def test_an_allocation_that_breaks_a_rule_is_found(given: list[tuple[str, str]], problem: str) -> None:
    ids = [(name, ("gpu.nvidia.com" if device[0] == "g" else "dra.net", "n", device)) for name, device in given]
    assert problem in "; ".join(_node("gpu-1").violations([PAIR], [ids]))


@each(
    "claim",
    [
        {"spec": {"devices": {"requests": [{"name": "a", "firstAvailable": []}]}}},
        {
            "spec": {
                "devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "nic", "allocationMode": "All"}}]}
            }
        },
        {"spec": {"devices": {"requests": [], "constraints": [{"distinctAttribute": ROOT}]}}},
    ],
)
def test_what_is_not_judged_is_refused(claim: Object) -> None:
    with pytest.raises(ValueError, match="not judged"):
        _node().allocation([claim])
