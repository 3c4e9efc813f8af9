"""Manifests in forms that users write: attached twice is attached once, and what was attached goes out to the byte."""

from __future__ import annotations

import json
from typing import Any

from attached_pods import assert_kept, contract_of, documents_of
from each_case import each

from gpu_fabric.attach.attachment import Wishes, attach_text, detach_text
from gpu_fabric.attach.yaml_documents import read_yaml

STACKS = ["dev", "host-network", "examples/spiderpool-ib"]
HEAD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: one\n"
POD = HEAD + "spec:\n  containers:\n  - name: main\n"
GPUS = "    resources:\n      limits:\n        nvidia.com/gpu: 8\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n"
TEMPLATE = "  template:\n    spec:\n      containers:\n      - name: main\n"
OF_TEMPLATE = "".join(f"    {line}\n" for line in GPUS.splitlines())
POD_AS_DATA: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 8}}}]},
}

# What goes out leaves these as they were, to the byte.
SAME_TEXT = {
    "text in a block that ends with empty lines": POD + GPUS + "    args:\n    - |+\n      a\n      b\n\n\n",
    "text in a block before another document": POD
    + GPUS
    + "    args:\n    - |+\n      a\n\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: s\n",
    "line ends of Windows": (POD + "    # said\n" + GPUS.rstrip() + " # eight\n").replace("\n", "\r\n"),
    "line ends of both sorts": (POD + GPUS).replace("main\n", "main\r\n").replace("limits:\n", "limits:\r\n"),
    "a byte-order mark": "\ufeff" + POD + GPUS,
    "no line end at the end": POD + GPUS.rstrip(),
    "a comment without a line end at the end": POD + GPUS.rstrip() + " # eight",
    "no line end, as Windows writes": (POD + GPUS.rstrip()).replace("\n", "\r\n"),
    "a list": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata:\n    name: s\n"
    "- apiVersion: batch/v1\n  kind: Job\n  metadata:\n    generateName: train-\n  spec:\n"
    + "".join(f"  {line}\n" for line in (TEMPLATE + OF_TEMPLATE).splitlines()),
    "null metadata": DEPLOYMENT.replace("  name: d\n", "").replace("metadata:\n", "metadata: null\n")
    + "  strategy:\n"
    + TEMPLATE.replace("    spec:", "    metadata:\n    spec:\n      nodeSelector:")
    + "        env:\n"
    + OF_TEMPLATE,
    "empty mappings and lists": HEAD.replace("  name: one\n", "  name: one\n  annotations: {}\n  labels: {}\n")
    + "spec:\n  nodeSelector: {}\n  tolerations: []\n  securityContext: {}\n  containers:\n  - name: main\n"
    "    env: []\n    volumeMounts: []\n" + GPUS + "      requests: {}\n  volumes: []\n",
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
    "quotes around all": (POD + GPUS)
    .replace("  name: one", "  'name': \"one\"")
    .replace("nvidia.com/gpu: 8", "\"nvidia.com/gpu\": '8'"),
    "other letters": POD + "    args: ['ü', \"\\u00e9\", 🚀]\n" + GPUS,
    "no networks": HEAD + '  annotations:\n    k8s.v1.cni.cncf.io/networks: ""\n' + POD.removeprefix(HEAD) + GPUS,
    "a strategy": DEPLOYMENT + "  strategy:\n    type: RollingUpdate\n" + TEMPLATE + OF_TEMPLATE,
    "anchors that nothing means": (POD + GPUS)
    .replace("containers:", "containers: &all")
    .replace("- name", "- &c\n    name"),
    "an alias of a whole pod": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: m\nspec:\n"
    "  pytorchReplicaSpecs:\n    Master:\n      template: &t\n        spec:\n          containers:\n"
    "          - name: pytorch\n            resources:\n              limits:\n                nvidia.com/gpu: 8\n"
    "    Worker:\n      replicas: 2\n      template: *t\n",
    "a replica by a merge key": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: m\nspec:\n"
    "  pytorchReplicaSpecs:\n    Master: &m\n      template:\n        spec:\n          containers:\n"
    "          - name: pytorch\n            resources:\n              limits:\n                nvidia.com/gpu: 8\n"
    "    Worker:\n      <<: *m\n      replicas: 2\n",
    "brackets over several lines": HEAD + "spec:\n  containers: [\n    {\n      name: main, # said\n"
    "      resources: {limits: {nvidia.com/gpu: 8}},\n    },\n    # behind\n  ]\n",
    "all of it in brackets": "{\n  apiVersion: v1, # said\n  kind: Pod,\n  metadata: {name: one},\n  spec: {\n"
    "    containers: [\n      {name: main, resources: {limits: {nvidia.com/gpu: 8}}},\n    ],\n  },\n}\n",
    "JSON before YAML": json.dumps(POD_AS_DATA, indent=4)
    + "\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: s\n",
    "JSON": json.dumps(POD_AS_DATA, indent=4) + "\n",
    "JSON with tabs": json.dumps(POD_AS_DATA, indent="\t"),
    "JSON on one line": json.dumps(POD_AS_DATA, separators=(",", ":")),
    "a list in JSON": json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD_AS_DATA]}, indent=2),
}
# These say the same afterwards: brackets on one line were opened, aliases and blocks written out.
SAME_CONTENT = {
    "brackets on one line": HEAD + "spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]}\n",
    "requests that are the limits": POD + "    resources: {limits: &l {nvidia.com/gpu: 8}, requests: *l}\n",
    "requests that merge the limits": POD
    + "    resources:\n      limits: &l\n        nvidia.com/gpu: 8\n      requests:\n        <<: *l\n        cpu: 4\n",
    "the environment of two": POD
    + "    env: &e\n    - name: A\n      value: '1'\n"
    + GPUS
    + "  - name: side\n    env: *e\n",
    "a base beside": "x-base: &b\n  env: [{name: A, value: b}]\n" + POD.replace("- name", "- <<: *b\n    name") + GPUS,
    "text in a block at the very end": POD + GPUS + "    args:\n    - |\n      a\n      b",
    "networks in a block of JSON": HEAD + "  annotations:\n    k8s.v1.cni.cncf.io/networks: |\n      [\n        "
    '{"name": "nfs", "interface": "nfs0"}\n      ]\n' + POD.removeprefix(HEAD) + GPUS,
    "networks as folded names": HEAD
    + "  annotations:\n    k8s.v1.cni.cncf.io/networks: >-\n      nfs@nfs0,\n      other@o0\n"
    + POD.removeprefix(HEAD)
    + GPUS,
    "a null that is written": POD + "    env: ~\n    volumeMounts: null # none\n" + GPUS,
}
TEXTS = SAME_TEXT | SAME_CONTENT


def contents(text: str) -> list[Any]:
    """What a text says to kubectl."""
    text = text.removeprefix("\ufeff")
    return [json.loads(text)] if text.endswith("}") else [one.content for one in read_yaml(text)]


# Spiderpool's webhook installs all networks, and accepts no others.
PLACED = [(name, stack) for stack in STACKS for name in TEXTS if stack != STACKS[2] or "networks" not in name]


@each(("name", "stack"), PLACED)
def test_attached_twice_is_attached_once_and_detached_is_as_before(name: str, stack: str) -> None:
    text = TEXTS[name]
    once = attach_text(text, contract_of(stack), Wishes(stamped=True)).text
    detached = detach_text(once)

    assert once != text
    assert_kept(contents(text), contents(once))
    assert attach_text(once, contract_of(stack), Wishes(stamped=True)).text == once
    assert contents(detached) == contents(text)
    if name in SAME_TEXT:
        assert detached == text


@each("name", [name for name in TEXTS if "JSON" not in name])
def test_what_is_attached_says_the_same_to_another_reader(name: str) -> None:
    once = attach_text(TEXTS[name], contract_of("dev"), Wishes(stamped=True)).text

    assert documents_of(once.removeprefix("\ufeff")) == contents(once)
