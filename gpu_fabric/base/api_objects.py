"""Reading what others wrote: values below keys that may be missing, and the paths of objects in an API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def field(value: Any, *keys: str) -> Any:
    """The value below these keys; None where one is missing, or where a value above it is not a mapping."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def mapping(value: Any, *keys: str) -> Mapping[str, Any]:
    """The mapping below these keys; an empty one where there is none."""
    found = field(value, *keys)
    return found if isinstance(found, Mapping) else {}


def labels_of(item: Mapping[str, Any]) -> dict[str, str]:
    """The object's labels."""
    return field(item, "metadata", "labels") or {}


def annotations_of(item: Mapping[str, Any]) -> dict[str, str]:
    """The object's annotations."""
    return field(item, "metadata", "annotations") or {}


def condition(item: Any, kind: str) -> dict[str, Any]:
    """The condition of this type in an object's status; empty where it has none."""
    return next((row for row in rows(item, "status", "conditions") if row.get("type") == kind), {})


def is_true(item: Any, kind: str) -> bool:
    """Whether an object has the condition of this type, and it is true."""
    return condition(item, kind).get("status") == "True"


def api_path(api_version: str, plural: str = "", namespace: str | None = None, name: str = "") -> str:
    """The path of an object, of a collection, or of a version of an API group."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    return "/".join(filter(None, (root, namespace and f"namespaces/{namespace}", plural, name)))


def rows(value: Any, *keys: str) -> list[dict[str, Any]]:
    """The mappings in the list below these keys; none where there is no list."""
    found = field(value, *keys)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
