"""What each committed stack makes, before a real API server with the charts' definitions: it takes every object.

Objects are created for show and with strict validation: an unknown field, a wrong type or a key that is there twice is
refused. Only namespaces, definitions and the definitions' kinds are really there, and nothing runs. Pods of workloads
with the fabric attached are created so as well.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml
from attached_pods import EXPECTED, as_template, at, documents_of, pod_of, text_of
from committed_stacks import ROOT, folder_of, is_large, stack_names
from driver import Sandbox, until
from rendered_charts import NODES_SYSTEM, PINNED, Helm, Objects, of_kind
from stack_plans import stack_plan

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.attach.text.manifests import attach_text
from sandbox.crds import CHARTS
from sandbox.kubernetes_api import APPLY_PATCH, ApiError, Object, apply_object, object_path

DEFINITION, STRICT = "CustomResourceDefinition", "dryRun=All&fieldValidation=Strict"
EXAMPLES = sorted(path.name.split(".")[1] for path in (ROOT / "examples").glob("Pulumi.*.yaml"))
# Those with thousands of nodes have the same objects, and more of each.
STACKS = [name for name in sorted({"dev", *EXAMPLES, *stack_names()}) if not is_large(name)]
ATTACHED_TO = (
    "dev",
    "doks-h200",
    "oke-h100",
    "spiderpool-macvlan",
    "spiderpool-ib",
    "host-network",
    "sriov-dpdk",
    "dranet",
)
# A TrainJob cannot put its pods on the node's own network; a workflow must say that itself.
REFUSED = {(name, "host-network") for name in ("trainjob.yaml", "workflow.yaml", "cronworkflow.yaml")}
# Nor can it set the claims of its pods.
REFUSED |= {("trainjob.yaml", "dranet")}


class Server:
    """An API server that knows the kinds of one release line's charts at a time."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.api = sandbox.api
        self._helm = Helm()
        self._definitions = cache(self._of_line)
        self.made: dict[str, str] = {}

    def know(self, line: str) -> None:
        """Have the definitions of a line's charts, those that its operators write themselves among them."""
        for definition in self._definitions(line):
            self.make(definition)

    def make(self, manifest: Object) -> None:
        """Have an object, the same as it is or as it is changed."""
        key, text = f"{manifest['kind']} {manifest['metadata']['name']}", yaml.safe_dump(manifest)
        if self.made.get(key) != text:
            apply_object(self.api, manifest)
            self.made[key] = text

    def refusal(self, manifest: Object, *, applied: bool = False) -> str | None:
        """What the server says against an object that is created or applied for show; None where it takes it.

        A key that is twice in a list of named entries is seen only where it is applied.
        """
        path = until(lambda: object_path(self.api, manifest, "default"), f"{manifest['kind']} is served")
        metadata = {key: value for key, value in manifest["metadata"].items() if key != "name"}
        # Under a name of its own, since the server has objects of some names.
        shown = {**manifest, "metadata": {**metadata, "name": f"{manifest['metadata']['name']}-shown"}}
        try:
            self.api.post(f"{path.rpartition('/')[0]}?{STRICT}", shown)
            if applied:
                self.api.request("PATCH", f"{path}-shown?{STRICT}&fieldManager=test", shown, APPLY_PATCH)
        except ApiError as error:
            return f"{manifest['kind']} {manifest['metadata']['name']}: {error}"
        return None

    def _of_line(self, line: str) -> Objects:
        charts = [name for name in PINNED if name.startswith(f"{line}/") and (CHARTS / name).is_dir()]
        rendered = [entry for name in charts for entry in self._helm.objects(name, NODES_SYSTEM, "--include-crds")]
        files = [file for name in charts for file in (CHARTS / name).glob("sections/*/crds/*.yaml")]
        written = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
        return [*of_kind(rendered, DEFINITION), *written]


@pytest.fixture(scope="module")
def server(cluster: Sandbox) -> Server:
    cluster.run("up", "-s", "dev")
    until(lambda: cluster.items("/api/v1/namespaces/default/serviceaccounts"), "pods can be created")
    return Server(cluster)


def manifests_of(stack: str) -> tuple[str, list[dict[str, Any]]]:
    """The release line of a stack, and its objects as they are applied."""
    plan = stack_plan(stack, folder_of(stack) if stack not in EXAMPLES else ROOT)
    return plan.release_line, [entry.object.manifest() for entry in plan.objects]


@pytest.mark.parametrize("stack", STACKS)
def test_the_api_server_takes_every_object_of_a_stack(server: Server, stack: str) -> None:
    line, manifests = manifests_of(stack)
    server.know(line)
    for manifest in manifests:
        if manifest["kind"] in ("Namespace", DEFINITION):
            server.make(manifest)

    others = [manifest for manifest in manifests if manifest["kind"] not in ("Namespace", DEFINITION)]
    for namespace in {manifest["metadata"].get("namespace", "default") for manifest in others} - {"default"}:
        server.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    assert [said for manifest in others if (said := server.refusal(manifest))] == []


@pytest.mark.parametrize("kind", ["NicClusterPolicy", "IPPool", "NetworkAttachmentDefinition", "DaemonSet"])
def test_a_field_that_a_kind_does_not_have_is_refused(server: Server, kind: str) -> None:
    line, manifests = manifests_of("dev")
    server.know(line)
    for namespace in {manifest["metadata"].get("namespace") for manifest in manifests} - {None}:
        server.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    manifest = next(manifest for manifest in manifests if manifest["kind"] == kind)
    manifest["spec"]["misspelt"] = "yes"

    assert "misspelt" in (server.refusal(manifest) or "")


@pytest.mark.parametrize("stack", ATTACHED_TO)
def test_every_attached_pod_of_the_examples_is_accepted_by_the_api_server(server: Server, stack: str) -> None:
    contract = stack_plan(stack, folder_of(stack)).workload
    said = {}
    for name, expected in EXPECTED.items():
        if (name, stack) in REFUSED:
            continue
        text = attach_text(text_of(name), contract, AttachOptions(namespace=contract.namespaces[0])).text
        for path in expected.attached:
            pod = pod_of(as_template(at(documents_of(text)[expected.document], path)))
            said[name, path] = server.refusal(pod, applied=True)
    assert len(said) > 15
    assert {place: refused for place, refused in said.items() if refused} == {}
