"""The pages for people as a whole: each is found, each link leads somewhere, and what they say of files is so."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from each_case import each
from examples_index import FOLDERS
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(
    str(path.relative_to(ROOT))
    for folder in ("docs", "sandbox", "policy", "tests/stacks", "examples", "templates", ".")
    for path in (ROOT / folder).glob("*.md" if folder == "." else "**/*.md")
)
DECISIONS = sorted(path.name for path in (DOCS / "decisions").glob("0*.md"))


@cache
def parsed(page: Path) -> tuple[Token, ...]:
    return tuple(MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")))


def inline(page: Path) -> Iterator[Token]:
    for token in parsed(page):
        yield from token.children or ()


def targets(page: Path) -> list[str]:
    """What the page's links and pictures point at."""
    return [str(token.attrs.get("href") or token.attrs.get("src")) for token in inline(page) if token.attrs]


def anchors(page: Path) -> set[str]:
    """The page's headings, as links name them."""
    tokens = parsed(page)
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def linked(page: Path) -> set[Path]:
    """The files that a page links to."""
    paths = (target.partition("#")[0] for target in targets(page) if "://" not in target)
    return {(page.parent / path).resolve() for path in paths if path}


@each("page", PAGES)
def test_every_link_on_a_page_leads_somewhere(page: str) -> None:
    file = ROOT / page
    for target in targets(file):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = file.parent / path if path else file
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def test_the_index_of_examples_has_every_stack_and_every_folder_in_its_own_words() -> None:
    index, examples = ROOT / "examples/README.md", ROOT / "examples"
    folders = {path for path in examples.iterdir() if path.is_dir() and path.name != "__pycache__"}
    rows = [line for line in index.read_text(encoding="utf-8").splitlines() if line.startswith("| [")]

    assert {path.name for path in folders} == set(FOLDERS)
    assert {*examples.glob("Pulumi.*.yaml"), *folders} <= linked(index)
    assert [row for row in rows if len(row.split("|")[-2].split()) < 4] == []
    assert index in linked(DOCS / "README.md") & linked(ROOT / "README.md")


@each("page", PAGES)
def test_programs_on_a_page_import_what_is_there(page: str) -> None:
    blocks = [token.content for token in parsed(ROOT / page) if token.type == "fence" and token.info == "python"]
    nodes = (node for block in blocks for node in ast.parse(block).body)
    lines = [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]

    # A checkout has the components under the name that existing stacks recorded, and the policies under their folder's.
    here = "\n".join(lines).replace("gpu_fabric.components", "components")
    here = re.sub(r"\bgpu_fabric_(policy|nccl_topology)\b", r"\1", here)
    exec(here, {})  # noqa: S102  # imports alone


def test_the_index_has_every_page() -> None:
    pages = {path.resolve() for path in DOCS.glob("*.md")} - {DOCS / "README.md"}
    wanted = pages | set((DOCS / "schema").glob("*.json")) | {DOCS / "decisions/README.md", ROOT / "CONTRIBUTING.md"}

    assert {str(path.relative_to(ROOT)) for path in wanted - linked(DOCS / "README.md")} == set()

    assert DOCS / "README.md" in linked(ROOT / "README.md")


@each("name", DECISIONS)
def test_the_index_of_decisions_has_each_by_its_number_and_title(name: str) -> None:
    number, _, title = (DOCS / "decisions" / name).read_text("utf-8").splitlines()[0].removeprefix("# ").partition(": ")

    assert name.startswith(f"{number}-")
    assert f"| [{number}]({name}) | {title} |\n" in (DOCS / "decisions/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md", "docs/testing.md", "docs/upgrading.md"])
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    """In words of a page that look like a path in this repository; `<subject>` and `*` stand for any name."""
    code = [token.content for token in inline(ROOT / page) if token.type == "code_inline"]
    tops = {path.name for path in ROOT.iterdir()} - {".sandbox", ".venv"}
    named = [path for path in code if path.partition("/")[0] in tops and " " not in path]

    assert named
    assert [path for path in named if not any(ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))] == []


def test_the_readme_shows_the_picture_of_the_report() -> None:
    assert DOCS / "fabric.svg" in linked(ROOT / "README.md")
