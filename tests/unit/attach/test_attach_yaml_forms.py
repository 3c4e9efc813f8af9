"""YAML in forms that nobody writes by hand: it is read as kubectl reads it, and what it says stays."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from attached_pods import NETWORKS, assert_kept, contract_of
from each_case import each
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_yaml import OddWriter, Raw

from gpu_fabric.attach.attachment import Wishes, attach_text
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.yaml_documents import read_yaml
from gpu_fabric.findings import InputError

# As `kubectl annotate --local -o json` prints them.
READ_BY_KUBECTL: dict[str, Any] = {
    "12:30:00": "12:30:00",
    "22:22": "22:22",
    "1:2:3.5": "1:2:3.5",
    "1e3": 1000,
    "12e03": 12000,
    "0o14": 12,
    "014": 12,
    "-0o14": -12,
    "08": 8,
    "0x1F": 31,
    "0b11": 3,
    "1_000": 1000,
    ".5": 0.5,
    "1e999": "1e999",
    "y": True,
    "Y": True,
    "n": False,
    "off": False,
    "~": None,
    "null": None,
    "2026-01-01": "2026-01-01",
    "2026-02-31": "2026-02-31",
    "2026-01-01T10:00:00Z": "2026-01-01T10:00:00Z",
    "=": "=",
    "NaN": "NaN",
    "0b2": "0b2",
    "_1": "_1",
    "-": "-",
    "!!str 5": "5",
    "!!float 3": 3,
    "!!binary aGk=": "hi",
}
SHARED = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: shared}}
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - name: mpi
            env: &settings {env}
    Worker:
      template:
        spec:
          containers:
          - name: mpi
            resources: {{limits: {{nvidia.com/gpu: 8}}}}
            env: *settings
"""


def read(text: str) -> Any:
    (document,) = read_yaml(text.removeprefix("\ufeff"))
    return document.content


@each("text", READ_BY_KUBECTL)
def test_a_scalar_says_what_it_says_to_kubectl(text: str) -> None:
    found = read(f"a: {text}\n")["a"] if text != "-" else read("a: [-, -]\n")["a"][0]

    assert (found, isinstance(found, bool)) == (READ_BY_KUBECTL[text], isinstance(READ_BY_KUBECTL[text], bool))


@each("text", [text for text in READ_BY_KUBECTL if text != "-"])
@each("form", ["\n            - name: A\n              value: {}", "[{{name: A, value: {}}}]"])
def test_a_scalar_says_the_same_where_an_alias_is_written_out(text: str, form: str) -> None:
    written = SHARED.format(env=form.format(text))
    result = attach_text(written, contract_of("dev")).text
    roles = read(result)["spec"]["mpiReplicaSpecs"]
    (launcher,) = (roles[role]["template"]["spec"]["containers"][0] for role in ["Launcher"])
    worker = roles["Worker"]["template"]["spec"]["containers"][0]

    assert len(worker["env"]) > len(launcher["env"]) == 1
    assert launcher["env"][0]["value"] == worker["env"][0]["value"] == READ_BY_KUBECTL[text]
    if not text.startswith("!!"):
        # The source text is copied, for readers that take it otherwise.
        assert len(re.findall(rf"value: {re.escape(text)}(?=}}|$)", result, re.M)) == 2


@pytest.mark.parametrize("header", ["|", "|+", "|-", ">", "| # said", "|2", ">2+", "!!str |"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_text_in_a_block_at_the_very_end_stays_as_it_is(header: str, line_end: str) -> None:
    head = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: main\n"
    text = head + f"    resources: {{limits: {{nvidia.com/gpu: 8}}}}\n    args:\n    - {header}\n        torchrun a.py"
    text = text.replace("\n", line_end)
    result = attach_text(text, contract_of("dev")).text

    assert read(result)["spec"]["containers"][0]["args"] == read(text)["spec"]["containers"][0]["args"]
    assert attach_text(result, contract_of("dev")).text == result


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\n"
FORMS = {
    "a merge key in brackets": "x: &b {image: x}\n"
    + POD
    + "spec:\n  containers: [{<<: *b, name: main, resources: {limits: {nvidia.com/gpu: 8}}}]\n",
    "a merge key in brackets that brings brackets": POD
    + "spec:\n  containers: [{<<: {image: x}, name: main, resources: {limits: {nvidia.com/gpu: 8}}}]\n",
    "a byte-order mark and brackets": "\ufeff"
    + POD
    + "spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]}\n",
    "explicit keys": "? apiVersion\n: v1\n? kind\n: Pod\n? spec\n: ? containers\n  : - ? name\n      : main\n"
    "      ? resources\n      : limits:\n          nvidia.com/gpu: 8\n",
    "tags before collections": "--- !!map\n"
    + POD
    + "spec: !!map\n  containers: !!seq\n  - !!map {name: main, resources: {limits: {nvidia.com/gpu: !!int 8}}}\n",
    "an anchor defined twice": POD
    + "spec:\n  initContainers:\n  - {name: i, env: &e [{name: A, value: b}]}\n  containers:\n"
    + "  - name: main\n    env: &e [{name: C, value: d}]\n    resources: {limits: {nvidia.com/gpu: 8}}\n"
    + "  - {name: side, env: *e}\n",
    "an equals sign": POD
    + "spec:\n  containers:\n  - {name: main, args: [=], resources: {limits: {nvidia.com/gpu: 8}}}\n",
    "a date that is none": POD
    + "since: 2026-02-31\nspec:\n  containers:\n  - {name: main, resources: {limits: {nvidia.com/gpu: 8}}}\n",
}


@pytest.mark.parametrize("stack", ["dev", "host-network"])
@pytest.mark.parametrize("text", FORMS.values(), ids=list(FORMS))
def test_a_form_that_kubectl_reads_is_attached(text: str, stack: str) -> None:
    result = attach_text(text, contract_of(stack)).text

    assert_kept(read(text), read(result))
    assert "nccl" in result
    assert attach_text(result, contract_of(stack)).text == result


plain = st.sampled_from([Raw(text) for text in READ_BY_KUBECTL if text != "-"])
variables = st.lists(st.fixed_dictionaries({"name": st.sampled_from(["A", "B"]), "value": plain | st.just("a b")}))
some = st.sampled_from([{}, None, {"k": "v"}, {"runAsUser": 0}])
shared = st.fixed_dictionaries({}, optional={"env": variables, "securityContext": some, "args": st.lists(plain)})


@st.composite
def odd_workloads(draw: st.DrawFn) -> dict[str, Any]:
    """An MPIJob or a Pod in which the same parts come more than once."""
    common = draw(shared)
    gpus = {
        "resources": draw(st.sampled_from([{"limits": {"nvidia.com/gpu": 8}}, {"requests": {"nvidia.com/gpu": "8"}}]))
    }
    order = draw(st.booleans())
    main = {"name": "main", **common, **gpus} if order else {"name": "main", **gpus, **common}
    pod: dict[str, Any] = {"initContainers": [{"name": "init", **common}], "containers": [main]}
    if draw(st.booleans()):
        pod = dict(reversed(pod.items()))
    metadata = draw(st.sampled_from([{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"labels": {"a": "b"}}}]))
    if draw(st.booleans()):
        return {"apiVersion": "v1", "kind": "Pod", **metadata, "spec": pod}
    launcher = {"containers": [{"name": "other", **common}]}
    roles = {
        "Launcher": {"template": {"spec": launcher}},
        "Worker": {"replicas": 2, "template": {**metadata, "spec": pod}},
    }
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "spec": {"mpiReplicaSpecs": roles}}


@pytest.mark.parametrize("stack", ["dev", "host-network"])
def test_any_form_is_attached_once_and_loses_nothing(stack: str) -> None:
    contract = contract_of(stack)

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(odd_workloads(), st.randoms())
    def holds(content: dict[str, Any], chance: random.Random) -> None:
        text = OddWriter(chance).text(content)
        before = read(text)
        try:
            result = attach_text(text, contract, Wishes(("main",))).text
        except (AttachError, InputError) as error:
            raise AssertionError(f"{error}\n{text}") from None
        assert_kept(before, read(result))
        assert NETWORKS in result or stack == "host-network"
        assert text.count("# said") == result.count("# said")
        assert attach_text(result, contract, Wishes(("main",))).text == result

    holds()
