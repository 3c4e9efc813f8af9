"""Puts a review on its pull request, in the place of the one before: python .ci/post_comment.py FOLDER

FOLDER has `comment.md`, and `number` with the pull request's number. Both come from code of the pull request, which may
be a stranger's: the number counts only where GitHub itself says that this pull request has the commit that was planned.

From the environment: GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN, HEAD_OWNER, HEAD_BRANCH and HEAD_COMMIT (what was
planned), RUN_URL (where).
"""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

MARKER = "<!-- gpu-fabric review -->"
AUTHOR = "github-actions[bot]"
LIMIT = 65_536
# What GitHub reads as `@` before it looks for mentions, with what keeps it from being one already. Where HTML stands
# among Markdown, an entity needs no semicolon.
MENTION = re.compile(r"(?:@|&commat;|&#0*64(?!\d);?|&#[xX]0*40(?![0-9a-fA-F]);?)\u2060?")


class NotPosted(Exception):
    """There is no comment, and the text says why."""


class RefusedError(Exception):
    """GitHub refuses a request; the text says which, and has nothing of its answer's body."""


class GitHub:
    """A repository at GitHub, by its REST interface."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._url = urlsplit(environment["GITHUB_API_URL"])
        self._repository = f"{self._url.path}/repos/{environment['GITHUB_REPOSITORY']}"
        self._headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {environment['GITHUB_TOKEN']}",
            "User-Agent": "gpu-fabric",
        }

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to a request. Raises RefusedError."""
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._url.netloc, timeout=60)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, f"{self._repository}{path}", sent, self._headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise RefusedError(f"GitHub answers {method} {path.partition('?')[0]} with {answer.status} {answer.reason}")
        return json.loads(content)


def post(folder: Path, environment: Mapping[str, str]) -> str:
    """Write the comment, or edit the one that is there; says which.

    Raises:
        NotPosted: there is no comment to post, or no pull request for it.
        RefusedError: GitHub does not let it.
    """
    github = GitHub(environment)
    text = _text(folder, environment)
    number = _number(folder, github, environment)
    if (old := _posted(github, number)) is not None:
        github.request("PATCH", f"/issues/comments/{old}", {"body": text})
        return f"edited the comment on pull request {number}"
    github.request("POST", f"/issues/{number}/comments", {"body": text})
    return f"commented on pull request {number}"


def _text(folder: Path, environment: Mapping[str, str]) -> str:
    text = _content(folder / "comment.md")
    if not text.startswith(MARKER):
        raise NotPosted("the run has left no review")
    if environment["HEAD_OWNER"] != environment["GITHUB_REPOSITORY"].partition("/")[0]:
        # In our name a stranger's text calls nobody: a character that is not seen keeps a name from being a mention.
        text = MENTION.sub("@\u2060", text)
    footer = f"\n<sub>Planned for {environment['HEAD_COMMIT'][:12]} by [this run]({environment['RUN_URL']}).</sub>\n"
    if len(text) > LIMIT:
        raise NotPosted(f"the review has {len(text)} characters, and a comment takes {LIMIT}")
    return text + footer if len(text) + len(footer) <= LIMIT else text


def _number(folder: Path, github: GitHub, environment: Mapping[str, str]) -> int:
    """The number that the run has left, where GitHub knows it as a pull request with the planned commit."""
    query = {"state": "open", "head": f"{environment['HEAD_OWNER']}:{environment['HEAD_BRANCH']}", "per_page": "100"}
    found = github.request("GET", f"/pulls?{urlencode(query, quote_via=quote)}")
    numbers = {str(entry["number"]) for entry in found if entry["head"]["sha"] == environment["HEAD_COMMIT"]}
    claimed = _content(folder / "number").strip()
    if claimed not in numbers:
        raise NotPosted("no open pull request has this commit: it was closed, or has a newer one")
    return int(claimed)


def _posted(github: GitHub, number: int) -> int | None:
    """The comment that an earlier run has written."""
    page = 1
    while True:
        found = github.request("GET", f"/issues/{number}/comments?per_page=100&page={page}")
        for entry in found:
            if entry["user"]["login"] == AUTHOR and entry["body"].startswith(MARKER):
                return int(entry["id"])
        if len(found) < 100:
            return None
        page += 1


def _content(file: Path) -> str:
    try:
        # What is longer than any comment is none; and a link could lead anywhere.
        if file.is_symlink() or file.stat().st_size > 4 * LIMIT:
            raise NotPosted(f"{file.name} is no file of a review")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise NotPosted(f"the run has left no {file.name}") from None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        print(post(Path(sys.argv[1]), os.environ))
    except NotPosted as error:
        # No fault of the pull request's: a run that was overtaken ends so, too.
        print(f"::notice::no comment: {error}")
    except RefusedError as error:
        sys.exit(str(error))
