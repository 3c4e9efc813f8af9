"""Names that the program has a list of are not listed again by hand: a new operator or model would be missed there."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from program_lists import NAMES

# Files in which such a list is a choice of names and not all of them: which one, and from where.
ALLOWED: dict[str, str] = {
    "support/chart_values.py": "the charts whose values are published as no file, from all of the catalog's",
    "unit/changes/test_upgrade.py": "the lines between two others, in their order",
}
FEWEST = 3


def lists_by_hand(source: str) -> Iterator[tuple[int, str]]:
    """Lines with three or more names of one sort and nothing else; what a test expects (`assert`) is its own."""
    tree = ast.parse(source)
    expected = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Assert) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.List | ast.Tuple | ast.Set) or id(node) in expected or len(node.elts) < FEWEST:
            continue
        found = {entry.value for entry in node.elts if isinstance(entry, ast.Constant)}
        for sort, names in NAMES.items():
            if len(found) >= FEWEST and len(node.elts) == len(found) and found <= {*names}:
                yield node.lineno, sort


def lists_in_rows(source: str) -> Iterator[tuple[int, str]]:
    """The same of rows in YAML."""
    nodes: list[Any] = [yaml.compose(source, getattr(yaml, "CSafeLoader", yaml.SafeLoader))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.MappingNode):
            nodes += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value
            found = {entry.value for entry in node.value if isinstance(entry, yaml.ScalarNode)}
            for sort, names in NAMES.items():
                if FEWEST <= len(found) == len(node.value) and found <= {*names}:
                    yield node.start_mark.line + 1, sort


def test_tests_take_names_of_the_program_from_its_own_lists(root: Path) -> None:
    found = {
        path.relative_to(root / "tests").as_posix(): lines
        for end, look in (("py", lists_by_hand), ("yaml", lists_in_rows))
        for path in sorted((root / "tests").rglob(f"*.{end}"))
        if any(
            sum(name in (source := path.read_text(encoding="utf-8")) for name in names) >= FEWEST
            for names in NAMES.values()
        )
        if (lines := [*look(source)])
    }

    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}
    assert [name for name in ALLOWED if name not in found] == []
