"""AdmissionReview in, AdmissionReview out: the form in which the API server asks a webhook. Pure functions."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]


def allowed(review: Mapping[str, Any], after: Mapping[str, Any] | None = None) -> Object:
    """The answer that lets a request pass, and changes its object into `after` if given."""
    request = review["request"]
    response: Object = {"uid": request["uid"], "allowed": True}
    patch = json_patch(request["object"], after) if after is not None else []
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
    return _answer(response)


def refused(review: Mapping[str, Any], reason: str) -> Object:
    """The answer that stops a request."""
    status = {"code": 403, "reason": "Forbidden", "message": reason}
    return _answer({"uid": review["request"]["uid"], "allowed": False, "status": status})


def _answer(response: Object) -> Object:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def json_patch(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> list[Object]:
    """The operations of RFC 6902 that make one object the other; a list that differs is replaced whole."""
    operations: list[Object] = []
    for key, value in after.items():
        place = f"{path}/{_escaped(key)}"
        if key not in before:
            operations.append({"op": "add", "path": place, "value": value})
        elif isinstance(value, Mapping) and isinstance(before[key], Mapping):
            operations += json_patch(before[key], value, place)
        elif value != before[key]:
            operations.append({"op": "replace", "path": place, "value": value})
    operations += [{"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in before if key not in after]
    return operations


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
