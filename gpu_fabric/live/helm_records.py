"""What Helm has on record of a release's revision, and the objects that a chart wrote."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from collections.abc import Iterator

from gpu_fabric.live.cluster import Cluster, Json, api_path, field, name_of


def record_of(secret: Json) -> Json | None:
    """The record that a Secret of Helm's has; None where it cannot be read."""
    try:
        # Kubernetes encodes a Secret's data once, and Helm its record a second time.
        text = base64.b64decode(base64.b64decode(field(secret, "data", "release") or ""))
        record: Json = json.loads(gzip.decompress(text))
    except (binascii.Error, OSError, EOFError, ValueError):
        return None
    return record


def manifests(record: Json) -> Iterator[Json]:
    """The objects of a record as the chart wrote them, without hooks, which Helm deletes again."""
    # Here, since most examinations need no manifest.
    import yaml

    try:
        documents = list(yaml.safe_load_all(str(record.get("manifest") or "")))
    except yaml.YAMLError:
        return
    for document in documents:
        if isinstance(document, dict) and document.get("kind"):
            # Helm writes the objects of a list one by one.
            yield from document["items"] if str(document["kind"]).endswith("List") else (document,)


def place_of(cluster: Cluster, manifest: Json, namespace: str) -> tuple[str, str | None] | None:
    """The collection of the object that a manifest describes, and its namespace; `namespace` is that of the release.

    None for a kind that the cluster does not serve.
    """
    version = str(manifest.get("apiVersion", ""))
    served = field(cluster.get(api_path(version, "").rstrip("/")), "resources") or ()
    kind = next((row for row in served if row["kind"] == manifest.get("kind") and "/" not in row["name"]), None)
    if kind is None:
        return None
    home = (field(manifest, "metadata", "namespace") or namespace) if kind["namespaced"] else None
    return api_path(version, kind["name"], home), home


def object_path(cluster: Cluster, manifest: Json, namespace: str) -> str | None:
    """The path of the object that a manifest describes; None for a kind that the cluster does not serve."""
    place = place_of(cluster, manifest, namespace)
    return None if place is None else f"{place[0]}/{name_of(manifest)}"
