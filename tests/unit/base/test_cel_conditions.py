"""Conditions of device selectors by the language definition; tests/sandbox/test_claims.py compares with Kubernetes."""

from typing import Any

import pytest
from each_case import each

from gpu_fabric.base.cel import CelRuntimeError, CelUnknownError, condition

DRANET = {"ifName": "rdma0", "rdma": True, "numaNode": 1, "pciAddress": "0000:0c:00.0"}
DEVICE: dict[str, Any] = {"device": {"driver": "dra.net", "attributes": {"dra.net": DRANET}}}
NIC = 'device.attributes["dra.net"]'


@each(
    ("text", "value"),
    [
        ("true", True),
        (f'device.driver == "dra.net" && {NIC}.rdma', True),
        (f"device.driver == 'dra.net' && !{NIC}.rdma", False),
        (f'{NIC}.ifName.startsWith("rdma") && {NIC}["ifName"].endsWith("0")', True),
        (f'{NIC}.pciAddress in ["0000:2a:00.0", "0000:0c:00.0"]', True),
        (f'{NIC}.pciAddress.matches("^0000:(0c|2a):") && {NIC}.pciAddress.contains("0c")', True),
        (f"{NIC}.numaNode >= 1 && {NIC}.numaNode < 2 && {NIC}.numaNode != -1", True),
        (f"has({NIC}.rdmaDevice)", False),
        (f'has({NIC}.ifName) && "ifName" in {NIC} && !("mtu" in {NIC})', True),
        # values of two types differ, and 1 is not true
        (f'{NIC}.numaNode == "1" || {NIC}.numaNode == true', False),
        # && binds closer than ||, and ! closer than both
        ("true || false && false", True),
        ("!false && false", False),
        ("(true || false) && false", False),
        (f"{NIC}.rdma ? {NIC}.numaNode == 1 : {NIC}.nothing", True),
        # a part without a value does not count where the other decides
        (f"false && {NIC}.mtu == 1", False),
        (f"{NIC}.mtu == 1 && false", False),
        (f"{NIC}.mtu == 1 || true", True),
        (r'"a\"b" == ' + "'a\"b'", True),
    ],
)
def test_a_condition_has_the_value_that_the_language_gives_it(text: str, value: bool) -> None:
    assert condition(text)(DEVICE) is value


@each(
    ("text", "problem"),
    [
        (f"{NIC}.mtu == 9000", "no such key: mtu"),
        (f"{NIC}.mtu == 9000 && true", "no such key: mtu"),
        ("node.name == 'a'", "no such key: node"),
        (f"{NIC}.ifName", "not a boolean"),
        (f"{NIC}.ifName < 1", "no order"),
        (f"{NIC}.numaNode.startsWith('1')", "another type"),
        (f"{NIC}.ifName.matches('(')", "not a valid pattern"),
        (f"{NIC}.ifName.more == 1", "without fields"),
        ("1 in 2", "neither a list nor a mapping"),
    ],
)
def test_what_has_no_value_is_an_error_and_not_false(text: str, problem: str) -> None:
    with pytest.raises(CelRuntimeError, match=problem):
        condition(text)(DEVICE)


@each(
    ("text", "rest"),
    [
        ("", "the end is missing"),
        ("true &&", "the end is missing"),
        ("true true", "'true'"),
        ("1 < 2 < 3", "'<3'"),
        ("1.5 == 1.5", "'5==1.5'"),
        ("a.filter(x, x)", r"'filter\(x,x\)'"),
        ('has(a["b"])', "'\\)'"),
        ("cel.bind(a, b, c)", "'cel.bind"),
        ("semver('1.0.0') == x", "semver"),
        ("{'a': 1} == b", "{'a': 1} == b"),
        ('"open', "open"),
    ],
)
def test_what_is_not_known_is_refused_and_not_guessed(text: str, rest: str) -> None:
    with pytest.raises(CelUnknownError, match=rest):
        condition(text)
