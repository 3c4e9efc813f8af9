"""What the waves write on nodes: annotations from which a later run knows what has happened to a node."""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from gpu_fabric.base.api_objects import annotations_of as annotations_of
from gpu_fabric.base.api_objects import labels_of as labels_of

from ..cluster_api import Json

WAVE = "gpu-fabric.dev/wave"
"""On a node while its wave lasts, as JSON: a `Mark`."""
UPGRADED, HOOKED = "gpu-fabric.dev/upgraded", "gpu-fabric.dev/hooked"
"""On a node: the revision with which it was last proven, and the digest of the hook that it has run."""
PROVE, PROVED = "gpu-fabric.dev/prove", "gpu-fabric.dev/proved"
"""Annotations by which a node's check is asked for and answers."""


class Phase(StrEnum):
    """What a node's wave waits for."""

    JOBS = "jobs"
    CHANGE = "change"
    PROOF = "proof"


class Mark(NamedTuple):
    """A node's wave: its phase since a time of the cluster's clock, and why it failed; empty while it has not.

    `whole`: from cordon to uncordon, else the proof alone. `cordoned`: by the waves, so that they uncordon it again.
    """

    phase: Phase
    since: datetime
    whole: bool
    cordoned: bool
    failed: str = ""

    def to_json(self) -> str:
        """The text of the annotation."""
        return json.dumps({**self._asdict(), "since": self.since.isoformat()})


def mark_of(node: Json) -> Mark | None:
    """A node's mark; None where it has none, or one that cannot be read."""
    try:
        found: dict[str, Any] = json.loads(annotations_of(node)[WAVE])
        since = datetime.fromisoformat(found["since"])
        return Mark(Phase(found["phase"]), since, bool(found["whole"]), bool(found["cordoned"]), str(found["failed"]))
    except (KeyError, ValueError, TypeError):
        return None


def is_cordoned(node: Json) -> bool:
    """Whether new pods stay off the node."""
    return bool(node["spec"].get("unschedulable"))
