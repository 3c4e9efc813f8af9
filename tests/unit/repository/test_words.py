"""Messages, pages and comments use the field's own words: the left column of the project's glossary does not occur."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BESIDE = r"(?<!\.)beside [a-z`{(]"
# What is not written, and what is written in its place.
WORDS = {
    r"anew\b": "is replaced, is re-created, again",
    r"(?:whoever|nobody|somebody|everybody|anybody)\b": "the component, operator or user by name",
    r"(?:his|him)\b": "the user's, or no pronoun",
    r"(?:lies|lie (?:in|on|outside|inside))\b": "is in, runs on, is stored in",
    r"(?:is|are|be|was|were) told\b": "is reported, is configured",
    r"brings (?:it|a|an|the|its|no)\b": "installs, contains",
    r"there already\b": "exists",
    r"(?<!here )is no (?!longer|more|such|less|other|loss)": "is not a valid",
    r"rolled\b": "restarted (rolling)",
    r"kinds of nodes\b": "node groups",
    r"goes (?:with|on)\b": "is deleted with, continues",
    r"held against\b": "compared with, checked against",
    BESIDE: "together with, next to, in addition to, outside",
}
FORBIDDEN = re.compile("|".join(rf"\b(?:{words})" for words in WORDS), re.IGNORECASE)
# A changed comment would start such a program again on every node, so it changes with the program.
ON_NODES = re.compile("|".join(rf"\b(?:{words})" for words in WORDS if words != BESIDE), re.IGNORECASE)
# Files that users read as they are, programs, and the program's data.
FILES = (
    *("*.md", "docs/**/*.md", "Makefile", "Pulumi.*.yaml", "examples/*.yaml", "tests/stacks/*.yaml"),
    *(".github/**/*.yaml", "gpu_fabric/**/*.j2", "sandbox/charts/**/values.yaml", "gpu_fabric/**/*.yaml"),
    "nccl_topology/*.toml",
    *(f"{program}/**/*.py" for program in ("gpu_fabric", "components", "stacks", "nccl_topology", "policy", "sandbox")),
)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file; of a program every text and comment, of the program's data what is no comment."""
    if path.suffix != ".py":
        data = (path.is_relative_to(ROOT / "gpu_fabric") and path.suffix == ".yaml") or path.suffix == ".toml"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not (data and line.lstrip().startswith("#")):
                yield number, line
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    with path.open("rb") as file:
        tokens = tokenize.tokenize(file.readline)
        yield from ((token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT)


@pytest.mark.parametrize("files", FILES)
def test_no_file_has_a_word_that_only_this_project_uses_so(files: str) -> None:
    paths = sorted(ROOT.glob(files))
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word[0]!r} in {text!r}"
        for path in paths
        for line, text in texts(path)
        if (word := (ON_NODES if "on_nodes" in path.parts else FORBIDDEN).search(text))
    ]

    assert paths
    assert found == []
