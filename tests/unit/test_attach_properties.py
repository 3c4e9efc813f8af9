"""For any pod, written in any way: a second time changes nothing, and what the user wrote is there afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.attach import AttachError, attach, attach_text
from fabric.plan import FabricContract, Plan


@pytest.fixture(scope="module")
def contract(dev_plan: Plan) -> FabricContract:
    return dev_plan.workload


def test_a_second_time_changes_nothing_and_the_users_own_stays(contract: FabricContract) -> None:
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(pods())
    def holds(pod: dict[str, Any]) -> None:
        try:
            once = attach([pod], contract).documents
        except AttachError:
            return
        assert attach(once, contract).documents == once
        assert_there(pod, once[0])

    holds()


def test_text_in_any_style_says_the_same_as_data_and_keeps_its_lines(contract: FabricContract) -> None:
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        pods(), st.sampled_from([None, True, False]), st.sampled_from([2, 3, 4]), st.sampled_from("'\"|") | st.none()
    )
    def holds(pod: dict[str, Any], flow: bool | None, indent: int, style: str | None) -> None:
        text = yaml.safe_dump(pod, default_flow_style=flow, indent=indent, default_style=style, allow_unicode=True)
        written = text.replace("\n", "   # said\n", 1) if flow is False and style is None else text
        try:
            wanted = attach([pod], contract).documents[0]
        except AttachError:
            return
        result = attach_text(written, contract).text
        assert yaml.safe_load(result) == wanted
        assert attach_text(result, contract).text == result
        if flow is False and written is not text:
            assert "# said" in result

    holds()


def assert_there(before: Any, after: Any) -> None:
    """All keys and entries of before are in after; the networks of the user's own among all."""
    if isinstance(before, dict):
        for key, value in before.items():
            if key == NETWORKS and value.strip():
                assert {own.partition("@")[0] for own in networks(value)} <= {
                    name.partition("@")[0] for name in networks(after[key])
                }
            else:
                assert_there(value, after[key])
    elif isinstance(before, list):
        assert all(any(contains(new, old) for new in after) for old in before)
    elif before is not None:
        assert after == before or before == ""


def contains(after: Any, before: Any) -> bool:
    try:
        assert_there(before, after)
    except (AssertionError, KeyError, TypeError):
        return False
    return True


def networks(value: str) -> set[str]:
    if value.lstrip().startswith("["):
        return {entry["name"] for entry in json.loads(value)}
    return {entry.strip() for entry in value.split(",")}


names = st.sampled_from(["NCCL_DEBUG", "NCCL_IB_HCA", "NCCL_IB_TC", "HOME", "A_B"])
words = st.sampled_from(["", "a", "yes", "0x1f", "1e3", "~", "a: b", "#c", "it's", '"', "é", "two\nlines\n", " x "])
labels = st.dictionaries(st.sampled_from(["app", "team.example/name", "k"]), words, max_size=2)
variables = st.dictionaries(names, words, max_size=3).map(
    lambda values: [{"name": name, "value": value} for name, value in values.items()]
)
own_networks = st.sampled_from(
    ["", "nfs", "stores/nfs@nfs0", "rail-03", "rail-03@net4, nfs", '[{"name":"nfs","ips":["10.9.0.7/24"]}]', "nfs@net1"]
)
amounts = st.sampled_from([8, "8", 4, "16"])
gpus = st.dictionaries(st.just("nvidia.com/gpu"), amounts)
some_tolerations = [{"operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}, {"key": "a", "value": "b"}]
tolerations = st.lists(st.sampled_from(some_tolerations), max_size=2)
mounts = st.sampled_from([8, "8", 4, "16"])
tolerations = st.lists(
    st.sampled_from(
        [{"operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}, {"key": "a", "value": "b"}]
    ),
    max_size=2,
)
mounts = st.lists(
    st.sampled_from([("/dev/shm", "shm"), ("/data", "shared-memory"), ("/etc/nccl.conf", "mine"), ("/x/", "x")]),
    max_size=3,
    unique=True,
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Pods with any of what the fabric touches, and some of what it does not."""
    mounted = draw(mounts)
    container: dict[str, Any] = {"name": "main", "image": draw(words)}
    optional = {
        "env": variables,
        "args": st.lists(words, max_size=3),
        "resources": st.none() | st.fixed_dictionaries({}, optional={"limits": gpus, "requests": gpus}),
        "securityContext": st.sampled_from([None, {}, {"capabilities": {"drop": ["ALL"]}}, {"runAsUser": 1000}]),
    }
    for key in draw(st.permutations(sorted(optional))):
        if draw(st.booleans()):
            container[key] = draw(optional[key])
    if mounted:
        container["volumeMounts"] = [{"name": name, "mountPath": path} for path, name in mounted]
    spec: dict[str, Any] = {"containers": [container]}
    if mounted:
        spec["volumes"] = [{"name": name, "emptyDir": {}} for _, name in mounted]
    if draw(st.booleans()):
        spec["tolerations"] = draw(tolerations)
    if draw(st.booleans()):
        spec = {"nodeSelector": draw(st.sampled_from([None, {}, {"row": "1"}])), **spec}
    metadata: dict[str, Any] = {"name": "one", "labels": draw(labels)}
    if draw(st.booleans()):
        metadata["annotations"] = {NETWORKS: draw(own_networks), "note": draw(words)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
