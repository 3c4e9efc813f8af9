"""Attached workloads before a real API server: each is accepted as it is, and one with a wrong field is not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest
import yaml
from attached_pods import MANIFESTS, documents_of, text_of
from committed_stacks import folder_of
from driver import Sandbox, until
from pod_definitions import DEFINITIONS, made_definition
from upstream_definitions import UPSTREAM

from gpu_fabric.attach.attachment import Wishes, attach_text
from gpu_fabric.attach.place import AttachError
from gpu_fabric.contract import FabricContract
from gpu_fabric.prepare import prepare_stack
from sandbox.kubernetes_api import APPLY_PATCH, ApiError, Object

pytestmark = pytest.mark.sandbox

PUBLISHED = {
    "MPIJob": "mpi-operator-0.8.0/kubeflow.org_mpijobs.yaml",
    "JobSet": "jobset-0.12.0/jobset.x-k8s.io_jobsets.yaml",
    "LeaderWorkerSet": "lws-0.8.0/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    "Job": "volcano-1.15.1/batch.volcano.sh_jobs.yaml",
}
DEFINED = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

KUBERNETES = {
    (version, kind): f"/{'api' if version == 'v1' else 'apis'}/{version}/namespaces/default/{kind.lower()}s"
    for version, kinds in {
        "v1": ("Pod", "Service", "ConfigMap"),
        "apps/v1": ("Deployment", "StatefulSet", "DaemonSet"),
        "batch/v1": ("Job", "CronJob"),
    }.items()
    for kind in kinds
}

STACKS = ("dev", "doks-h200", "oke-h100", "spiderpool-macvlan", "spiderpool-ib", "host-network", "sriov-dpdk")
NAMES = sorted(path.name for path in MANIFESTS.iterdir() if path.suffix in (".yaml", ".json"))
# A TrainJob cannot put its pods on the node's own network, nor give them huge pages; a workflow must say that itself.
REFUSED = {(name, "host-network") for name in ("trainjob.yaml", "workflow.yaml", "cronworkflow.yaml")}


class Server(NamedTuple):
    """An API server that knows the custom kinds."""

    sandbox: Sandbox
    paths: dict[tuple[str, str], str]

    def refusal(self, document: Object) -> str | None:
        """What the server says against an object that is given to it for show; None where it takes it."""
        if document["kind"] == "List":
            said = [self.refusal(item) for item in document["items"]]
            return next(filter(None, said), None)
        path, query = self.paths[document["apiVersion"], document["kind"]], "dryRun=All&fieldValidation=Strict"
        try:
            # An unknown field of a custom resource is seen only when it is created, a key that is twice in a list of
            # named entries only when it is applied.
            self.sandbox.api.post(f"{path}?{query}", document)
            applied = f"{path}/{document['metadata']['name']}?{query}&fieldManager=test"
            self.sandbox.api.request("PATCH", applied, document, APPLY_PATCH)
        except ApiError as error:
            return str(error)
        return None


@pytest.fixture(scope="module")
def server(sandbox: Sandbox) -> Iterator[Server]:
    """The session's API server with definitions of the custom kinds, which are gone afterwards."""
    api = sandbox.api
    components = api.get("/openapi/v3/apis/apps/v1")["components"]["schemas"]
    made = [_definition(kind, components) for kind in DEFINITIONS]
    for definition in made:
        api.post(DEFINED, definition)
    own = {(f"{about.group}/{about.version}", kind): about.path for kind, about in DEFINITIONS.items()}
    for path in (*own.values(), "/api/v1/namespaces/default/serviceaccounts/default"):
        until(partial(_is_served, sandbox, path), f"{path} is served")
    yield Server(sandbox, KUBERNETES | own)
    for definition in made:
        api.delete(f"{DEFINED}/{definition['metadata']['name']}")


def _definition(kind: str, components: dict[str, Any]) -> Object:
    published = UPSTREAM / "crds" / PUBLISHED[kind] if kind in PUBLISHED else None
    if published is None or not published.is_file():
        return made_definition(kind, components)
    found: Object = yaml.load(published.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return found


def _is_served(sandbox: Sandbox, path: str) -> bool:
    try:
        sandbox.api.get(path)
    except ApiError as error:
        # A definition's storage is made some time after the definition.
        if error.status in (404, 429):
            return False
        raise
    return True


def attached(name: str, contract: FabricContract) -> list[Object]:
    text = attach_text(text_of(name), contract, Wishes(namespace=contract.namespaces[0])).text
    return [document for document in documents_of(text) if document is not None]


def contract_of(stack: str) -> FabricContract:
    return prepare_stack(stack, folder_of(stack)).workload


@pytest.mark.parametrize("stack", STACKS)
def test_every_attached_manifest_is_accepted_by_the_api_server(server: Server, stack: str) -> None:
    contract = contract_of(stack)
    refused = {}
    for name in NAMES:
        if (name, stack) in REFUSED:
            with pytest.raises(AttachError):
                attached(name, contract)
            continue
        documents = attached(name, contract)
        refused |= {(name, k): said for k, one in enumerate(documents) if (said := server.refusal(one))}

    assert refused == {}


def test_every_manifest_is_accepted_before_the_fabric_is_attached(server: Server) -> None:
    documents = [document for name in NAMES for document in documents_of(text_of(name)) if document is not None]

    assert [said for document in documents if (said := server.refusal(document))] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_misspelt_field_of_an_attached_pod_is_refused(server: Server, name: str) -> None:
    text = attach_text(text_of(name), contract_of("dev"), Wishes()).text
    doctored = text.replace("securityContext", "securityContexts")
    assert doctored != text

    said = [server.refusal(document) for document in documents_of(doctored) if document is not None]
    assert any(entry is not None and "securityContexts" in entry for entry in said)
