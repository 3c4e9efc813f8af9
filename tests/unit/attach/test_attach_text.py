"""Manifests as text: in whatever way they are written, they are read as kubectl reads them, and nothing is lost."""

import json
import random
import re
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS, assert_kept, contract_of, documents_of, meant, text_of
from each_case import each
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_yaml import OddWriter, Raw

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.text.manifests import attach_text, detach_text
from gpu_fabric.attach.text.yaml_documents import read_yaml
from gpu_fabric.findings import InputError

STACKS = ["dev", "host-network", "examples/spiderpool-ib"]
HEAD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: one\n"
MAIN = "spec:\n  containers:\n  - name: main\n"
POD = HEAD + MAIN
GPUS = "    resources:\n      limits:\n        nvidia.com/gpu: 8\n"
ON_A_LINE = "resources: {limits: {nvidia.com/gpu: 8}}"
ARGS = POD + GPUS + "    args:\n    - "
OWN_NETWORKS = HEAD + "  annotations:\n    k8s.v1.cni.cncf.io/networks: "
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n"
TEMPLATE = "  template:\n    spec:\n      containers:\n      - name: main\n"
OF_TEMPLATE = "".join(f"    {line}\n" for line in GPUS.splitlines())
SERVICE = "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n"
REPLICAS = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: m\nspec:\n  pytorchReplicaSpecs:\n"
TRAINS = "spec:\n          containers:\n          - name: pytorch\n" + "".join(
    f"        {line}\n" for line in GPUS.splitlines()
)
POD_AS_DATA: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 8}}}]},
}

# What goes out leaves these as they were, to the byte.
SAME_TEXT = {
    "text in a block that ends with empty lines": ARGS + "|+\n      a\n      b\n\n\n",
    "text in a block before another document": ARGS + "|+\n      a\n\n---\n" + SERVICE,
    "text with its own indentation": ARGS + "|2\n        x\n      y\n",
    "a line of text that looks like a comment": ARGS + "|\n      x\n      # text\n    # said\n",
    "a sentence over many lines": ARGS + "\n      ".join(["word"] * 300) + "\n",
    "folded text at the end": POD + "    args:\n    - >-\n      x\n      y",
    "text in each style": POD
    + "    args:\n    - |\n      one\n\n        two\n    - plain text over\n      two lines\n",
    "a list over lines": POD + "    args: [sh, -c,\n      'a b', # why\n      \"c\\td\",]\n# the end\n",
    "line ends of Windows": (POD + "    # said\n" + GPUS.rstrip() + " # eight\n").replace("\n", "\r\n"),
    "line ends of both sorts": (POD + GPUS).replace("main\n", "main\r\n").replace("limits:\n", "limits:\r\n"),
    "line ends of old Macs": POD.replace("\n", "\r"),
    "a kept last line of Windows": (POD + "    args:\n    - >+\n      text\n\n").replace("\n", "\r\n"),
    "a kept last line of old Macs": (POD + "    args:\n    - >+\n      text\n").replace("\n", "\r"),
    "a byte-order mark": "\ufeff" + POD + GPUS,
    "no line end at the end": POD + GPUS.rstrip(),
    "a comment without a line end at the end": POD + GPUS.rstrip() + " # eight",
    "no line end, as Windows writes": (POD + GPUS.rstrip()).replace("\n", "\r\n"),
    "a directive": "%YAML 1.1\n---\n" + POD + "...\n# end\n",
    "a list": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata:\n    name: s\n"
    "- apiVersion: batch/v1\n  kind: Job\n  metadata:\n    generateName: train-\n  spec:\n"
    + "".join(f"  {line}\n" for line in (TEMPLATE + OF_TEMPLATE).splitlines()),
    "a list in a list": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - "
    + POD.replace("\n", "\n    ").rstrip(" "),
    "null metadata": DEPLOYMENT.replace("  name: d\n", "").replace("metadata:\n", "metadata: null\n")
    + "  strategy:\n"
    + TEMPLATE.replace("    spec:", "    metadata:\n    spec:\n      nodeSelector:")
    + "        env:\n"
    + OF_TEMPLATE,
    "empty mappings and lists": HEAD.replace("  name: one\n", "  name: one\n  annotations: {}\n  labels: {}\n")
    + "spec:\n  nodeSelector: {}\n  tolerations: []\n  securityContext: {}\n  containers:\n  - name: main\n"
    "    env: []\n    volumeMounts: []\n" + GPUS + "      requests: {}\n  volumes: []\n",
    "an empty mapping with a comment": POD + "    resources: {}   # to be filled\n    image: a   # last\n",
    "an empty mapping inside": POD + "    resources:\n      limits:\n    image: a   # last\n",
    "capabilities that add none": POD
    + "    securityContext:\n      capabilities:\n        add: []\n        drop: [ALL]\n"
    + GPUS,
    "comments everywhere": "# head\n---\n# a document of comments\n---\n"
    + HEAD.replace("metadata:", "metadata: # said\n  # before")
    + "spec: # said\n  containers: # said\n    # before\n    - # first\n      name: main\n      # inside\n"
    "      resources: # said\n        # deep\n        limits:\n          nvidia.com/gpu: 8\n        # behind limits\n"
    "      # behind resources\n    # behind the container\n# between\n--- # second\n"
    + DEPLOYMENT
    + TEMPLATE
    + OF_TEMPLATE
    + "# tail\n...\n# very tail\n",
    "four columns": "apiVersion: batch/v1\nkind: Job\nmetadata:\n    name: one\nspec:\n    template:\n        spec:\n"
    "            containers:\n              - name: main\n                resources:\n                    limits:\n"
    "                        nvidia.com/gpu: 8\n",
    "wide dashes": HEAD + "spec:\n  containers:\n  -   name: main\n"
    "      resources:\n        limits:\n          nvidia.com/gpu: 8\n  -   name: side\n",
    "dashes on lines of their own": POD.replace("- name", "-\n    name") + GPUS,
    "blanks at line ends": (POD + GPUS).replace(":\n", ":  \n").replace("main\n", "main   \n") + "   \n",
    "tabs behind values": POD.rstrip() + "\t# tab\n    image: a\t\n",
    "quotes around all": (POD + GPUS)
    .replace("  name: one", "  'name': \"one\"")
    .replace("nvidia.com/gpu: 8", "\"nvidia.com/gpu\": '8'"),
    "letters of other scripts": POD.replace("one", "日本🚀") + "    args: ['\u2028', \"\\u00e9\", ü]   # größe 🚀\n",
    "a next-line character": POD + "    image: a\x85    tty: true\n",
    "no networks": OWN_NETWORKS + '""\n' + MAIN + GPUS,
    "networks with letters of other scripts": OWN_NETWORKS
    + """'[{"name": "nfs", "interface": "nfs0", "x": "é"}]'\n"""
    + MAIN,
    "a strategy": DEPLOYMENT + "  strategy:\n    type: RollingUpdate\n" + TEMPLATE + OF_TEMPLATE,
    "a claim of the fabric's name": DEPLOYMENT.replace("Deployment", "StatefulSet")
    + TEMPLATE
    + "  volumeClaimTemplates:\n  - metadata: {name: shared-memory}\n",
    "anchors that nothing means": (POD + GPUS)
    .replace("containers:", "containers: &all   # pod")
    .replace("- name", "- &c\n    name"),
    "an anchor on a line of its own": POD + GPUS.replace("resources:\n", "resources:\n      &r\n"),
    "an alias as a key": "x: &k spec\n" + HEAD + "*k :\n  containers:\n  - name: main\n",
    "an alias of a whole pod": REPLICAS + f"    Master:\n      template: &t\n        {TRAINS}"
    "    Worker:\n      replicas: 2\n      template: *t\n",
    "a replica by a merge key": REPLICAS + f"    Master: &m\n      template:\n        {TRAINS}"
    "    Worker:\n      <<: *m\n      replicas: 2\n",
    "requests that are the limits": POD + "    resources: {limits: &l {nvidia.com/gpu: 8}, requests: *l}\n",
    "explicit keys": "? apiVersion\n: v1\n? kind\n: Pod\n? spec\n: ? containers\n  : - ? name\n      : main\n"
    "      ? resources\n      : limits:\n          nvidia.com/gpu: 8\n",
    "tags before blocks": "apiVersion: v1\nkind: Pod\nspec: !!map\n    containers: !!seq # all\n    - !!map\n"
    "      name: !!str main\n",
    "brackets over several lines": HEAD + "spec:\n  containers: [\n    {\n      name: main, # said\n"
    f"      {ON_A_LINE},\n    }},\n    # behind\n  ]   # all\n",
    "brackets at the margin": HEAD + "spec:\n  containers: [\n{name: main}\n]\n",
    "all of it in brackets": "{\n  apiVersion: v1, # said\n  kind: Pod,\n  metadata: {name: one},\n  spec: {\n"
    f"    containers: [\n      {{name: main, {ON_A_LINE}}},\n    ],\n  }},\n}}\n",
    "all of it in brackets on one line": "# one\n--- {apiVersion: v1, kind: Pod, spec: {containers: [{name: main}]}}"
    "   # dense\n",
    "JSON inside YAML": HEAD
    + 'spec:\n  {\n    "containers": [\n      {\n        "name": "main"\n      }\n    ]\n  }\n',
    "JSON before YAML": json.dumps(POD_AS_DATA, indent=4) + "\n---\n" + SERVICE,
    "JSON with a comment behind it": json.dumps(POD_AS_DATA) + "\n# said\n",
    "JSON": json.dumps(POD_AS_DATA, indent=4) + "\n",
    "JSON with tabs": json.dumps(POD_AS_DATA, indent="\t"),
    "JSON on one line": json.dumps(POD_AS_DATA, separators=(",", ":")),
    "JSON as Windows writes": json.dumps(POD_AS_DATA, indent=4).replace("\n", "\r\n"),
    "a list in JSON": json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD_AS_DATA]}, indent=2),
}
# These say the same afterwards: brackets on one line were opened, aliases and blocks written out.
SAME_CONTENT = {
    "brackets on one line": HEAD + f"spec: {{containers: [{{name: main, {ON_A_LINE}}}]}}\n",
    "a byte-order mark and brackets": "\ufeff" + HEAD + f"spec: {{containers: [{{name: main, {ON_A_LINE}}}]}}\n",
    "brackets that are empty": HEAD + "spec: {containers: [{name: main, env: [], resources: {}}], volumes: []}\n",
    "requests that merge the limits": POD
    + "    resources:\n      limits: &l\n        nvidia.com/gpu: 8\n      requests:\n        <<: *l\n        cpu: 4\n",
    "the environment of two": POD
    + "    env: &e\n    - name: A\n      value: '1'\n"
    + GPUS
    + "  - name: side\n    env: *e\n",
    "an anchor defined twice": HEAD
    + "spec:\n  initContainers:\n  - {name: i, env: &e [{name: A, value: b}]}\n  containers:\n"
    + f"  - name: main\n    env: &e [{{name: C, value: d}}]\n    {ON_A_LINE}\n  - {{name: side, env: *e}}\n",
    "a base beside": "x-base: &b\n  env: [{name: A, value: b}]\n" + POD.replace("- name", "- <<: *b\n    name") + GPUS,
    "a merge key in brackets": "x: &b {image: x}\n"
    + HEAD
    + f"spec:\n  containers: [{{<<: *b, name: main, {ON_A_LINE}}}]\n",
    "a merge key that brings brackets": HEAD
    + f"spec:\n  containers: [{{<<: {{image: x}}, name: main, {ON_A_LINE}}}]\n",
    "an anchor on an empty mapping": POD + "    resources: &r {}\n  initContainers:\n  - {name: i, resources: *r}\n",
    "an anchor without a value": POD + "    resources: &r\n    image: a # last\n",
    "one document twice by an alias": "apiVersion: v1\nkind: List\nitems:\n- &p\n  apiVersion: v1\n  kind: Pod\n"
    f"  metadata: {{name: a}}\n  spec:\n    containers:\n    - name: main\n      {ON_A_LINE}\n- *p\n",
    "tags before collections": f"--- !!map\n{HEAD}spec: !!map\n  containers: !!seq\n"
    "  - !!map {name: main, resources: {limits: {nvidia.com/gpu: !!int 8}}}\n",
    "text in a block at the very end": ARGS + "|\n      a\n      b",
    "networks in a block of JSON": OWN_NETWORKS
    + '|\n      [\n        {"name": "nfs", "interface": "nfs0"}\n      ]\n'
    + MAIN,
    "networks as folded names": OWN_NETWORKS + ">-\n      nfs@nfs0,\n      other@o0\n" + MAIN,
    "networks without a value": OWN_NETWORKS + "\n" + MAIN,
    "nulls that are written": POD + "    env: ~   # none yet\n    volumeMounts: null # none\n" + GPUS,
    "an empty mapping on the next line": POD + "    resources:\n      # none\n      {}\n    image:\n      a\n",
    "empty limits": POD + "    resources: {limits: }\n    image: a   # last\n",
    "a selector without a value": POD + "  nodeSelector:\n    node.kubernetes.io/instance-type:\n",
    "empty documents": POD + GPUS + "...\n---\n# empty\n---\n...\n---\n" + POD + GPUS,
    "numbers for text": POD.replace("name: main", "name: 5") + "    resources: {limits: {nvidia.com/gpu: 7.5}}\n",
    "an equals sign": HEAD + f"spec:\n  containers:\n  - {{name: main, args: [=], {ON_A_LINE}}}\n",
    "a date that is none": HEAD + f"since: 2026-02-31\nspec:\n  containers:\n  - {{name: main, {ON_A_LINE}}}\n",
    **{
        f"text of {header} at the very end{line_end!r}": (ARGS + f"{header}\n        a b").replace("\n", line_end)
        for header in ("|+", "|-", ">", "| # said", "|2", ">2+", "!!str |")
        for line_end in ("\n", "\r\n")
    },
}
TEXTS = SAME_TEXT | SAME_CONTENT
# Another reader takes these for no YAML.
KUBECTL_ALONE = {"an anchor defined twice", "an equals sign", "a date that is none"}


def contents(text: str) -> list[Any]:
    """What a text says to kubectl."""
    text = text.removeprefix("\ufeff")
    return [json.loads(text)] if text.endswith("}") else [one.content for one in read_yaml(text)]


# Spiderpool's webhook installs all networks, and accepts no others.
PLACED = [(name, stack) for stack in STACKS for name in TEXTS if stack != STACKS[2] or "networks" not in name]


@each(("name", "stack"), PLACED)
def test_attached_twice_is_attached_once_and_detached_is_as_before(name: str, stack: str) -> None:
    text = TEXTS[name]
    wishes = AttachOptions(meant(text).containers, stamped=True)
    once = attach_text(text, contract_of(stack), wishes).text
    detached = detach_text(once)

    assert once != text
    assert_kept(contents(text), contents(once))
    assert [comment for comment in re.findall(r"# .*", text) if comment.rstrip() not in once] == []
    assert text.count("\r\n") != text.count("\n") or once.count("\r\n") == once.count("\n")
    assert attach_text(once, contract_of(stack), wishes).text == once
    assert contents(detached) == contents(text)
    if name in SAME_TEXT:
        assert detached == text
    if "JSON" not in name and name not in KUBECTL_ALONE:
        assert documents_of(once.removeprefix("\ufeff")) == contents(once)


REFUSED = {
    "line 1: no YAML": ("a: [", "a: *nowhere\n"),
    "the key a is there twice": ("a: 1\na: 2\n", '{"a": 1, "a": 2}'),
    "line 1: its aliases lead in a circle": ("a: &a [*a]\n",),
    "line 1: the tag !python/object:os.system is not known": ("a: !python/object:os.system {}\n",),
    "line 1: the tag !python/name:os.system does not fit": ("a: !python/name:os.system x\n",),
    "line 1: the tag tag:yaml.org,2002:int does not fit": ("a: !!int x\n",),
    "a key must be text": ("~: a\n", "? [a, b]\n: c\n"),
    "a merge key takes a mapping": ("<<: 3\n",),
    "line 4: what is merged has keys that stand before it: b": ("a: &a {b: 1}\nc:\n  b: 2\n  <<: *a\n",),
    "no YAML": ("a: \x00\n", POD.replace("main", "main\x0c"), HEAD + "spec:\n\tcontainers:\n"),
    "too deep": ("a: " + "[" * 5000, '{"a":' * 9000 + "1" + "}" * 9000, '{"a":' * 701 + "1" + "}" * 701),
    "error ATT001: ": (
        POD + "    image: {{ .Values.image }}\n",
        POD + '    args: ["\\ud800"]\n',
        POD + "    x: !!set {a}\n",
        # Aliases that multiply.
        "\n".join(
            ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
            + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
        ),
    ),
    "error ATT005 ": (f"[{json.dumps(POD_AS_DATA)}]",),
    "error ATT008 ": (
        "apiVersion: v1\nkind: List\nitems:\n- null\n",
        POD + "  tolerations:\n  - null\n",
        POD.replace("name: one", "namespace: 5"),
        POD + "    volumeMounts:\n    - {name: a, mountPath: [/dev/shm]}\n",
        HEAD + "  annotations: [a]\n" + MAIN,
        OWN_NETWORKS + "5\n" + MAIN,
    ),
}


@each(("said", "text"), [(said, text) for said, texts in REFUSED.items() for text in texts])
def test_what_cannot_be_read_is_refused_with_its_line_or_rule(said: str, text: str) -> None:
    with pytest.raises((AttachError, InputError), match=re.escape(said)):
        attach_text(text, contract_of("dev"), meant(text))


def attached(text: str, *containers: str) -> str:
    return attach_text(text, contract_of("dev"), AttachOptions(containers) if containers else meant(text)).text


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n---\n...\n", " \r\n"])
def test_nothing_stays_nothing(text: str) -> None:
    assert attached(text) == text


def test_the_users_indentation_is_taken_up() -> None:
    wide = HEAD.replace("  name", "    name") + "spec:\n    containers:\n        - name: main\n          image: a\n"

    assert "\n          env:\n              - name: NCCL" in attached(wide)
    assert "\n    env:\n    - name: NCCL" in attached(POD)
    assert "\n      env:\n      -   name: NCCL" in attached(POD.replace("- name", "-   name"))


def test_what_is_added_stands_before_the_comments_of_what_follows() -> None:
    result = attached(text_of("deployment.yaml"))

    assert "\n              nvidia.com/rail_15: '1'\n" in result
    assert result.index("nvidia.com/rail_15") < result.index("# weights come from the store")
    assert "nvidia.com/gpu: 8   # all of a node\n" in result


def test_brackets_are_opened_rather_than_made_long_unless_all_is_in_them() -> None:
    opened = attached(HEAD + 'spec:\n  containers: [{name: "main", image: a}]\n')
    dense = attached(SAME_TEXT["all of it in brackets on one line"])

    assert '  - name: "main"\n' in opened
    assert max(len(line) for line in opened.splitlines() if "rail-00" not in line) < 120
    assert dense.count("\n") == 2


def roles_of(text: str) -> dict[str, Any]:
    specs = read_yaml(text)[0].content["spec"]
    replicas = specs.get("pytorchReplicaSpecs") or specs["mpiReplicaSpecs"]
    return {role: replica["template"]["spec"]["containers"][0] for role, replica in replicas.items()}


def test_an_alias_stays_where_both_places_get_the_same() -> None:
    result = attached(text_of("pytorchjob.yaml"))

    assert result.count("*eight") == 1
    assert roles_of(result)["Worker"]["resources"] == roles_of(result)["Master"]["resources"]


SHARED = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: shared}}
spec:
  mpiReplicaSpecs:
    {first}:
      template:
        spec:
          containers:
          - name: mpi
            env: &settings {env}
    {second}:
      template:
        spec:
          containers:
          - name: mpi
            env: *settings   # the same
"""


@pytest.mark.parametrize(("first", "second"), [("Launcher", "Worker"), ("Worker", "Launcher")])
def test_an_alias_is_written_out_where_only_one_of_its_places_gets_the_fabric(first: str, second: str) -> None:
    result = attached(SHARED.format(first=first, second=second, env="[{name: A, value: b}]"), "worker")
    names = {role: {entry["name"] for entry in container["env"]} for role, container in roles_of(result).items()}

    assert names["Launcher"] == {"A"}
    assert names["Worker"] > {"A", "NCCL_IB_HCA"}
    assert "# the same" in result


def test_what_a_merge_key_brings_is_added_to_beside_it() -> None:
    result = attached(
        HEAD + "spec:\n  initContainers:\n  - &base\n    name: init\n    securityContext: {runAsUser: 1000}\n"
        "  containers:\n  - <<: *base\n    name: main\n"
    )
    pod = yaml.safe_load(result)["spec"]

    assert "- <<: *base\n" in result
    assert pod["initContainers"] == [{"name": "init", "securityContext": {"runAsUser": 1000}}]
    assert pod["containers"][0]["securityContext"] == {"runAsUser": 1000, "capabilities": {"add": ["IPC_LOCK"]}}


def test_several_json_objects_one_behind_another_are_several_documents() -> None:
    service = '{"apiVersion":"v1",  "kind":"Service"}\n'
    pod = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"\\ud83dµ"},"spec":{"containers":[{"name":"main"}]}}'
    result = attached(service + pod)

    assert result.startswith(service)
    # Half a character stays escaped.
    assert result.encode()
    assert json.loads(result[len(service) :])["metadata"]["name"] == "\ud83dµ"
    assert NETWORKS in json.loads(result[len(service) :])["metadata"]["annotations"]


def test_a_file_of_thousands_of_documents_stays_to_the_byte_around_the_one_that_trains() -> None:
    other = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name:   c}\ndata:\n  a: |\n" + "    a line of text\n" * 20
    result = attached(other * 1000 + "---\n" + POD + GPUS + other * 1000)

    assert result.startswith(other * 1000)
    assert result.endswith(other * 1000)


# As `kubectl annotate --local -o json` prints them.
READ_BY_KUBECTL: dict[str, Any] = {
    "12:30:00": "12:30:00", "22:22": "22:22", "1:2:3.5": "1:2:3.5", "1e3": 1000, "12e03": 12000, "0o14": 12,
    "014": 12, "-0o14": -12, "08": 8, "0x1F": 31, "0b11": 3, "1_000": 1000, ".5": 0.5, "1e999": "1e999", "y": True,
    "Y": True, "n": False, "off": False, "~": None, "null": None, "2026-01-01": "2026-01-01",
    "2026-02-31": "2026-02-31", "2026-01-01T10:00:00Z": "2026-01-01T10:00:00Z", "=": "=", "NaN": "NaN",
    "0b2": "0b2", "_1": "_1", "-": "-", "!!str 5": "5", "!!float 3": 3, "!!binary aGk=": "hi",
}  # fmt: skip


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
    result = attached(SHARED.format(first="Launcher", second="Worker", env=form.format(text)), "worker")
    launcher, worker = roles_of(result).values()

    assert len(worker["env"]) > len(launcher["env"]) == 1
    assert launcher["env"][0]["value"] == worker["env"][0]["value"] == READ_BY_KUBECTL[text]
    if not text.startswith("!!"):
        # The source text is copied, for readers that take it otherwise.
        assert len(re.findall(rf"value: {re.escape(text)}(?=}}|$)", result, re.M)) == 2


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
def test_any_form_says_the_same_as_data_is_attached_once_and_loses_nothing(stack: str) -> None:
    contract = contract_of(stack)

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(odd_workloads(), st.randoms())
    def holds(content: dict[str, Any], chance: random.Random) -> None:
        text = OddWriter(chance).text(content)
        before = read(text)
        try:
            result = attach_text(text, contract, AttachOptions(("main",))).text
        except (AttachError, InputError) as error:
            raise AssertionError(f"{error}\n{text}") from None
        assert_kept(before, read(result))
        assert (read(result),) == attach([before], contract, AttachOptions(("main",))).documents
        assert text.count("# said") == result.count("# said")
        assert attach_text(result, contract, AttachOptions(("main",))).text == result

    holds()
