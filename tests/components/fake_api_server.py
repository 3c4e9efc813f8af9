"""An API server on loopback that keeps what is applied to it; what it refuses or holds is the test's."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml
from json_server import json_server

Json = dict[str, Any]


class FakeApiServer:
    """Objects by path.

    `refusals` are answers by an object's name to writes: a status and a message, each given once, in order. Those of
    status 429 and 503 name a time to wait, as the API server's do.
    `held` are names of objects that a finalizer keeps.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.refusals: dict[str, list[tuple[int, str]]] = {}
        self.held: set[str] = set()
        self.requests: list[tuple[str, str]] = []
        self.bearers: set[str] = set()
        self.port = 0
        self._lock = threading.Lock()

    def kubeconfig(self, token: str) -> str:
        """A kubeconfig of this server with a bearer token."""
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
                "users": [{"name": "u", "user": {"token": token}}],
            }
        )

    @property
    def names(self) -> list[str]:
        return sorted(path.rpartition("/")[2] for path in self.objects)

    def named(self, name: str) -> Json:
        """An object that is there."""
        return next(item for path, item in self.objects.items() if path.endswith(f"/{name}"))

    def writes(self) -> list[tuple[str, str]]:
        """Method and name of every write so far, sorted: several are under way at a time."""
        return sorted((method, path.rpartition("/")[2]) for method, path in self.requests if method != "GET")

    def answer(self, method: str, target: str, body: Json | None, bearer: str) -> tuple[int, Json]:
        """Status and document for a request."""
        place = urlsplit(target)
        name = place.path.rpartition("/")[2]
        with self._lock:
            self.requests.append((method, place.path))
            self.bearers.add(bearer.removeprefix("Bearer "))
            if method == "GET" and (selectors := parse_qs(place.query).get("labelSelector")):
                return 200, {"items": self._listed(place.path, selectors[0])}
            if method == "GET":
                found = self.objects.get(place.path)
                return (404, {"kind": "Status", "message": "not found"}) if found is None else (200, found)
            if waiting := self.refusals.get(name):
                status, message = waiting.pop(0)
                return status, {"kind": "Status", "message": message}
            if method == "DELETE":
                return self._deleted(place.path, name)
            assert body is not None
            assert parse_qs(place.query) == {"fieldManager": ["gpu-fabric"], "force": ["true"]}
            self.objects[place.path] = {**body, "status": {"conditions": []}}
            return 200, body

    def _listed(self, collection: str, selector: str) -> list[Json]:
        key, _, value = selector.partition("=")
        found = (item for path, item in self.objects.items() if path.rpartition("/")[0] == collection)
        return [item for item in found if item["metadata"].get("labels", {}).get(key) == value]

    def _deleted(self, path: str, name: str) -> tuple[int, Json]:
        if path not in self.objects:
            return 404, {"kind": "Status", "message": "not found"}
        if name in self.held:
            self.objects[path]["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z"
        else:
            del self.objects[path]
        return 200, {}


@contextmanager
def serving(fake: FakeApiServer | None = None) -> Iterator[FakeApiServer]:
    """A server that answers while this lasts."""
    fake = FakeApiServer() if fake is None else fake
    with json_server(fake.answer) as fake.port:
        yield fake
