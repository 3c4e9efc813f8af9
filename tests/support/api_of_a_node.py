"""An API server on loopback with one node and its pods, over TLS with a certificate of its own."""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from json_server import json_server

from sandbox.certificates import self_signed

Json = dict[str, Any]


class NodeApi:
    """The node as it is, other nodes, the pods of each namespace, pods that are created, and every write in order.

    `meanwhile` is done to the node before the next write, as if by another client; `refused` are paths that are
    forbidden.
    """

    def __init__(self) -> None:
        self.node: Json = {"metadata": {"name": "gpu-7", "resourceVersion": "1"}, "spec": {}, "status": {}}
        self.others: list[Json] = []
        self.pods: dict[str, list[Json]] = {}
        self.created: dict[str, Json] = {}
        self.deleted: list[str] = []
        self.quota: int | None = None
        self.writes: list[tuple[str, Json]] = []
        self.meanwhile: list[Json] = []
        self.refused: set[str] = set()
        self.bearers: set[str] = set()
        self.port = 0
        self.served: tuple[str, ...] = ("v1", "v1beta2")
        self.rules: dict[str, Json] = {}

    @property
    def condition(self) -> Json:
        entries = self.node["status"].get("conditions", [])
        return next((entry for entry in entries if entry["type"] == "gpu-fabric.dev/FabricReady"), {})

    @property
    def taints(self) -> list[str]:
        return [taint["key"] for taint in self.node["spec"].get("taints", [])]

    @property
    def annotations(self) -> dict[str, str]:
        found: dict[str, str] = self.node["metadata"].get("annotations", {})
        return found

    def answer(self, method: str, target: str, body: Json, bearer: str) -> tuple[int, Json]:
        """Status and document for a request."""
        self.bearers.add(bearer)
        place = urlsplit(target)
        if place.path in self.refused:
            return 403, {"message": f"{place.path} is forbidden"}
        if place.path == "/api/v1/nodes":
            assert parse_qs(place.query)["labelSelector"] == ["kind=gpu"]
            return 200, {"items": [self.node, *self.others]}
        if "/namespaces/jobs/pods" in place.path:
            return self._pod(method, place.path.rpartition("/pods")[2].strip("/"), body)
        if place.path == "/api/v1/pods":
            return 200, {"items": [pod for pods in self.pods.values() for pod in pods]}
        if place.path.endswith("/pods"):
            assert parse_qs(place.query)["fieldSelector"] == ["spec.nodeName=gpu-7"]
            return 200, {"items": self.pods.get(place.path.split("/")[4], [])}
        if place.path.startswith("/apis/resource.k8s.io"):
            return self._taint_rule(method, place.path, body)
        assert place.path.removesuffix("/status") == "/api/v1/nodes/gpu-7"
        if method == "GET":
            return 200, self.node
        if self.meanwhile:
            self._change(self.meanwhile.pop(0))
        if body.get("metadata", {}).get("resourceVersion", self._version) != self._version:
            return 409, {"message": "the object has been modified"}
        self.writes.append((place.path.rpartition("gpu-7")[2] or "/", body))
        self._change(body)
        return 200, self.node

    def _taint_rule(self, method: str, path: str, body: Json) -> tuple[int, Json]:
        """DeviceTaintRules in the last version that is served, and what there is of the group."""
        version, _, kind = path.removeprefix("/apis/resource.k8s.io").strip("/").partition("/")
        if not version:
            return 200, {"versions": [{"version": name} for name in self.served]}
        assert version in self.served
        if not kind:
            kinds = ("resourceslices", "devicetaintrules") if version == "v1beta2" else ("resourceslices",)
            return 200, {"resources": [{"name": name} for name in kinds]}
        assert version == "v1beta2"
        name = kind.partition("/")[2]
        if method == "GET":
            return 200, {"items": list(self.rules.values())}
        if method == "POST":
            name = body["metadata"]["name"]
            self.rules[name] = {**body, "metadata": {**body["metadata"], "uid": f"uid-of-{name}"}}
        else:
            assert body["preconditions"]["uid"] == self.rules[name]["metadata"]["uid"]
            del self.rules[name]
        return 200, {}

    def _pod(self, method: str, name: str, body: Json) -> tuple[int, Json]:
        """What the API server does with single pods."""
        name = name or body["metadata"]["name"]
        if method == "POST":
            if self.quota is not None and len(self.created) >= self.quota:
                return 403, {"message": "exceeded quota: team"}
            if name in self.created:
                return 409, {"message": f"{name} exists"}
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            body["metadata"] |= {"uid": f"uid-of-{name}-{len(self.deleted)}", "creationTimestamp": stamp}
            self.created[name] = body
            return 201, body
        if name not in self.created:
            return 404, {"message": f"no pod {name}"}
        if method == "DELETE":
            if body["preconditions"]["uid"] != self.created[name]["metadata"]["uid"]:
                return 409, {"message": "another pod"}
            self.deleted.append(name)
            return 200, self.created.pop(name)
        return 200, self.created[name]

    @property
    def _version(self) -> str:
        found: str = self.node["metadata"]["resourceVersion"]
        return found

    def _change(self, body: Json) -> None:
        annotations = {**self.annotations, **body.get("metadata", {}).get("annotations", {})}
        kept = {key: text for key, text in annotations.items() if text is not None}
        self.node["metadata"] |= {"annotations": kept, "resourceVersion": str(int(self._version) + 1)}
        self.node["spec"] |= body.get("spec", {})
        for entry in body.get("status", {}).get("conditions", []):
            others = [one for one in self.node["status"].get("conditions", []) if one["type"] != entry["type"]]
            self.node["status"]["conditions"] = [*others, entry]


@contextmanager
def served(api: NodeApi, account: Path) -> Iterator[NodeApi]:
    """The server; `account` is the folder for what a pod has of its service account."""
    certificate, key = self_signed("localhost")
    account.mkdir(parents=True, exist_ok=True)
    (account / "ca.crt").write_bytes(certificate)
    (account / "key").write_bytes(key)
    (account / "token").write_text("token-of-the-pod\n")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(account / "ca.crt", account / "key")
    with json_server(api.answer, context) as api.port:
        yield api
