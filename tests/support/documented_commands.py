"""The commands that pages for people show: blocks of a console or shell, indented blocks, and code within a sentence.

A block with `$ ` has commands behind it and, between them, what they print. In any other block every line is a command
or a comment. A comment follows a command after two spaces, or stands above the lines that it is for.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

# What a reader can see of a command that no test can run: it needs an account at a cloud, or a cluster of the reader's.
NEEDS = re.compile(r"\bneeds (an account|a cluster)\b")

# Words that begin a command where nothing else says that it is one: in indented blocks, and blocks without a language.
_PROGRAMS = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:python|gpu-fabric|make|pulumi|kubectl|helm|pip|git|gh|oci|doctl|mpirun|kustomize|sed|diff|cat"
    r"|cp|mkdir|jq|curl|docker|source|export|cd|\.|\.ci/run|\S*\.(?:sandbox|venv)/bin/\w+)(?: |$)"
)
_SHELLS = ("console", "sh", "bash", "shell")
# Of a sentence only its code counts.
_MARKDOWN = (
    MarkdownIt("commonmark").enable("table").disable(["autolink", "emphasis", "entity", "html_inline", "image", "link"])
)
_IN_A_SENTENCE = re.compile(r"(?:gpu-fabric|python -m sandbox|make) .+|python -m \w+\.\w+.*|make|\.ci/run")
_COMMENT = re.compile(r"(?:^|\s{2,})#\s.*$")
# Behind a summary of a command's arguments, its purpose stands in plain words.
_PURPOSE = re.compile(r"\s{3,}\S.*$")


@dataclass(frozen=True)
class Command:
    """A command on a page, without its comment; `shown` is what stands under it, None where no output is shown."""

    page: str
    line: int
    text: str
    comment: str = ""
    shown: tuple[str, ...] | None = None
    inline: bool = False
    block: int = 0

    def __str__(self) -> str:
        return f"{self.place} {self.text}"

    @property
    def place(self) -> str:
        """Where a reader finds it."""
        return f"{self.page}:{self.line}"

    @property
    def needs(self) -> bool:
        """Whether the page says that it needs an account or a cluster."""
        return bool(NEEDS.search(self.comment))


def pages(root: Path) -> list[str]:
    """Every page for people, but for what is a record: decisions and golden files."""
    texts = [*root.glob("*.md"), *(root / "docs").glob("*.md"), *(root / "sandbox").rglob("*.md")]
    return sorted(str(path.relative_to(root)) for path in texts)


@cache
def commands(page: str, text: str) -> tuple[Command, ...]:
    """The commands of a page, in its order; a line of a block that is none is given as one, and nothing will run it."""
    return tuple(_commands(page, text))


def _commands(page: str, text: str) -> Iterator[Command]:
    for token in _MARKDOWN.parse(text):
        if token.type in ("fence", "code_block") and (is_fence_of_commands(token) or has_commands(token)):
            yield from _of_block(page, token)
        elif token.type == "inline":
            yield from _of_sentence(page, token)


def is_fence_of_commands(token: Token) -> bool:
    """Whether a block says itself that commands are in it."""
    return token.info.strip() in _SHELLS


def has_commands(token: Token) -> bool:
    """Whether a block of no language has a line that begins like a command."""
    return not token.info.strip() and any(
        line.startswith("$ ") or _PROGRAMS.match(line) for line in token.content.splitlines()
    )


def stack_files(text: str) -> dict[str, str]:
    """The stack files that a page shows whole, by the name in their first line."""
    blocks = (token.content for token in MarkdownIt("commonmark").parse(text) if token.info.strip() == "yaml")
    return {found[1]: block for block in blocks if (found := re.match(r"# (Pulumi\.[a-z0-9-]+\.yaml)\n", block))}


def _of_sentence(page: str, token: Token) -> Iterator[Command]:
    assert token.map is not None
    for child in token.children or ():
        if child.type == "code_inline" and _IN_A_SENTENCE.fullmatch(child.content):
            yield Command(page, token.map[0] + 1, " ".join(child.content.split()), inline=True)


def _of_block(page: str, token: Token) -> Iterator[Command]:
    assert token.map is not None
    first = token.map[0] + (2 if token.type == "fence" else 1)
    lines = list(enumerate(token.content.splitlines(), first))
    if any(line.startswith("$ ") for _, line in lines):
        yield from _with_output(page, lines, first)
    else:
        yield from _commands_alone(page, lines, first)


def _with_output(page: str, lines: list[tuple[int, str]], block: int) -> Iterator[Command]:
    starts = [index for index, (_, line) in enumerate(lines) if line.startswith("$ ")]
    for number, line in lines[: starts[0]]:
        yield Command(page, number, line, block=block)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        text, comment = _apart(lines[start][1][2:])
        shown = tuple(line for _, line in lines[start + 1 : end])
        yield Command(page, lines[start][0], text, comment, shown, block=block)


def _commands_alone(page: str, lines: list[tuple[int, str]], block: int) -> Iterator[Command]:
    above, joined, began, ended = "", "", 0, True
    for position, (number, line) in enumerate(lines):
        if not line.strip():
            above = ""
            continue
        if line.startswith("#"):
            above, ended = line if ended else f"{above} {line}", False
            continue
        began = began or number
        follows = lines[position + 1][1] if position + 1 < len(lines) else ""
        joined = f"{joined} {line.strip()}" if joined else line
        if line.endswith("\\") or re.match(r"\s{4,}\[", follows):
            joined = joined.removesuffix("\\").rstrip()
            continue
        text, comment = _apart(joined)
        yield Command(page, began, text, f"{above} {comment}".strip(), block=block)
        joined, began, ended = "", 0, True


def _apart(line: str) -> tuple[str, str]:
    """A command and the comment behind it."""
    found = _COMMENT.search(line) or _PURPOSE.search(line)
    return (line, "") if found is None else (line[: found.start()].rstrip(), found[0].strip())
