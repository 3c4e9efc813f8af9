"""How long jobs wait for a link, by the settings of each choice and by the page's table."""

import re
from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.nccl.outage import outage


def test_seven_retries_of_a_timeout_of_22_ride_out_two_minutes() -> None:
    found = outage({"NCCL_IB_TIMEOUT": "22"})

    # 4.096 us x 2^22 is 17.18 s.
    assert (round(found.ridden_out, 2), round(found.earliest, 2)) == (120.26, 137.44)


def test_fewer_retries_ride_out_less() -> None:
    assert round(outage({"NCCL_IB_TIMEOUT": "20", "NCCL_IB_RETRY_CNT": "3"}).ridden_out, 1) == 12.9


def test_no_retry_rides_out_nothing() -> None:
    assert outage({"NCCL_IB_RETRY_CNT": "0"}).ridden_out == 0


def test_the_table_of_the_page_is_the_formulas(root: Path) -> None:
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) s \| ([\d.]+) s \| ([\d.]+) to (\d+) s", _page(root), re.MULTILINE)

    assert [row[0] for row in rows] == ["14", "18", "20", "22"]
    for timeout, wait, ridden_out, earliest, latest in rows:
        found = outage({"NCCL_IB_TIMEOUT": timeout})
        assert (found.ridden_out, found.earliest, found.latest) == (
            pytest.approx(float(ridden_out), abs=0.05),
            pytest.approx(float(earliest), abs=0.06),
            pytest.approx(float(latest), abs=0.6),
        )
        assert found.earliest - found.ridden_out == pytest.approx(float(wait), abs=0.006)


def test_the_page_names_every_choice(root: Path) -> None:
    assert all(f"| `{choice}` |" in _page(root) for choice in catalog().nccl_resilience)


def _page(root: Path) -> str:
    return (root / "docs" / "resilience.md").read_text(encoding="utf-8")
