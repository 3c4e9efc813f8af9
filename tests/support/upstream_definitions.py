"""The vendors' definitions and values: as `make upstream` fetched them, or as checked out beside this repository.

Nothing is fetched unasked. What is fetched is what `tests/upstream/published.yaml` names, by digest, or nothing.
"""

import hashlib
import http.client
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sandbox.toolchain.recipes import user_cache

_TABLE = Path(__file__).resolve().parents[1] / "upstream" / "published.yaml"
_OF_NICS = ("NicConfigurationTemplate", "NicInterfaceNameTemplate")
MAY_LACK = {
    "amd-gpu-operator-1.5.1": ("DeviceConfig",),
    "amd-network-operator-1.2.0": ("NetworkConfig",),
    "nic-configuration-operator-in-26.7.0-rc.2": _OF_NICS,
    "nic-configuration-operator-8bfbeb3": _OF_NICS,
    "spectrum-x-operator-in-26.7.0-rc.2": ("SpectrumXRailPoolConfig",),
    "spectrum-x-operator-246268d": ("SpectrumXRailPoolConfig",),
}
"""Folders, with their kinds, that a copy outside this repository may lack: it may be older than the table."""
OF_CONSUMERS = {
    "DisaggregatedSet": "lws-0.10.0",
    "LLMInferenceService": "kserve-0.20.0",
    "LLMInferenceServiceConfig": "kserve-0.20.0",
    "NodeSet": "slurm-operator-1.2.1",
    "PodCliqueSet": "grove-0.1.0-alpha.11",
}
"""Kinds of systems that consume a contract, with the folder of their definition, which such a copy may lack, too."""
SOURCES = {"ucx": "ucx-1.22.0", "nvshmem": "nvshmem-3.5.1", "mooncake": "mooncake-0.3.12"}
"""Folders of libraries' sources, which such a copy may lack, too."""

_PUBLIC = "https://raw.githubusercontent.com"
# Seconds without a byte, after which a server is given up.
_SILENCE_S = 60


class Published(NamedTuple):
    """A file as its owner publishes it: its place here, its public address, and its SHA-256."""

    place: str
    address: str
    digest: str


class NotFetched(Exception):
    """A file that is not to be had, or not as it was published."""


def published(table: Path = _TABLE, public: str = _PUBLIC) -> list[Published]:
    """Every file of the table."""
    return [
        Published(f"{row['into']}/{name}", f"{public}/{row['at']}/{row.get('named', name)}", digest)
        for row in yaml.safe_load(table.read_text(encoding="utf-8"))
        for name, digest in row["files"].items()
    ]


def fetched_folder(table: Path = _TABLE) -> Path:
    """Where the files of the table are after they were fetched; those of another table are elsewhere."""
    return user_cache() / "upstream" / hashlib.sha256(table.read_bytes()).hexdigest()[:16]


def fetch(files: list[Published], folder: Path) -> None:
    """Fetch files into a folder, which exists afterwards only if it has all of them.

    Raises:
        NotFetched: a file cannot be had, or differs from its digest.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as scratch:
        whole = Path(scratch, "whole")
        with ThreadPoolExecutor(8) as several:
            for file, content in zip(files, several.map(_content, files), strict=True):
                target = whole / file.place
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        if not folder.exists():  # another run may have been faster
            whole.rename(folder)


def _content(file: Published) -> bytes:
    try:
        # the address is the table's, and what it gives is checked
        with urllib.request.urlopen(file.address, timeout=_SILENCE_S) as answer:  # noqa: S310
            content: bytes = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise NotFetched(f"{file.address} cannot be fetched: {error}; check the network and HTTPS_PROXY") from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.digest:
        raise NotFetched(f"{file.address} has the SHA-256 {found}, and was published with {file.digest}")
    return content


def _upstream() -> Path:
    beside = Path(__file__).resolve().parents[3] / "shared" / "upstream"
    fetched = fetched_folder()
    return beside if beside.is_dir() and not fetched.is_dir() else fetched


UPSTREAM = _upstream()


def is_at_hand(folder: str) -> bool:
    """Whether a folder of definitions is there: `make upstream` fetches all of the table."""
    return (UPSTREAM / "crds" / folder).is_dir()


def sources_of(library: str) -> dict[str, str]:
    """The library's own files by name; none where they are not at hand."""
    folder = UPSTREAM / "sources" / SOURCES[library]
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*")}


def definitions_in(folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and `spec` of every definition of one chart."""
    for path in sorted((UPSTREAM / "crds" / folder).glob("*.yaml")):
        for document in filter(None, yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader)):
            yield document["metadata"]["name"], document["spec"]


def main() -> None:
    """Fetch what the table names, unless it was fetched before."""
    folder, files = fetched_folder(), published()
    if not folder.is_dir():
        print(f"fetching {len(files)} files of the vendors from {_PUBLIC}")
        try:
            fetch(files, folder)
        except NotFetched as error:
            sys.exit(f"{error}. Nothing was kept.")
    print(f"tests/upstream reads {folder}")


if __name__ == "__main__":
    main()
