"""KWOK is woken where it waits for a change of Stages that it has already read."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox import stages


class Cluster:
    """Remembers the Stages that are changed; KWOK plays once so many are, or always with 0."""

    def __init__(self, needed: int) -> None:
        self.needed = needed
        self.changed: list[str] = []

    def patch(self, path: str, _body: dict[str, Any]) -> None:
        self.changed.append(path.rpartition("/")[2])

    def plays(self) -> bool:
        return len(self.changed) >= self.needed


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_PAUSE_S", 0.0005)
    monkeypatch.setattr(stages, "WOKEN_WITHIN_S", 0.05)


@pytest.mark.parametrize(
    ("needed", "changes"),
    [
        pytest.param(0, 0, id="one that plays is left alone"),
        pytest.param(2, 2, id="one that waits is woken until it plays"),
        pytest.param(9, 5, id="one that never says that it plays is left in the end"),
    ],
)
def test_kwok_is_woken_by_changes_of_a_stage_until_it_plays(needed: int, changes: int) -> None:
    cluster = Cluster(needed)
    stages.wake_kwok(cluster, cluster.plays)  # type: ignore[arg-type]
    assert cluster.changed == ["stage-again-soon"] * changes
