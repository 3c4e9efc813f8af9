"""No folder grows past its figure in the ledger of lines without a reason beside it."""

from pathlib import Path

import pytest
from ledger import PAGE, STEP, counted, ledger, written


def test_each_folder_has_no_more_lines_than_its_figure_and_a_reason_for_it(root: Path) -> None:
    found, figures = counted(root), ledger((root / PAGE).read_text())

    assert set(found) == set(figures)
    assert {folder: number for folder, number in found.items() if number > figures[folder][0]} == {}, (
        'say why by make lines REASON="..."'
    )
    assert [folder for folder, (_, reason) in figures.items() if not reason.strip()] == []


def test_growth_without_a_reason_is_refused_and_with_one_is_written(root: Path) -> None:
    page = (root / PAGE).read_text()
    folder, (most, _) = next(iter(ledger(page).items()))
    grown = {**{name: figure for name, (figure, _) in ledger(page).items()}, folder: most + 1}

    with pytest.raises(SystemExit, match=rf"^{folder} grew past the figure"):
        written(page, grown)

    after = ledger(written(page, grown, "it was needed"))
    assert after.pop(folder) == (most + STEP, "it was needed")
    assert after == {name: row for name, row in ledger(page).items() if name != folder}
