"""Applying and deleting objects of any kind, found by what a manifest says of them."""

from __future__ import annotations

from typing import Any

from sandbox.kubernetes_api import Api, ApiError


def apply_object(api: Api, document: dict[str, Any]) -> None:
    """Make the object that a manifest describes what it says, whoever had set its fields.

    Raises ApiError, with status 404 for a kind that the cluster does not serve.
    """
    path = _object_path(api, document, "default")
    if path is None:
        raise ApiError(404, f"the cluster serves no {document['kind']} of {document['apiVersion']}")
    api.apply(path, document)


def delete_object(api: Api, document: dict[str, Any], namespace: str = "default") -> bool:
    """Delete the object that a manifest describes, in the given namespace unless it names one; True if it was there.

    An object whose kind the cluster does not serve counts as gone. Raises ApiError.
    """
    path = _object_path(api, document, namespace)
    return path is not None and delete_path(api, path)


def delete_path(api: Api, path: str) -> bool:
    """Delete what lies at a path of the API; True if something did."""
    try:
        api.delete(path)
    except ApiError as error:
        if error.status != 404:
            raise
        return False
    return True


def _object_path(api: Api, document: dict[str, Any], namespace: str) -> str | None:
    version = document["apiVersion"]
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    try:
        served = api.get(group)["resources"]
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    kind = next((row for row in served if row["kind"] == document["kind"] and "/" not in row["name"]), None)
    if kind is None:
        return None
    place = f"/namespaces/{document['metadata'].get('namespace', namespace)}" if kind["namespaced"] else ""
    return f"{group}{place}/{kind['name']}/{document['metadata']['name']}"
