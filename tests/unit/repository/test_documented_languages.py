"""The programs in other languages on the page are the examples, which tests of the engine run or compile."""

import re
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["yaml/Pulumi.yaml", "typescript/index.ts", "go/main.go"])
def test_the_page_has_the_example_as_it_is(root: Path, name: str) -> None:
    page = (root / "docs/languages.md").read_text(encoding="utf-8")
    language = name.partition("/")[0]
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert blocks == [(root / "examples/components" / name).read_text(encoding="utf-8")]
