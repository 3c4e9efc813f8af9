"""Whose a bearer token is: the answers to the API server's TokenReviews, from a private file of tokens.

The file is a JSON object, token -> end of its validity as an ISO 8601 time with its offset, or null for one without
an end. Every token in it is an administrator's.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .home import write_private

Object = dict[str, Any]
Tokens = Mapping[str, datetime.datetime | None]

_USER = {"username": "cloud-administrator", "groups": ["system:masters"]}


def write_tokens(file: Path, tokens: Tokens) -> None:
    """Replace the tokens that are taken (file mode 600)."""
    write_private(file, json.dumps({token: end and end.isoformat() for token, end in tokens.items()}))


def read_tokens(file: Path) -> dict[str, datetime.datetime | None]:
    """The tokens of a file with their expiry; none while there is no file."""
    try:
        ends: dict[str, str | None] = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    return {token: None if end is None else datetime.datetime.fromisoformat(end) for token, end in ends.items()}


def is_good(end: datetime.datetime | None, now: datetime.datetime) -> bool:
    """Whether a token that is good until `end` is so now."""
    return end is None or now < end


def reviewed(review: Mapping[str, Any], tokens: Tokens, now: datetime.datetime) -> Object:
    """The TokenReview (authentication.k8s.io/v1) that answers another one."""
    token = review["spec"].get("token", "")
    known = token in tokens and is_good(tokens[token], now)
    status: Object = {"authenticated": True, "user": _USER} if known else {"authenticated": False}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status}
