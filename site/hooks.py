"""What the site has besides docs/: the files of the repository to which pages link, and old addresses of pages."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
# A link to a file or folder outside of docs/, with the part of it that is meant.
_LINK = re.compile(r"(?<=\]\()(\.\./[^)\s#]*)(#[^)\s]*)?(?=\))")
_SHOWN = "repository"
_MOST = 200_000


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each file outside of docs/ that a page names."""
    wanted = {
        place
        for page in files.documentation_pages()
        for link in _LINK.findall(page.content_string)
        if not (place := _place(page.src_uri, link[0])).startswith("docs/")
    }
    for place in sorted(wanted):
        files.append(File.generated(config, _page(place), content=_content(ROOT / place, place)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files outside of docs/ lead to their pages."""

    def shown(found: re.Match[str]) -> str:
        place = _place(page.file.src_uri, found[1])
        if place.startswith("docs/"):
            return found[0]
        anchor = (found[2] or "") if place.endswith(".md") else ""
        return relpath(_page(place), dirname(page.file.src_uri) or ".") + anchor

    return _LINK.sub(shown, markdown) if not page.file.src_uri.startswith(_SHOWN) else markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Write a page at the old address of each renamed one, which leads to the new."""
    for old, new in config.extra["renamed"].items():
        here, there = (Path(name).with_suffix(".html") for name in (old, new))
        if not Path(config.site_dir, there).is_file():
            raise PluginError(f"mkdocs.yml: {old} is renamed to {new}, which is not a page")
        script = f'<script>location.replace("{there}" + location.hash)</script>'
        page = f'<!doctype html><meta charset="utf-8">{script}<a href="{there}">{new}</a>\n'
        Path(config.site_dir, here).write_text(page, encoding="utf-8")


def _place(page: str, link: str) -> str:
    """Where in the repository a page's link leads."""
    return normpath(f"docs/{dirname(page)}/{link}")


def _page(place: str) -> str:
    return f"{_SHOWN}/{place if place.endswith('.md') else f'{place}.md'}"


def _content(path: Path, place: str) -> str:
    """A page that shows a file, or the names in a folder."""
    if path.is_dir():
        names = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith((".", "__")))
        return f"# {place}\n\n" + "".join(f"- `{name}`\n" for name in names)
    text = path.read_text(encoding="utf-8")[:_MOST]
    if path.suffix == ".md":
        # Its own links lead through the repository, of which the site has a part.
        return re.sub(r"!?\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)
    fence = "`" * 8
    return f"# {place}\n\n{fence}{path.suffix.removeprefix('.')}\n{text}\n{fence}\n"
