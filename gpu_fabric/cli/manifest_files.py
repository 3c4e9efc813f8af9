"""The manifests that a command reads and writes: files, folders, and standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpu_fabric.cli.conversation import refuse

_ENDINGS = (".yaml", ".yml", ".json")


class ManifestFiles:
    """The files of arguments, by the names that messages have; folders are gone through.

    `found` are those that were not named, but are in a folder. Hidden files and folders, and links to folders, are
    left out.
    """

    def __init__(self, arguments: list[str]) -> None:
        self._places: dict[str, Path] = {}
        self.found: set[str] = set()
        self.folders = [Path(argument) for argument in arguments if argument != "-" and Path(argument).is_dir()]
        for argument in arguments:
            folder = Path(argument)
            if folder in self.folders:
                for path in _manifests_in(folder):
                    if str(path) not in self._places:
                        self.found.add(str(path))
                        self._places[str(path)] = path.relative_to(folder)
            else:
                self.found.discard(argument)
                self._places[argument] = Path(folder.name)
        if not self._places:
            refuse(f"{', '.join(arguments)}: there is no file that ends with {', '.join(_ENDINGS)}")

    @property
    def names(self) -> list[str]:
        """Every file, in the order of the arguments."""
        return list(self._places)

    @property
    def is_one(self) -> bool:
        """Whether one file, or standard input, was named."""
        return len(self._places) == 1 and not self.folders

    @property
    def together(self) -> str:
        """All files, for a message."""
        return f"all {len(self._places)} files"

    def targets(self, names: list[str], out: Path) -> dict[str, Path]:
        """Where files are written to below a folder; refuses two in one place, and what would be read the next time."""
        if inside := next((one for one in self.folders if out.resolve().is_relative_to(one.resolve())), None):
            refuse(f"--out {out} is inside {inside}, whose manifests are read: name a folder next to it")
        targets = {name: out / self._places[name] for name in names}
        owners: dict[Path, str] = {}
        for name, target in targets.items():
            if (other := owners.setdefault(target, name)) != name:
                refuse(f"--out {out}: {other} and {name} would both be written to {target}; name two folders")
            if target.resolve() == Path(name).resolve():
                refuse(f"--out {out}: {name} would be written over; write --in-place for that")
        return targets


def write_manifests(texts: Mapping[Path, str]) -> None:
    """Write files, with the folders that are missing."""
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        except OSError as error:
            refuse(f"{path}: {error.strerror}; files after it are not written")


def _manifests_in(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(files) if name.endswith(_ENDINGS) and name[0] != ".")
