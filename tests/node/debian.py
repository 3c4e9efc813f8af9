"""Debian's QEMU and the files of a machine for it, from packages unpacked in the user's cache: nothing is installed.

The packages come from the mirror that this machine's own apt uses, or from DEBIAN_MIRROR; apt checks their signatures.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from sandbox.toolchain.recipes import user_cache

SUITE = "trixie"
# In the suite's own kernel (6.12) rxe does not know network namespaces: "rxe_newlink: failed to add net1".
KERNEL_SUITE = f"{SUITE}-backports"
MODULES = ("igb", "igbvf", "rdma_rxe", "ib_uverbs", "macvlan")
# kmod opens modules with liblzma5, which its package only recommends.
PROGRAMS = (
    *("bash", "coreutils", "dash", "ibverbs-providers", "iproute2", "kmod"),
    *("liblzma5", "mount", "perftest", "sed", "util-linux"),
)
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PLUGINS = "/opt/cni/bin"
"""Where the machine has CNI plug-ins."""
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class NotPossible(Exception):
    """The packages cannot be had on this machine; the text is the reason."""


class Debian:
    """A folder with QEMU, and one with the files of the machine that it boots."""

    def __init__(self, folder: Path) -> None:
        self._qemu, self.guest = folder / "qemu", folder / "guest"

    @property
    def kernel(self) -> Path:
        return next(self.guest.parent.glob("vmlinuz*"))

    def qemu(self, *arguments: str) -> list[str]:
        """A command line of QEMU, with its own libraries and firmware."""
        firmware = (word for name in ("qemu", "seabios") for word in ("-L", f"{self._qemu}/usr/share/{name}"))
        return [*_program(self._qemu, "usr/bin/qemu-system-x86_64"), *firmware, *arguments]


def debian() -> Debian:
    """What is in the cache, or comes there: 170 MB of packages, which leave 270 MB."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise NotPossible(f"no program `{program}` on PATH")
    if not KEYRING.exists():
        raise NotPossible(f"no {KEYRING} (package debian-archive-keyring)")
    wanted = repr((KERNEL_SUITE, MODULES, PROGRAMS))
    folder = user_cache() / "node" / hashlib.sha256(wanted.encode()).hexdigest()
    if not folder.exists():
        making = folder.with_name(f"{folder.name}.{os.getpid()}")
        try:
            _make(making)
            making.rename(folder)
        except subprocess.CalledProcessError as error:
            raise NotPossible(f"`{error.cmd[0]}` fails: {error.stderr.strip()[-500:]}") from error
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return Debian(folder)


def _make(folder: Path) -> None:
    apt = _Apt(folder / "apt", _mirror())
    apt.unpack(folder / "qemu", "*", "qemu-system-x86")
    guest = folder / "guest"
    apt.unpack(guest, "*", *PROGRAMS)
    apt.unpack(guest, "linux-*", f"linux-image-amd64/{KERNEL_SUITE}")
    (kernel,) = (*guest.glob("usr/lib/modules/*/vmlinuz"), *guest.glob("boot/vmlinuz-*"))
    kernel.rename(folder / kernel.name)
    _leave_out_modules(guest)
    (guest / PLUGINS[1:]).mkdir(parents=True)
    for name in ("boot", "usr/share/doc", "usr/share/locale", "usr/share/man", f"{LIBRARIES}/gconv"):
        shutil.rmtree(guest / name, ignore_errors=True)
    shutil.rmtree(folder / "apt")


def _leave_out_modules(guest: Path) -> None:
    """Keeps the modules that are loaded: all others are most of the files."""
    (folder,) = (guest / "usr/lib/modules").iterdir()
    kmod = _program(guest, "usr/bin/kmod")
    _output([*kmod[:-1], "--argv0", "depmod", kmod[-1], "--basedir", str(guest), folder.name])
    show = [*kmod[:-1], "--argv0", "modprobe", kmod[-1], "--dirname", str(guest), "--set-version", folder.name]
    needed = "".join(_output([*show, "--show-depends", module]) for module in MODULES)
    kept = {Path(line.split()[1]).name for line in needed.splitlines() if line.startswith("insmod")}
    for module in folder.rglob("*.ko*"):
        if module.name not in kept:
            module.unlink()


def _program(root: Path, path: str) -> list[str]:
    """A command line for a program of another root folder, which needs the loader and libraries of that folder."""
    libraries = root / LIBRARIES
    return [f"{libraries}/ld-linux-x86-64.so.2", "--library-path", str(libraries), str(root / path)]


def _mirror() -> str:
    if named := os.environ.get("DEBIAN_MIRROR"):
        return named
    for line in _output(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)"]).splitlines():
        label, _, address = line.partition(" ")
        if label == "Debian":
            return address
    raise NotPossible("this machine's apt uses no mirror of Debian; name one by DEBIAN_MIRROR")


class _Apt:
    """apt with lists and a state of its own, for which nothing is installed: what it downloads is complete."""

    def __init__(self, folder: Path, mirror: str) -> None:
        self._archives = folder / "archives"
        for name in ("lists/partial", "archives/partial"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        sources = (f"deb [signed-by={KEYRING}] {mirror} {suite} main\n" for suite in (SUITE, KERNEL_SUITE))
        (folder / "sources.list").write_text("".join(sources))
        settings: Mapping[str, object] = {
            "APT::Architecture": "amd64",
            "APT::Architectures": "amd64",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Dir::Cache": folder,
            "Dir::Cache::archives": self._archives,
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State": folder,
            "Dir::State::lists": folder / "lists",
            "Dir::State::status": folder / "status",
        }
        self._command = ["apt-get", "-qq", *(f"--option={name}={value}" for name, value in settings.items())]
        _output([*self._command, "update"])

    def unpack(self, root: Path, files: str, *packages: str) -> None:
        """Downloads packages with all that they depend on, and unpacks those whose files have such names."""
        _output([*self._command, "--yes", "--download-only", "install", *packages])
        for file in sorted(self._archives.glob(f"{files}.deb")):
            _output(["dpkg-deb", "--extract", str(file), str(root)])
        for file in self._archives.glob("*.deb"):
            file.unlink()


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write_image(out: BinaryIO, root: Path, extra: Iterable[tuple[str, Path]]) -> None:
    """A root file system for the kernel to unpack: the files of a folder, and others by their path in the machine.

    The format is cpio's "new ASCII" one (Linux: Documentation/driver-api/early-userspace/buffer-format.rst).
    """

    def add(name: str, mode: int, content: bytes) -> None:
        fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name.encode()) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        for part in (head, content):
            out.write(part + b"\0" * (-len(part) % 4))

    for path in sorted(root.rglob("*")):
        mode = path.lstat().st_mode
        content = b""
        if stat.S_ISLNK(mode):
            content = os.fsencode(path.readlink())
        elif stat.S_ISREG(mode):
            content = path.read_bytes()
        add(str(path.relative_to(root)), mode, content)
    for name, path in extra:
        add(name, 0o100755, path.read_bytes())
    add("TRAILER!!!", 0, b"")
