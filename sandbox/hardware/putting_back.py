"""When an operator that looks at no revision puts its DaemonSets back: pure bookkeeping of what others have changed.

The Network Operator of line 23.10 writes its DaemonSets whole at each reconcile. What others have written there since,
an annotation of the pod template included, is gone then, and the pods roll once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

# The last public candidate of 23.10 took 13 s; here it is enough that `up` has gone on meanwhile.
PUT_BACK_S = 3.0


class Changed:
    """Since when each DaemonSet is not as the operator wrote it, by the generation that Kubernetes counts."""

    def __init__(self) -> None:
        self._written: dict[str, int] = {}
        self._since: dict[str, float] = {}

    def wrote(self, item: Mapping[str, Any]) -> None:
        """Take note of a DaemonSet as it is after the operator's write."""
        self._written[_uid(item)] = item["metadata"]["generation"]

    def due(self, present: Iterable[Mapping[str, Any]], now: float) -> list[str]:
        """The uids of the DaemonSets that are to be put back now.

        One that was written before this process counts as changed: to put it back changes nothing.
        """
        changed = [_uid(item) for item in present if self._written.get(_uid(item)) != item["metadata"]["generation"]]
        self._since = {uid: self._since.get(uid, now) for uid in changed}
        return [uid for uid in changed if now - self._since[uid] >= PUT_BACK_S]

    def next(self) -> float:
        """When to look again, infinite where nothing was changed."""
        return min(self._since.values(), default=math.inf) + PUT_BACK_S


def _uid(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["uid"])
