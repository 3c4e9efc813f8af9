"""The review on its pull request: posted once, edited afterwards, and never where a stranger wants it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from json_server import json_server

from gpu_fabric.changes.diff_markdown import LIMIT
from gpu_fabric.changes.review import MARKER

SCRIPT = Path(__file__).parents[3] / ".ci" / "post_comment.py"
COMMIT = "c0ffee" * 6 + "beef"
BOT = "github-actions[bot]"


class FakeGitHub:
    """As much of GitHub's REST interface as the script uses; on loopback."""

    def __init__(self) -> None:
        self.pulls = [{"number": 7, "head": {"sha": COMMIT, "label": "acme:work"}}]
        self.comments: list[dict[str, Any]] = []
        self.writes: list[tuple[str, str]] = []
        self.tokens: set[str] = set()
        self.refuses = 0

    def comment(self, body: str, author: str = BOT) -> dict[str, Any]:
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"login": author}})
        return self.comments[-1]

    def answer(self, method: str, target: str, body: Any, authorization: str) -> tuple[int, Any]:
        path, _, query = target.partition("?")
        self.tokens.add(authorization)
        if self.refuses:
            return self.refuses, {}
        if method == "GET" and path == "/repos/acme/fabric/pulls":
            wanted = dict(part.split("=") for part in query.split("&"))["head"].replace("%3A", ":")
            return 200, [pull for pull in self.pulls if pull["head"]["label"] == wanted]
        if method == "GET" and path == "/repos/acme/fabric/issues/7/comments":
            page = int(query.rpartition("=")[2])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        self.writes.append((method, path))
        if method == "POST" and path == "/repos/acme/fabric/issues/7/comments":
            return 201, self.comment(body["body"])
        number = int(path.rpartition("/")[2])
        entry = next(entry for entry in self.comments if entry["id"] == number)
        entry["body"] = body["body"]
        return 200, entry


@pytest.fixture
def github() -> Iterator[tuple[FakeGitHub, str]]:
    fake = FakeGitHub()
    with json_server(fake.answer) as port:
        yield fake, f"http://127.0.0.1:{port}"


def _post(
    folder: Path, url: str, text: str = f"{MARKER}\n## hello\n", number: str = "7\n", **changed: str
) -> subprocess.CompletedProcess[str]:
    (folder / "comment.md").write_text(text)
    (folder / "number").write_text(number)
    environment = {
        "PATH": os.environ["PATH"],
        "GITHUB_API_URL": url,
        "GITHUB_REPOSITORY": "acme/fabric",
        "GITHUB_TOKEN": "very-secret",
        "HEAD_OWNER": "acme",
        "HEAD_BRANCH": "work",
        "HEAD_COMMIT": COMMIT,
        "RUN_URL": "https://example.com/run/1",
        **changed,
    }
    command = [sys.executable, str(SCRIPT), str(folder)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "very-secret" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def test_the_first_review_is_a_new_comment_and_says_which_commit_it_is_of(
    github: tuple[FakeGitHub, str], tmp_path: Path
) -> None:
    fake, url = github
    assert _post(tmp_path, url).returncode == 0
    assert fake.writes == [("POST", "/repos/acme/fabric/issues/7/comments")]
    assert fake.comments[0]["body"].startswith(f"{MARKER}\n## hello\n")
    assert f"Planned for {COMMIT[:12]} by [this run](https://example.com/run/1)" in fake.comments[0]["body"]
    assert fake.tokens == {"Bearer very-secret"}


def test_a_later_review_is_written_into_the_same_comment_however_many_there_are(
    github: tuple[FakeGitHub, str], tmp_path: Path
) -> None:
    fake, url = github
    for number in range(130):
        fake.comment(f"talk {number}", "somebody")
    ours = fake.comment(f"{MARKER}\nold")
    assert _post(tmp_path, url).returncode == 0
    assert fake.writes == [("PATCH", f"/repos/acme/fabric/issues/comments/{ours['id']}")]
    assert "## hello" in ours["body"]


def test_a_comment_with_our_mark_by_somebody_else_is_left_alone(github: tuple[FakeGitHub, str], tmp_path: Path) -> None:
    fake, url = github
    theirs = fake.comment(f"{MARKER}\nmine", "somebody")
    assert _post(tmp_path, url).returncode == 0
    assert theirs["body"] == f"{MARKER}\nmine"
    assert fake.writes == [("POST", "/repos/acme/fabric/issues/7/comments")]


@pytest.mark.parametrize(
    ("number", "changed"),
    [
        ("8", {}),
        ("7; echo", {}),
        ("", {}),
        ("7", {"HEAD_COMMIT": "0" * 40}),
        ("7", {"HEAD_OWNER": "mallory"}),
        ("7", {"HEAD_BRANCH": "another"}),
    ],
    ids=["another number", "no number", "nothing", "an older commit", "a stranger's", "another branch"],
)
def test_nothing_is_posted_where_github_does_not_know_the_commit_in_the_pull_request(
    github: tuple[FakeGitHub, str], tmp_path: Path, number: str, changed: dict[str, str]
) -> None:
    fake, url = github
    ended = _post(tmp_path, url, number=number, **changed)
    assert ended.returncode == 0
    assert "::notice::no comment" in ended.stdout
    assert fake.writes == []


@pytest.mark.parametrize("text", ["", "no mark", f"{MARKER}\n{'x' * LIMIT}"], ids=["empty", "no review", "too long"])
def test_what_is_no_review_is_not_posted(github: tuple[FakeGitHub, str], tmp_path: Path, text: str) -> None:
    fake, url = github
    assert "::notice::no comment" in _post(tmp_path, url, text).stdout
    assert fake.writes == []


def test_a_run_that_left_nothing_is_no_failure(github: tuple[FakeGitHub, str], tmp_path: Path) -> None:
    fake, url = github
    _post(tmp_path, url)
    fake.writes.clear()
    (tmp_path / "comment.md").unlink()
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)],
        env={**os.environ, "GITHUB_API_URL": url, "GITHUB_REPOSITORY": "acme/fabric", "GITHUB_TOKEN": "x"},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, fake.writes) == (0, [])
    assert "the run has left no comment.md" in ended.stdout


@pytest.mark.parametrize(
    "sign", ["@", "&#64;", "&#0064;", "&#x40;", "&#X040;", "&commat;", "<b>&#64", "<b>&#x40", "@\u2060"]
)
@pytest.mark.parametrize("name", ["octocat", "&#111;ctocat"], ids=["as it is", "escaped"])
def test_however_a_stranger_writes_it_nobody_is_mentioned(
    github: tuple[FakeGitHub, str], tmp_path: Path, sign: str, name: str
) -> None:
    fake, url = github
    fake.pulls[0]["head"]["label"] = "mallory:work"  # type: ignore[index]
    written = _post(tmp_path, url, f"{MARKER}\nhello {sign}{name} of a@b\n", HEAD_OWNER="mallory")
    assert written.returncode == 0
    # GitHub reads entities before it looks for names behind the sign.
    shown = unescape(fake.comments[0]["body"])
    assert "@\u2060octocat" in shown
    assert not re.search(r"@(?!\u2060)", shown)


def test_a_refusal_of_githubs_fails_the_job_and_says_what_was_refused(
    github: tuple[FakeGitHub, str], tmp_path: Path
) -> None:
    fake, url = github
    fake.refuses = 403
    ended = _post(tmp_path, url)
    assert ended.returncode == 1
    assert "GitHub answers GET /pulls with 403" in ended.stderr


def test_a_review_as_long_as_a_comment_may_be_is_posted_without_the_note_of_its_run(
    github: tuple[FakeGitHub, str], tmp_path: Path
) -> None:
    fake, url = github
    text = f"{MARKER}\n".ljust(LIMIT, "x")
    assert _post(tmp_path, url, text).returncode == 0
    assert fake.comments[0]["body"] == text
