"""The language hosts that a workspace needs for programs in other languages than Python, and for the components."""

import os
import shutil
from pathlib import Path

from sandbox.engine.python_programs import HOST
from sandbox.engine.workspace import Workspace
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress


def place_language_hosts(workspace: Workspace) -> None:
    """Put the hosts beside the CLI of a prepared workspace."""
    built = ensure(["core", "languages"], Progress())
    beside = workspace.home.bin
    hosts = built.folder("language-hosts") / "language-hosts"
    for language in ("go", "nodejs", "yaml"):
        _link(hosts, beside / f"pulumi-language-{language}")
    _link(built.folder("pulumi-language-yaml") / "pulumi-language-yaml", beside / "older-language-yaml")
    # Where the workspace was prepared again, the launcher is there again.
    if built.builds_engine and (beside / HOST).read_bytes()[:2] == b"#!":
        (beside / HOST).replace(beside / "python-host" / "launcher")
        _link(hosts, beside / HOST)


def _link(program: Path, place: Path) -> None:
    place.unlink(missing_ok=True)
    try:
        os.link(program, place)
    except OSError:  # another file system, or one without links
        shutil.copy2(program, place)
