"""KWOK is woken where it waits for a change of Stages that it has already read."""

from unittest.mock import MagicMock

import pytest

from sandbox import stages


@pytest.mark.parametrize(
    ("needed", "changes"),
    [
        pytest.param(0, 0, id="one that plays is left alone"),
        pytest.param(2, 2, id="one that waits is woken until it plays"),
        pytest.param(9, 5, id="one that never says that it plays is left in the end"),
    ],
)
def test_kwok_is_woken_by_changes_of_a_stage_until_it_plays(
    needed: int, changes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "_PAUSE_S", 0.0005)
    monkeypatch.setattr(stages, "WOKEN_WITHIN_S", 0.05)
    cluster = MagicMock()
    stages.wake_kwok(cluster, lambda: cluster.patch.call_count >= needed)
    assert [call.args[0].rpartition("/")[2] for call in cluster.patch.call_args_list] == ["stage-again-soon"] * changes
