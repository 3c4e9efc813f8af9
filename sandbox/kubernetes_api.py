"""A small Kubernetes client: JSON over one kept connection, and objects applied and deleted by their manifests.

The full client takes a second to import, which is as long as a whole second `up` may take.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from gpu_fabric.base.api_objects import api_path

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

# A kind that was just defined is not served at once; the API server asks to wait, and what reads it does, as kubectl.
_BUSY, _ATTEMPTS, _PAUSE_S = 429, 10, 0.5

Object = dict[str, Any]


class ApiError(Exception):
    """The API server's refusal: its HTTP status and its message; status 0 when it was not reached."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """Requests to the API server that a kubeconfig written by the sandbox names, with its token or another one."""

    def __init__(self, kubeconfig: Path, timeout_s: float = 15.0, token: str | None = None) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        self._token = document["users"][0]["user"]["token"] if token is None else token
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        address = urlsplit(cluster["server"])
        self._connection = http.client.HTTPSConnection(
            address.hostname or "",
            address.port,
            timeout=timeout_s,
            context=ssl.create_default_context(cadata=authority),
        )

    def get(self, path: str, **query: str) -> Object:
        return self.request("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: Object) -> Object:
        return self.request("POST", path, body)

    def patch(self, path: str, body: Object, kind: str = MERGE_PATCH) -> Object:
        return self.request("PATCH", path, body, kind)

    def delete(self, path: str) -> Object:
        return self.request("DELETE", path)

    def apply(self, path: str, body: Object) -> Object:
        """Server-side apply, forced: our fields replace those of other managers."""
        return self.request("PATCH", f"{path}?fieldManager=gpu-fabric-sandbox&force=true", body, APPLY_PATCH)

    def is_ready(self) -> bool:
        """Whether the API server responds and reports that it is ready."""
        try:
            self.request("GET", "/readyz")
        except ApiError:
            return False
        return True

    def request(self, method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Object:
        """One request; gives the JSON answer, an empty object for a text one. Raises ApiError."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "Content-Type": kind}
        data = None if body is None else json.dumps(body)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._connection.request(method, path, data, headers)
                answer = self._connection.getresponse()
                text = answer.read().decode()
                if answer.status == _BUSY and method == "GET" and attempt < _ATTEMPTS:
                    time.sleep(_PAUSE_S)
                    continue
                break
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                # a kept connection may have been closed by a restarted server: once more on a fresh one
                if attempt >= 2:
                    raise ApiError(0, f"the API server was not reached: {error}") from error
        try:
            document = json.loads(text)
        except ValueError:
            document = {}
        if answer.status >= 400:
            raise ApiError(answer.status, document.get("message") or text.strip()[:300])
        return document if isinstance(document, dict) else {}


def apply_object(api: Api, document: dict[str, Any]) -> None:
    """Apply a manifest; its fields replace those of other managers.

    Raises ApiError, with status 404 for a kind that the cluster does not serve.
    """
    path = object_path(api, document, "default")
    if path is None:
        raise ApiError(404, f"the cluster serves no {document['kind']} of {document['apiVersion']}")
    api.apply(path, document)


def apply_once_served(api: Api, document: dict[str, Any], within_s: float = 30.0) -> None:
    """Apply a manifest once its kind and namespace exist: a new cluster has its own a moment after its start.

    Raises ApiError.
    """
    deadline = time.monotonic() + within_s
    while True:
        try:
            apply_object(api, document)
            return
        except ApiError as error:
            if error.status != 404 or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def delete_object(api: Api, document: dict[str, Any], namespace: str = "default") -> bool:
    """Delete the object that a manifest describes, in the given namespace unless it names one; True if it was there.

    An object whose kind the cluster does not serve counts as gone. Raises ApiError.
    """
    path = object_path(api, document, namespace)
    return path is not None and delete_path(api, path)


def delete_path(api: Api, path: str) -> bool:
    """Delete the object at a path of the API; True if there was one."""
    try:
        api.delete(path)
    except ApiError as error:
        if error.status != 404:
            raise
        return False
    return True


def object_path(api: Api, document: dict[str, Any], namespace: str) -> str | None:
    """The path of the object that a manifest describes; None for a kind that is not served. Raises ApiError."""
    version = document["apiVersion"]
    try:
        served = api.get(api_path(version))["resources"]
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    kind = next((row for row in served if row["kind"] == document["kind"] and "/" not in row["name"]), None)
    if kind is None:
        return None
    place = document["metadata"].get("namespace", namespace) if kind["namespaced"] else None
    return api_path(version, kind["name"], place, document["metadata"]["name"])
