"""The server that answers for Spiderpool's webhooks: over HTTPS, in the form that the API server asks in."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from played_objects import Object

from sandbox.certificates import Pki, ensure_pki
from sandbox.hardware.admission import Admission, AdmissionServer, allowed, json_patch, published, refused
from sandbox.home import SandboxHome

POOL = {"kind": "SpiderIPPool", "metadata": {"name": "rail-00"}, "spec": {"subnet": "172.16.11.0/24"}}
NETWORK = {
    "kind": "SpiderMultusConfig",
    "metadata": {"name": "rail-00", "namespace": "b", "labels": {"cni.spidernet.io/rdma-resource-inject": "fabric"}},
    "spec": {"cniType": "macvlan", "macvlan": {"master": ["rdma0"], "rdmaResourceName": "a/b"}},
}


class Collection:
    """A watched collection that has come to rest."""

    def __init__(self, **objects: Object) -> None:
        self._objects = objects

    def objects(self) -> dict[str, Object]:
        return self._objects


def review(new: Object | None, operation: str = "CREATE", **request: Any) -> Object:
    return {"request": {"uid": "u", "operation": operation, "object": new, "namespace": "ai", **request}}


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return ensure_pki(SandboxHome(tmp_path_factory.mktemp("sandbox")))


class Cluster:
    """The server with a cluster of a few objects behind it; `looks` is how often it is asked before it is known."""

    def __init__(self, pki: Pki, looks: int = 0) -> None:
        self._known = iter([False] * looks)
        views: Any = SimpleNamespace(
            known=lambda: next(self._known, True),
            pools=Collection(other={**POOL, "metadata": {"name": "other", "resourceVersion": "1"}}),
            networks=Collection(rail=NETWORK),
            namespaces=Collection(
                ai={"metadata": {"name": "ai", "annotations": {"cni.spidernet.io/rdma-resource-inject": "fabric"}}}
            ),
        )
        self.server = AdmissionServer(0, pki.certificate, pki.key, Admission(views), pki.folder / "bearers.json")
        self._pki = pki

    def ask(self, path: str, body: Object | None = None) -> tuple[int, Object]:
        context = ssl.create_default_context(cafile=str(self._pki.ca))
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.server_port, timeout=10, context=context)
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        document: Object = json.loads(answer.read())
        connection.close()
        return answer.status, document

    def response(self, path: str, body: Object) -> Object:
        status, document = self.ask(f"/spiderpool/{path}?timeout=10s", body)
        assert (status, document["kind"]) == (200, "AdmissionReview")
        response: Object = document["response"]
        return response


@pytest.fixture
def cluster(pki: Pki) -> Iterator[Cluster]:
    made = Cluster(pki, looks=2)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.02,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def patch_of(response: Object) -> dict[str, Any]:
    return {entry["path"]: entry["value"] for entry in json.loads(base64.b64decode(response["patch"]))}


def test_an_object_is_filled_in_by_a_patch(cluster: Cluster) -> None:
    response = cluster.response("mutate", review(POOL))
    assert (response["uid"], response["allowed"], response["patchType"]) == ("u", True, "JSONPatch")
    assert patch_of(response)["/spec/ipVersion"] == 4


def test_a_refusal_says_why_in_the_words_that_kubectl_shows(cluster: Cluster) -> None:
    overlapping = {**POOL, "spec": {"subnet": "172.16.0.0/16"}}
    response = cluster.response("validate", review(overlapping))
    assert response["allowed"] is False
    assert response["status"]["message"] == "spec: subnet 172.16.0.0/16 overlaps subnet 172.16.11.0/24 (pool other)"


def test_what_is_changed_is_compared_with_what_it_was(cluster: Cluster) -> None:
    changed = {**POOL, "spec": {"subnet": "172.16.12.0/24"}}
    response = cluster.response("validate", review(changed, "UPDATE", oldObject=POOL))
    assert "cannot change" in response["status"]["message"]


def test_deleting_is_never_refused(cluster: Cluster) -> None:
    assert cluster.response("validate", review(None, "DELETE", oldObject=POOL))["allowed"] is True


def test_a_pod_gets_the_networks_of_its_namespaces_group(cluster: Cluster) -> None:
    pod = {"metadata": {"generateName": "p-"}, "spec": {"containers": [{"name": "c"}]}}
    patch = patch_of(cluster.response("pods", review(pod)))
    assert patch["/metadata/annotations"] == {"k8s.v1.cni.cncf.io/networks": "b/rail-00"}
    assert patch["/spec/containers"] == [{"name": "c", "resources": {"limits": {"a/b": "1"}}}]


def test_it_is_ready_when_the_chart_can_know_where_it_is(cluster: Cluster) -> None:
    assert cluster.ask("/healthz")[0] == 503
    cluster.server.published.set()
    assert cluster.ask("/healthz")[0] == 200


def test_other_questions_get_an_error_and_the_next_one_an_answer(cluster: Cluster) -> None:
    assert cluster.ask("/elsewhere")[0] == 404
    assert cluster.ask("/elsewhere", review(POOL))[0] == 400
    assert cluster.response("mutate", review(POOL))["allowed"] is True


def test_the_chart_finds_the_address_and_the_authority_in_a_config_map() -> None:
    made = published("https://127.0.0.1:1", b"PEM")
    assert (made["metadata"]["namespace"], made["metadata"]["name"]) == ("kube-system", "sandbox-admission")
    assert made["data"] == {"url": "https://127.0.0.1:1", "caBundle": base64.b64encode(b"PEM").decode()}


def test_a_patch_adds_replaces_and_removes_and_is_left_out_where_nothing_changes() -> None:
    before = {"same": 1, "inner": {"a/b": 1, "gone": 1}, "list": [1]}
    after = {"same": 1, "inner": {"a/b": 2, "c~d": 3}, "list": [1, 2]}
    assert json_patch(before, after) == [
        {"op": "replace", "path": "/inner/a~1b", "value": 2},
        {"op": "add", "path": "/inner/c~0d", "value": 3},
        {"op": "remove", "path": "/inner/gone"},
        {"op": "replace", "path": "/list", "value": [1, 2]},
    ]
    assert allowed(review(before), before)["response"] == {"uid": "u", "allowed": True}
    assert refused(review(before), "no")["response"]["status"]["message"] == "no"
