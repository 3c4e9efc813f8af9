"""The language hosts that a workspace needs for programs in other languages than Python, and for the components."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from sandbox.engine.python_programs import HOST
from sandbox.engine.workspace import Workspace
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress


def place_language_hosts(workspace: Workspace) -> None:
    """Put the hosts beside the CLI of a prepared workspace, where it has none of its own."""
    built = ensure(["core", "languages"], Progress())
    beside = workspace.home.bin
    hosts = built.folder("language-hosts") / "language-hosts"
    for language in ("go", "nodejs", "yaml"):
        _link(hosts, beside / f"pulumi-language-{language}")
    _link(built.folder("pulumi-language-yaml") / "pulumi-language-yaml", beside / "older-language-yaml")
    if built.builds_engine and not (launcher := beside / "python-host" / "launcher").exists():
        (beside / HOST).rename(launcher)
        _link(hosts, beside / HOST)


def _link(program: Path, place: Path) -> None:
    try:
        os.link(program, place)
    except FileExistsError:
        pass
    except OSError:  # another file system, or one without links
        shutil.copy2(program, place)
