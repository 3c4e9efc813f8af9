"""Collections of the API server's objects, each kept up to date by a watch."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..kubernetes_api import Api, ApiError, Object

# A watch ends after this time and starts with a fresh list, which includes changes of missed events.
RESYNC_S = 30
# The first retry comes at once enough to be within a second of a server's appearance.
RETRY_S, LONGEST_RETRY_S = 0.3, 2.0
# A definition exists a moment before its kind is served.
SERVED_RETRY_S = 0.1

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Metadata that was asked for alone has a kind of its own.
_DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
_METADATA = {kind: f"application/json;as=PartialObjectMetadata{kind};g=meta.k8s.io;v=v1" for kind in ("", "List")}

log = logging.getLogger(__name__)


class Definitions:
    """The kinds that the cluster has, so that missing kinds are not requested again and again."""

    def __init__(self) -> None:
        self._names: frozenset[str] | None = None
        self._known = threading.Condition()

    def now(self, names: frozenset[str]) -> None:
        """Take note of all definitions that there are, by their names."""
        with self._known:
            self._names = names
            self._known.notify_all()

    def wait_for(self, name: str) -> None:
        """Wait until a definition exists."""
        with self._known:
            self._known.wait_for(lambda: self._names is not None and name in self._names)

    def has(self, name: str) -> bool:
        """Whether a definition exists; waits until that is known."""
        with self._known:
            self._known.wait_for(lambda: self._names is not None)
            return name in (self._names or ())


class Watched(threading.Thread):
    """Keeps the objects of one collection, by namespace and name.

    `path` may end in a query with a selector. A collection of a custom resource names its definition: while there is
    none, it is empty.
    """

    def __init__(
        self,
        kubeconfig: Path,
        path: str,
        changed: threading.Event,
        definitions: Definitions | None = None,
        definition: str | None = None,
    ) -> None:
        super().__init__(name=path, daemon=True)
        self.path = path
        self._kubeconfig = kubeconfig
        self._changed = changed
        self._definitions = definitions
        self._definition = definition
        self._lock = threading.Lock()
        self._objects: dict[str, Object] = {}
        self._version = 0
        self.listed = threading.Event()
        """Set once the collection is known; until then an object that is missing may only be unread."""

    def objects(self) -> dict[str, Object]:
        """A copy of the collection; the objects themselves are not to be changed."""
        with self._lock:
            return dict(self._objects)

    def version(self) -> int:
        """A number that changes with every change of the collection."""
        with self._lock:
            return self._version

    def keep(self, item: Object) -> None:
        """Store the API server's response to a write, before the event with the same content arrives."""
        with self._lock:
            present = self._objects.get(key_of(item))
            if present is None or _version_of(present) < _version_of(item):
                self._objects[key_of(item)] = item
                self._version += 1

    def run(self) -> None:
        retry = RETRY_S
        while True:
            try:
                self._wait_for_definition()
                self._follow()
                retry = RETRY_S
            except ApiError as error:
                if error.status in (404, 429) and self._definition is not None:
                    # not served yet, or after a restart not yet again (429: being read): what is known stays known
                    time.sleep(SERVED_RETRY_S)
                    continue
                log.warning("%s: %s; again in %.1f s", self.path, error, retry)
                time.sleep(retry)
                retry = min(retry * 2, LONGEST_RETRY_S)

    def _wait_for_definition(self) -> None:
        if self._definitions is None or self._definition is None or self._definitions.has(self._definition):
            return
        self._replace({})
        self._definitions.wait_for(self._definition)

    def _follow(self) -> None:
        stream = EventStream(self._kubeconfig)
        listing = self._list(stream)
        # the items of a list have no kind and apiVersion
        kind = {"apiVersion": listing["apiVersion"], "kind": listing["kind"].removesuffix("List")}
        self._replace({key_of(item): {**kind, **item} for item in listing.get("items") or ()})
        for event in self._events(stream, listing["metadata"]["resourceVersion"]):
            if event["type"] in ("BOOKMARK", "ERROR"):
                return
            self._take(event)

    def _take(self, event: Object) -> None:
        item = event["object"]
        key = key_of(item)
        with self._lock:
            self._version += 1
            if event["type"] == "DELETED":
                self._objects.pop(key, None)
            elif key not in self._objects or _version_of(self._objects[key]) <= _version_of(item):
                self._objects[key] = item
        if self._matters(item):
            self._changed.set()

    def _matters(self, item: Object) -> bool:
        """Whether a change of an object must be looked at."""
        return True

    def _list(self, stream: EventStream) -> Object:
        return stream.get(self.path)

    def _events(self, stream: EventStream, version: str) -> Iterator[Object]:
        return stream.events(self.path, version)

    def _replace(self, objects: dict[str, Object]) -> None:
        with self._lock:
            self._version += self._objects != objects
            self._objects = objects
        self.listed.set()
        self._changed.set()


class WatchedDefinitions(Watched):
    """The metadata of all custom resource definitions; their contents, which are large, are not requested."""

    def __init__(self, kubeconfig: Path, changed: threading.Event, definitions: Definitions) -> None:
        super().__init__(kubeconfig, _DEFINITIONS, changed)
        self._all = definitions

    def _list(self, stream: EventStream) -> Object:
        return stream.get_as(self.path, _METADATA["List"])

    def _events(self, stream: EventStream, version: str) -> Iterator[Object]:
        return stream.events(self.path, version, _METADATA[""])

    def _take(self, event: Object) -> None:
        super()._take({**event, "object": {**event["object"], **_DEFINITION}})
        self._tell()

    def _replace(self, objects: dict[str, Object]) -> None:
        super()._replace({key: {**item, **_DEFINITION} for key, item in objects.items()})
        self._tell()

    def _tell(self) -> None:
        self._all.now(frozenset(self.objects()))


class EventStream(Api):
    """The sandbox's API client with a watch on its connection."""

    def __init__(self, kubeconfig: Path) -> None:
        # a watch without events is silent for all its time
        super().__init__(kubeconfig, timeout_s=RESYNC_S + 15)

    def get_as(self, path: str, accept: str) -> Object:
        """A list in another form of representation. Raises ApiError."""
        self._ask(path, accept)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 400:
            raise ApiError(answer.status, text[:300])
        document: Object = json.loads(text)
        return document

    def events(self, path: str, resource_version: str, accept: str = "application/json") -> Iterator[Object]:
        """Events after a resource version, until the server ends the watch. Raises ApiError."""
        separator = "&" if "?" in path else "?"
        query = f"{separator}watch=1&resourceVersion={resource_version}&timeoutSeconds={RESYNC_S}"
        try:
            self._ask(path + query, accept)
            answer = self._connection.getresponse()
            if answer.status >= 400:
                raise ApiError(answer.status, answer.read().decode()[:300])
            for line in answer:
                yield json.loads(line)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ApiError(0, f"the watch broke off: {error}") from error
        finally:
            self._connection.close()

    def _ask(self, path: str, accept: str) -> None:
        try:
            self._connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}", "Accept": accept})
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(0, f"the API server was not reached: {error}") from error


def key_of(item: Mapping[str, Any]) -> str:
    """An object's namespace and name, or its name alone."""
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def _version_of(item: Mapping[str, Any]) -> int:
    return int(item["metadata"].get("resourceVersion", 0))
