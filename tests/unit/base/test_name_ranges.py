"""Names that are written as ranges of numbers."""

import re

import pytest

from gpu_fabric.base.name_ranges import MOST_NAMES, every_name, names_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu-7", ("gpu-7",)),
        ("", ("",)),
        ("gpu-[001-003]", ("gpu-001", "gpu-002", "gpu-003")),
        ("gpu-[8-11]", ("gpu-8", "gpu-9", "gpu-10", "gpu-11")),
        ("gpu-[08-11].lab", ("gpu-08.lab", "gpu-09.lab", "gpu-10.lab", "gpu-11.lab")),
        ("gpu-[1-2,5, 007]", ("gpu-1", "gpu-2", "gpu-5", "gpu-007")),
        ("r[1-2]-n[1-2]", ("r1-n1", "r1-n2", "r2-n1", "r2-n2")),
        ("[99-101]", ("99", "100", "101")),
    ],
)
def test_a_text_stands_for_names_in_order(text: str, names: tuple[str, ...]) -> None:
    assert names_of(text) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpu-[001-", "has a bracket without its other one"),
        ("gpu-]1[", "has a bracket without its other one"),
        ("gpu-[[1-2]]", "has a bracket without its other one"),
        ("gpu-[]", "holds no numbers"),
        ("gpu-[a-c]", "holds no numbers"),
        ("gpu-[1-2-3]", "holds no numbers"),
        ("gpu-[9-3]", "9-3 runs backwards; write 3-9"),
        ("gpu-[1-99999]", "1-99999 are 99999 names; at most 8192"),
        ("r[1-100]-n[1-100]", "stands for 10000 names; at most 8192 are possible"),
        ("gpu-[1-9999999999]", "holds no numbers"),
    ],
)
def test_what_stands_for_no_names_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        names_of(text)


def test_a_list_has_a_limit_too() -> None:
    with pytest.raises(ValueError, match=f"more than {MOST_NAMES} names"):
        every_name(["a[1-8000]", "b[1-8000]"])
