"""Helm's own records of releases (secrets), read and repaired after an interrupted run.

Helm refuses any operation on a release that it believes to be in the middle of another one, and nobody but the
interrupted process would ever have ended that.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from typing import Any

import yaml

from sandbox.kubernetes_api import Api
from sandbox.objects import delete_object, delete_path

INTERRUPTED = frozenset({"pending-install", "pending-upgrade", "pending-rollback"})


@dataclass(frozen=True)
class Revision:
    """One revision of a release."""

    namespace: str
    name: str
    number: int
    status: str

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/sh.helm.release.v1.{self.name}.v{self.number}"

    @property
    def release(self) -> tuple[str, str]:
        return self.namespace, self.name


def latest_revisions(api: Api) -> list[Revision]:
    """The newest revision of every release in the cluster."""
    newest: dict[tuple[str, str], Revision] = {}
    for secret in api.get("/api/v1/secrets", labelSelector="owner=helm")["items"]:
        labels = secret["metadata"]["labels"]
        revision = Revision(secret["metadata"]["namespace"], labels["name"], int(labels["version"]), labels["status"])
        if revision.release not in newest or newest[revision.release].number < revision.number:
            newest[revision.release] = revision
    return sorted(newest.values(), key=lambda revision: revision.release)


def forget(api: Api, revision: Revision) -> None:
    """Delete a revision's record. What it created stays, and the next install adopts it by its Helm labels."""
    delete_path(api, revision.path)


def forget_release(api: Api, namespace: str, name: str) -> None:
    """Delete the records of all revisions of a release; what it created stays."""
    selector = f"owner=helm,name={name}"
    for secret in api.get(f"/api/v1/namespaces/{namespace}/secrets", labelSelector=selector)["items"]:
        delete_path(api, f"/api/v1/namespaces/{namespace}/secrets/{secret['metadata']['name']}")


def uninstall(api: Api, revision: Revision) -> None:
    """Delete what a release's manifest names, then its records: for a release that the engine knows nothing of."""
    secret = api.get(revision.path)
    # Kubernetes encodes a secret's data once, Helm its record a second time
    record: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
    objects = [document for document in yaml.safe_load_all(record["manifest"]) if document]
    for document in reversed(objects):
        delete_object(api, document, revision.namespace)
    forget_release(api, *revision.release)
