"""Manifests as text: whatever way a user writes YAML, what is not changed stays to the byte."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS, meant, text_of

from gpu_fabric.attach.attachment import Wishes, attach_text
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import InputError
from gpu_fabric.plan import Plan


@pytest.fixture(scope="module")
def contract(dev_plan: Plan) -> FabricContract:
    return dev_plan.workload


HEAD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: one\nspec:\n"


def attached(text: str, contract: FabricContract, *containers: str) -> str:
    """The result, which must mean the same in both forms of reading and change no second time."""
    wishes = Wishes(containers) if containers else meant(text)
    result = attach_text(text, contract, wishes).text
    assert attach_text(result, contract, wishes).text == result
    return result


def container_of(text: str) -> dict[str, Any]:
    (document, *_) = yaml.safe_load_all(text)
    found: dict[str, Any] = document["spec"]["containers"][0]
    return found


def test_windows_line_ends_stay(contract: FabricContract) -> None:
    result = attached(text_of("deployment.yaml").replace("\n", "\r\n"), contract)

    assert result.count("\r\n") == result.count("\n")
    assert result.replace("\r\n", "\n") == attached(text_of("deployment.yaml"), contract)


def test_windows_line_ends_of_json_stay(contract: FabricContract) -> None:
    result = attached(text_of("job.json").replace("\n", "\r\n"), contract)

    assert result.count("\r\n") == result.count("\n")


def test_a_byte_order_mark_and_a_missing_last_line_end_stay(contract: FabricContract) -> None:
    result = attached("\ufeff" + text_of("pod.yaml").rstrip("\n"), contract)

    assert result.startswith("\ufeffapiVersion")
    assert not result.endswith("\n")


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n---\n...\n", " \r\n"])
def test_nothing_stays_nothing(contract: FabricContract, text: str) -> None:
    assert attached(text, contract) == text


def test_the_users_indentation_is_taken_up(contract: FabricContract) -> None:
    wide = HEAD.replace("  name", "    name") + "    containers:\n        - name: main\n          image: a\n"
    apart = HEAD + "  containers:\n  -   name: main\n      image: a\n"
    narrow = HEAD + "  containers:\n  - name: main\n    image: a\n"

    assert "\n          env:\n              - name: NCCL" in attached(wide, contract)
    assert "\n    env:\n    - name: NCCL" in attached(narrow, contract)
    assert "\n      env:\n      -   name: NCCL" in attached(apart, contract)


def test_what_is_added_stands_before_the_comments_of_what_follows(contract: FabricContract) -> None:
    text = text_of("deployment.yaml")
    result = attached(text, contract)

    assert "                  nvidia.com/rail_15: '1'\n".replace("  " * 9, "  " * 7) in result
    assert result.index("nvidia.com/rail_15") < result.index("# weights come from the store")
    assert "nvidia.com/gpu: 8   # all of a node\n" in result


@pytest.mark.parametrize(
    "resources",
    [
        "resources:",
        "resources: {}",
        "resources: {}   # to be filled",
        "resources: null",
        "resources: ~  # none yet",
        "resources:\n      limits:",
        "resources: {limits: {}}",
        "resources: {limits: }",
        "resources:\n      {}",
    ],
)
def test_a_place_that_is_empty_in_any_way_is_filled(contract: FabricContract, resources: str) -> None:
    text = HEAD + f"  containers:\n  - name: main\n    {resources}\n    image: a   # last\n"
    result = attached(text, contract)

    assert container_of(result)["resources"]["requests"]["nvidia.com/rail_15"] == "1"
    assert all(comment in result for comment in ("# to be filled", "# none yet", "# last") if comment in text)


@pytest.mark.parametrize(
    "command",
    [
        "command: [sh, -c,\n      'a b', # why\n      c]",
        "command:\n    - |\n      one\n\n        two\n    - >-\n      folded\n      text",
        "command:\n    - |+\n      kept\n\n",
        'command: ["a: b", "c\\td"]',
        "command: !!seq [a]",
        "args: [a,\n b,]",
        "command:\n    - plain text over\n      two lines",
    ],
)
def test_text_in_every_style_survives_at_the_end_of_a_container(contract: FabricContract, command: str) -> None:
    text = HEAD + f"  containers:\n  - name: main\n    {command}\n# the end\n"
    result = attached(text, contract)

    before = container_of(text)
    assert {key: container_of(result)[key] for key in before} == before
    assert command.rstrip("\n") in result
    assert "# the end" in result


def test_brackets_on_one_line_are_opened_rather_than_made_long(contract: FabricContract) -> None:
    text = HEAD + '  containers: [{name: "main", image: a}]\n'
    result = attached(text, contract)

    assert '    name: "main"\n' in result.replace("- name", "  name")
    assert max(len(line) for line in result.splitlines() if "rail-00" not in line) < 120


@pytest.mark.parametrize("start", ["", "--- ", "# one\n", "---\n"])
def test_a_document_in_one_pair_of_brackets_stays_so(contract: FabricContract, start: str) -> None:
    text = start + "{apiVersion: v1, kind: Pod, spec: {containers: [{name: main}]}}   # dense\n"
    result = attached(text, contract)

    assert result.startswith(f"{start}{{apiVersion: v1, kind: Pod, spec: ")
    assert result.endswith("   # dense\n")
    assert result.count("\n") == text.count("\n")


def test_brackets_over_several_lines_and_their_comments_stay(contract: FabricContract) -> None:
    text = HEAD + "  containers: [\n    {name: main,   # first\n     image: a}\n  ]   # all\n"
    result = attached(text, contract)

    assert "{name: main,   # first\n     image: a, " in result
    assert result.count("# all") == 1


def test_an_alias_stays_where_both_places_get_the_same(contract: FabricContract) -> None:
    result = attached(text_of("pytorchjob.yaml"), contract)

    assert result.count("*eight") == 1
    assert container_in(result, "Worker")["resources"] == container_in(result, "Master")["resources"]


def container_in(text: str, role: str) -> dict[str, Any]:
    specs = yaml.safe_load(text)["spec"]
    replicas = specs.get("pytorchReplicaSpecs") or specs["mpiReplicaSpecs"]
    found: dict[str, Any] = replicas[role]["template"]["spec"]["containers"][0]
    return found


SHARED = dedent("""\
    apiVersion: kubeflow.org/v2beta1
    kind: MPIJob
    metadata: {name: shared}
    spec:
      mpiReplicaSpecs:
        FIRST:
          template:
            spec:
              containers:
                - name: mpi
                  image: a
                  env: &settings
                    - {name: NCCL_DEBUG, value: INFO}
        SECOND:
          template:
            spec:
              containers:
                - name: mpi
                  image: a
                  env: *settings   # the same
    """)


@pytest.mark.parametrize(("first", "second"), [("Launcher", "Worker"), ("Worker", "Launcher")])
def test_an_alias_is_written_out_where_only_one_of_its_places_gets_the_fabric(
    contract: FabricContract, first: str, second: str
) -> None:
    result = attached(SHARED.replace("FIRST", first).replace("SECOND", second), contract, "worker")

    assert [entry["name"] for entry in container_in(result, "Launcher")["env"]] == ["NCCL_DEBUG"]
    assert "NCCL_IB_HCA" in [entry["name"] for entry in container_in(result, "Worker")["env"]]
    assert "# the same" in result


def test_what_a_merge_key_brings_is_added_to_beside_it(contract: FabricContract) -> None:
    text = dedent("""\
        apiVersion: v1
        kind: Pod
        metadata: {name: merged}
        spec:
          initContainers:
          - &base
            name: init
            image: a
            securityContext: {runAsUser: 1000}
          containers:
          - <<: *base
            name: main
        """)
    result = attached(text, contract)
    pod = yaml.safe_load(result)["spec"]

    assert "- <<: *base\n" in result
    assert pod["initContainers"] == [{"name": "init", "image": "a", "securityContext": {"runAsUser": 1000}}]
    assert pod["containers"][0]["securityContext"] == {"runAsUser": 1000, "capabilities": {"add": ["IPC_LOCK"]}}


def test_a_merge_that_would_bring_the_fabric_elsewhere_is_refused_rather_than_written(contract: FabricContract) -> None:
    text = dedent("""\
        apiVersion: v1
        kind: Pod
        metadata: {name: merged}
        spec:
          containers:
          - &base
            name: main
            resources: {limits: {nvidia.com/gpu: 8}}
          - <<: *base
            name: other
            resources: {}
        """)
    with pytest.raises(InputError, match="cannot be added to; write the workloads in block style, no merge keys"):
        attach_text(text, contract)


def test_values_that_are_no_text_stay_what_they_are(contract: FabricContract) -> None:
    text = HEAD + "  hostPID: off\n  priority: 0x10\n  since: 2026-01-01\n  containers: [{name: main, ready: yes}]\n"
    result = attached(text, contract)

    assert all(line in result for line in ("hostPID: off\n", "priority: 0x10\n", "since: 2026-01-01\n", "ready: yes\n"))


def test_several_json_objects_one_behind_another_are_several_documents(contract: FabricContract) -> None:
    service = '{"apiVersion":"v1",  "kind":"Service"}\n'
    pod = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"µ"},"spec":{"containers":[{"name":"main"}]}}'
    result = attached(service + pod, contract)

    assert result.startswith(service)
    assert '"metadata":{"name":"µ","annotations":' in result
    assert NETWORKS in json.loads(result[len(service) :])["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "line 1: no YAML"),
        ("a: 1\na: 2\n", "line 2: the key a is there twice"),
        ('{"a": 1, "a": 2}', "the key a is there twice"),
        ("a: *nowhere\n", "line 1: no YAML"),
        ("a: &a [*a]\n", "line 1: its aliases lead in a circle"),
        ("a: !python/object:os.system {}\n", "line 1: the tag !python/object:os.system is not known"),
        ("a: !python/name:os.system x\n", "line 1: the tag !python/name:os.system does not fit"),
        ("a: !!int x\n", "line 1: the tag tag:yaml.org,2002:int does not fit"),
        ("~: a\n", "line 1: a key must be text"),
        ("? [a, b]\n: c\n", "a key must be text"),
        ("<<: 3\n", "a merge key takes a mapping"),
        ("a: \x00\n", "no YAML"),
        ("a: " + "[" * 5000, "too deep"),
    ],
)
def test_what_is_no_yaml_is_said_with_its_line(contract: FabricContract, text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        attach_text(text, contract)

    assert said in str(raised.value)


def test_aliases_that_multiply_are_refused_in_little_time(contract: FabricContract) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
    with pytest.raises(InputError, match="too many places"):
        attach_text("\n".join(lines), contract)
