"""Acknowledgements that say too little, or that nobody can read."""

from __future__ import annotations

from typing import Any

from negative.mistake import Kind, together, written, written_below

_ENTRY = {"resource": "cluster-vpc", "expires": "2026-12-01", "reason": "the pool moves"}


def _without(key: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in _ENTRY.items() if name != key}]


def _with(**values: Any) -> list[dict[str, Any]]:
    return [{**_ENTRY, **values}]


KINDS = (
    Kind("a key of the guard is misspelt", "SPC001", together(
        written("guard.acknowlege", [_ENTRY]),
        written("guard.acknowledgements", [_ENTRY]),
        written_below("guard.acknowledge", "[0].until", _with(until="2026-12-01")))),
    Kind("an acknowledgement lacks what it needs", "SPC003",
        together(*(written_below("guard.acknowledge", f"[0].{key}", _without(key))
            for key in ("resource", "expires", "reason")))),
    Kind("an acknowledgement says nothing", "SPC002", together(
        written_below("guard.acknowledge", "[0].reason", _with(reason=""), _with(reason="  "), _with(reason=None)),
        written_below("guard.acknowledge", "[0].resource", _with(resource=""), _with(resource=["cluster-vpc"])))),
    Kind("an acknowledgement has no day", "SPC002",
        together(written_below("guard.acknowledge", "[0].expires",
            *(_with(expires=value) for value in ("never", "2026-13-01", "01.12.2026", "2026-12-01T12:00:00Z", 20261201,
            True, None))))),
    Kind("a resource is acknowledged twice", "SPC002",
        written("guard.acknowledge", [_ENTRY, {**_ENTRY, "expires": "2026-12-09"}])),
)  # fmt: skip
