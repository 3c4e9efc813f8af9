"""Manifests as nobody should write them: attached without a loss and once, or refused by a rule; never a crash."""

from __future__ import annotations

import json

import pytest
from attached_pods import assert_kept, contract_of, documents_of, meant
from each_case import each

from gpu_fabric.attach.attachment import Wishes, attach_text
from gpu_fabric.attach.place import AttachError
from gpu_fabric.findings import InputError

HEAD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: one\n"
MAIN = "spec:\n  containers:\n  - name: main\n"
POD = HEAD + MAIN
GPUS = "    resources: {limits: {nvidia.com/gpu: 8}}\n"
JSON = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"one"},"spec":{"containers":[{"name":"main"}]}}'
NETWORKS = HEAD + "  annotations:\n    k8s.v1.cni.cncf.io/networks: "

# Texts that are attached, with pieces that must stand in the result as they are.
ACCEPTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "an anchor on an empty mapping": (
        POD + "    resources: &r {}\n  initContainers:\n  - {name: i, resources: *r}\n",
        (),
    ),
    "an anchor without a value": (POD + "    resources: &r\n    image: a # last\n", ("# last",)),
    "anchors with comments": (
        HEAD + "spec: &s   # pod\n  containers: &c\n  - &m\n    name: main\n",
        ("&s   # pod", "&c", "&m"),
    ),
    "an anchor on a line of its own": (
        POD + "    resources:\n      &r\n      limits:\n        nvidia.com/gpu: 8\n",
        ("&r",),
    ),
    "tags": (HEAD + "spec: !!map\n  containers: !!seq\n  - !!map\n    name: !!str main\n", ("!!map", "!!seq")),
    "an alias as a key": ("x: &k spec\n" + HEAD + "*k :\n  containers:\n  - name: main\n", ("*k :",)),
    "one document twice by an alias": (
        "apiVersion: v1\nkind: List\nitems:\n- &p\n  apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
        "  spec:\n    containers:\n    - name: main\n      resources: {limits: {nvidia.com/gpu: 8}}\n- *p\n",
        ("- *p",),
    ),
    "merge keys in a list": ("x: &b {image: a}\ny: &c {tty: true}\n" + POD + "    <<: [*b, *c]\n", ("[*b, *c]",)),
    "tabs behind values": (
        HEAD + "spec:\n  containers:\n  - name: main\t# tab\n    image: a\t\n",
        ("main\t# tab", "a\t\n"),
    ),
    "letters of other scripts": (
        POD.replace("one", "日本🚀") + "    args: ['\u2028', é]   # größe 🚀\n",
        ("# größe 🚀",),
    ),
    "a next-line character": (POD + "    image: a\x85    tty: true\n", ()),
    "a byte-order mark": ("\ufeff" + POD, ("\ufeffapi",)),
    "line ends of two sorts": (HEAD.replace("\n", "\r\n") + MAIN, ("kind: Pod\r\n", "spec:\n")),
    "Windows without a last line end": (POD.rstrip().replace("\n", "\r\n"), ("- name: main\r\n",)),
    "a directive": ("%YAML 1.1\n---\n" + POD + "...\n# end\n", ("%YAML 1.1\n---\n", "...\n# end\n")),
    "empty documents": (
        POD + GPUS + "...\n---\n# empty\n---\n...\n---\n" + POD + GPUS,
        ("...\n---\n# empty\n---\n...\n---\n",),
    ),
    "explicit keys": (HEAD + "? spec\n: containers:\n  - name: main\n", ("? spec\n: containers:",)),
    "keys in quotes": (HEAD + '"spec":\n  \'containers\':\n  - "name": main\n', ("\"spec\":\n  'containers':",)),
    "comments at odd places": (
        "# 1\napiVersion: v1 # 2\n# 3\nkind: Pod\nmetadata: # 4\n  # 5\n  name: one # 6\n  # 7\n# 8\nspec: # 9\n"
        "  # 10\n  containers: # 11\n  # 12\n  - # 13\n    # 14\n    name: main # 15\n    # 16\n    image: a\n"
        "    # 17\n  # 18\n# 19\n",
        tuple(f"# {number}" for number in range(1, 20)),
    ),
    "a comment without a line end": (POD.rstrip() + " # x", ("# x",)),
    "a dash alone": (HEAD + "spec:\n  containers:\n  -\n    name: main\n", ("  -\n    name: main",)),
    "brackets over lines with a last comma": (
        HEAD + "spec: {\n  containers: [\n    {\n      name: main,\n    },\n  ],\n}\n",
        (),
    ),
    "brackets at the margin": (HEAD + "spec:\n  containers: [\n{name: main}\n]\n", ()),
    "brackets that are empty": (HEAD + "spec: {containers: [{name: main, env: [], resources: {}}], volumes: []}\n", ()),
    "JSON inside YAML": (
        HEAD + 'spec:\n  {\n    "containers": [\n      {\n        "name": "main"\n      }\n    ]\n  }\n',
        (),
    ),
    "text that keeps its line ends": (POD + "    args:\n    - |+\n      x\n\n\n\n", ("- |+\n      x\n",)),
    "text with its own indentation": (POD + "    args:\n    - |2\n        x\n      y\n", ("- |2\n        x\n",)),
    "folded text at the end": (POD + "    args:\n    - >-\n      x\n      y", ("- >-\n      x\n      y",)),
    "a line of text that looks like a comment": (
        POD + "    args:\n    - |\n      x\n      # text\n    # said\n",
        ("      # text\n",),
    ),
    "an empty mapping on the next line": (
        POD + "    resources:\n      # none\n      {}\n    image:\n      a\n",
        ("image:\n      a",),
    ),
    "a long word": (POD + f"    args: ['{'x y ' * 20000}']\n", ("x y " * 20000,)),
    "a sentence over many lines": (
        POD + "    args:\n    - " + "\n      ".join(["word"] * 300) + "\n",
        ("word\n      word",),
    ),
    "networks without a value": (NETWORKS + "\n" + MAIN, ()),
    "networks as indented JSON": (
        NETWORKS + '|-\n      [\n       {"name": "nfs", "interface": "nfs0"}\n      ]\n' + MAIN,
        (),
    ),
    "networks with letters of other scripts": (
        NETWORKS + """'[{"name": "nfs", "interface": "nfs0", "x": "é"}]'\n""" + MAIN,
        ("é",),
    ),
    "a selector without a value": (POD + "  nodeSelector:\n    node.kubernetes.io/instance-type:\n", ()),
    "a claim of the fabric's name": (
        "apiVersion: apps/v1\nkind: StatefulSet\nspec:\n  template:\n    spec:\n      containers:\n      - name: main\n"
        "  volumeClaimTemplates:\n  - metadata: {name: shared-memory}\n",
        ("name: fabric-shared-memory",),
    ),
    "line ends of old Macs": (POD.replace("\n", "\r"), ("name: one\r",)),
    "a kept last line, with the line ends of Windows": (
        (POD + "    args:\n    - >+\n      text\n\n").replace("\n", "\r\n"),
        ("      text\r\n\r\n",),
    ),
    "a kept last line, with the line ends of old Macs": (
        (POD + "    args:\n    - >+\n      text\n").replace("\n", "\r"),
        ("      text\r",),
    ),
    "tags before blocks": (
        "apiVersion: v1\nkind: Pod\nspec: !!map\n    containers: !!seq # all\n    - !!map\n      name: !!str main\n",
        ("spec: !!map\n", "containers: !!seq # all\n    - !!map\n"),
    ),
    "a list in a list": (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - "
        + POD.replace("\n", "\n    ").rstrip(" "),
        (),
    ),
    "JSON with a comment behind it": (JSON + "\n# said\n", ("# said",)),
    "JSON with tabs": (json.dumps(json.loads(JSON), indent="\t"), ('\n\t"spec"',)),
    "numbers for text": (
        POD.replace("name: main", "name: 5") + "    resources: {limits: {nvidia.com/gpu: 7.5}}\n",
        (),
    ),
}

REFUSED = {
    "a tab as indentation": (HEAD + "spec:\n\tcontainers:\n", "ATT001"),
    "a template of Helm": (POD + "    image: {{ .Values.image }}\n", "ATT001"),
    "a control character": (POD.replace("main", "main\x0c"), "ATT001"),
    "half a character": (POD + '    args: ["\\ud800"]\n', "ATT001"),
    "a set": (POD + "    x: !!set {a}\n", "ATT001"),
    "JSON that is too deep": ('{"a":' * 9000 + "1" + "}" * 9000, "ATT001"),
    "JSON that is rather deep": ('{"apiVersion":"v1","kind":"X","a":' + '{"a":' * 700 + "1" + "}" * 701, "ATT001"),
    "a list of objects": (f"[{JSON}]", "ATT005"),
    "a list without an entry's content": ("apiVersion: v1\nkind: List\nitems:\n- null\n", "ATT008"),
    "a toleration without content": (POD + "  tolerations:\n  - null\n", "ATT008"),
    "a number as namespace": (POD.replace("name: one", "namespace: 5"), "ATT008"),
    "a list as a variable's name": (POD + "    env:\n    - {name: [a], value: b}\n", "ATT008"),
    "a list as a path": (POD + "    volumeMounts:\n    - {name: a, mountPath: [/dev/shm]}\n", "ATT008"),
    "annotations as a list": (HEAD + "  annotations: [a]\n" + MAIN, "ATT008"),
    "networks as a number": (NETWORKS + "5\n" + MAIN, "ATT008"),
}


@each(("text", "pieces"), ACCEPTED.values(), ids=list(ACCEPTED))
def test_a_strange_text_is_attached_once_and_loses_nothing(text: str, pieces: tuple[str, ...]) -> None:
    result = attach_text(text, contract_of("dev"), meant(text)).text

    assert result != text
    assert attach_text(result, contract_of("dev"), meant(text)).text == result
    assert_kept(documents_of(text), documents_of(result))
    assert [piece for piece in pieces if piece not in result] == []


@pytest.mark.parametrize(("text", "rule"), REFUSED.values(), ids=list(REFUSED))
def test_a_strange_text_is_refused_by_a_rule(text: str, rule: str) -> None:
    with pytest.raises((AttachError, InputError)) as raised:
        attach_text(text, contract_of("dev"), meant(text))

    error = raised.value
    assert rule in ({error.rule} if isinstance(error, InputError) else {problem.rule for problem in error.problems})


def test_a_file_of_thousands_of_documents_stays_to_the_byte_around_the_one_that_trains() -> None:
    other = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name:   c}\ndata:\n  a: |\n" + "    a line of text\n" * 20
    contract = contract_of("dev")
    result = attach_text(other * 1000 + "---\n" + POD + GPUS + other * 1000, contract, Wishes()).text

    assert result.startswith(other * 1000)
    assert result.endswith(other * 1000)


def test_half_a_character_in_json_stays_escaped() -> None:
    result = attach_text(JSON.replace("one", "\\ud83dé"), contract_of("dev"), meant(JSON)).text

    assert '"name":"\\ud83d\\u00e9"' in result
    assert result.encode()
