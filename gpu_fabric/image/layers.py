"""Read the files of an image that matter: of what `docker save` writes, of an OCI layout, or of another store of blobs.

Layers are read as streams, once and in order, and nothing is written. A whiteout removes what layers below have. The
content of each layer is compared with its digest in the image's configuration, and manifests and the configuration with
theirs, so that what was damaged is never judged.

Sources: the OCI image specification 1.1, image-layout.md, layer.md and config.md; Docker's image specification 1.2.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import posixpath
import re
import sys
import tarfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, NamedTuple, cast

from gpu_fabric.base.user_files import open_file, stream_content

MOST_READ = 32 << 20
"""Most bytes of a file of the image that are kept, and of one header of a tar."""

MOST_JSON = 4 << 20
"""Most bytes of a manifest or a configuration."""

_MOST_KEPT = 8 * MOST_READ
_MOST_FILES = 10_000
_MOST_NESTED = 4
_CHUNK = 1 << 20
_OVERLAP = 256
"""Bytes that two chunks share, in which a pattern is found that is at the end of one."""

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = (
    *_INDEXES,
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
"""The media types of manifests and indexes that are read."""

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class ImageError(ValueError):
    """The file is not an image, is damaged, or is of a kind that is not read; the message says which."""


class Wanted(NamedTuple):
    """What is kept of a file: its content up to so many bytes, or what a pattern finds first in it; else its path."""

    most: int = 0
    pattern: re.Pattern[bytes] | None = None


Chooser = Callable[[str], Wanted | None]
"""What is wanted of the file at a path without a leading slash; None for nothing."""


@dataclass(frozen=True)
class ImageFile:
    """A file of an image: a link has a `target`, and of a wanted pattern `content` is the first group that it found."""

    path: str
    target: str | None = None
    content: bytes = b""


@dataclass(frozen=True)
class Image:
    """An image: its names, its architecture as Go names it, and its wanted files by path."""

    names: tuple[str, ...]
    architecture: str
    files: dict[str, ImageFile]

    def followed(self, path: str) -> ImageFile | None:
        """The file at a path, behind its links; None where a link leads to none of the wanted files."""
        for _ in range(8):
            found = self.files.get(path)
            if found is None or found.target is None:
                return found
            path = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), found.target)).lstrip("/")
        return None


def read_image(source: Path | Store, chosen: Chooser, architecture: str | None = None) -> Image:
    """The image in a file, a folder or a store; of several platforms that of an architecture, where it has it.

    Raises:
        ImageError: as the class says.
        OSError: it cannot be read.
    """
    try:
        with ExitStack() as stack:
            store = source
            if isinstance(store, Path):
                store = _Folder(store) if store.is_dir() else _Archive(stack.enter_context(open_file(store)))
            image, layers = _described(store, architecture)
            for number, (name, diff_id) in enumerate(layers, 1):
                try:
                    _apply_layer(store, name, diff_id, image.files, chosen)
                except (*_BROKEN, KeyError) as error:
                    where = f"layer {number} of {len(layers)} ({name})"
                    raise ImageError(f"{where} cannot be read: {_said(error)}") from None
            return image
    except _BROKEN as error:
        raise ImageError(_said(error)) from None


_BROKEN = (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, UnicodeDecodeError, RecursionError)


def _said(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return "the image does not have it"
    return str(error).partition("\n")[0] or type(error).__name__


# --- where blobs are ---


class Store(ABC):
    """Blobs by their names in an OCI layout, or by those that `docker save` gives them."""

    @abstractmethod
    def open(self, name: str) -> BinaryIO:
        """A blob as a stream.

        Raises:
            KeyError: there is none of this name.
        """

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is a blob of this name."""

    def json(self, name: str) -> Any:
        """A blob of JSON.

        Raises:
            ImageError: it is missing, too large, or not JSON.
        """
        try:
            with self.open(name) as stream:
                content = stream_content(stream, name, MOST_JSON)
        except KeyError:
            raise ImageError(f"it has no {name}") from None
        except OSError:
            raise ImageError(f"{name} is not JSON of at most {MOST_JSON >> 20} MiB") from None
        digest = f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
        if name.startswith("blobs/") and name != digest:
            raise ImageError(f"{name} has another content than its digest says")
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise ImageError(f"{name} is not JSON of at most {MOST_JSON >> 20} MiB") from None

    def manifest(self, name: str) -> Any:
        """A blob that is a manifest or an index, as `json` gives it."""
        return self.json(name)


class _Folder(Store):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str) -> bool:
        return (self._folder / name).is_file()

    def open(self, name: str) -> BinaryIO:
        # Names come from the image: only those of the layout are taken, and none leads elsewhere.
        if name not in ("index.json", "oci-layout") and not re.fullmatch(r"blobs/sha256/[0-9a-f]{64}", name):
            raise KeyError(name)
        if not self.has(name):
            raise KeyError(name)
        return open_file(self._folder / name)


class _Archive(Store):
    """A tar with blobs, which may be compressed by gzip as a whole."""

    def __init__(self, stream: BinaryIO) -> None:
        start = stream.read(2)
        stream.seek(0)
        content = gzip.GzipFile(fileobj=stream) if start == _GZIP else stream
        try:
            self._tar = tarfile.TarFile(fileobj=_Bounded(content), mode="r")  # type: ignore[arg-type]
        except tarfile.ReadError:
            raise ImageError("it is not a tar, as `docker save IMAGE -o FILE` writes one") from None
        self._members: dict[str, tarfile.TarInfo] = {}
        for member in self._tar:
            self._members[member.name.removeprefix("./")] = member
            if len(self._members) > _MOST_FILES:
                raise ImageError(f"it has more than {_MOST_FILES} files; it is not an image as `docker save` writes it")

    def has(self, name: str) -> bool:
        return name in self._members

    def open(self, name: str) -> BinaryIO:
        found = self._members[name]
        # Older versions of Docker write a layer that two images share once, and a link in the place of the other.
        if found.issym() or found.islnk():
            near = found.linkname if found.islnk() else posixpath.join(posixpath.dirname(name), found.linkname)
            found = self._members[posixpath.normpath(near)]
        if not found.isreg():
            raise KeyError(name)
        return cast(BinaryIO, self._tar.extractfile(found))


class _Bounded:
    """A stream whose single reads are bounded: a tar names the sizes of its headers, and those are read as a whole."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MOST_READ:
            raise tarfile.ReadError(f"a header of {size} bytes; at most {MOST_READ >> 20} MiB are read")
        return cast(bytes, self._stream.read(size))

    def seek(self, position: int) -> int:
        return cast(int, self._stream.seek(position))

    def tell(self) -> int:
        return cast(int, self._stream.tell())

    def seekable(self) -> bool:
        return True


# --- what the image is made of ---


def _described(store: Store, architecture: str | None) -> tuple[Image, list[tuple[str, str]]]:
    """An image without files yet, and its layers from the lowest: names of blobs, and digests of their content."""
    if store.has("manifest.json"):
        entries = store.json("manifest.json")
        if not isinstance(entries, list) or not entries:
            raise ImageError("manifest.json is not the list of an image")
        if len(entries) > 1:
            names = ", ".join(str(name) for entry in entries for name in _list(entry, "RepoTags"))
            raise ImageError(f"it has {len(entries)} images ({names}): save one alone")
        entry = entries[0]
        config, blobs = _text(entry, "Config"), [str(layer) for layer in _list(entry, "Layers")]
        names_of_image = tuple(str(name) for name in _list(entry, "RepoTags"))
    elif store.has("index.json"):
        manifest, named = _manifest(store, store.json("index.json"), architecture)
        config = blob_name(_mapping(manifest, "config"))
        blobs = [blob_name(layer) for layer in _list(manifest, "layers")]
        names_of_image = (named,) if named else ()
    else:
        raise ImageError("it has neither manifest.json nor index.json: it is not an image")
    described = store.json(config)
    diff_ids = [str(digest) for digest in _list(_mapping(described, "rootfs"), "diff_ids")]
    if len(diff_ids) != len(blobs):
        raise ImageError(f"its configuration names {len(diff_ids)} layers, and its manifest {len(blobs)}")
    image = Image(names_of_image, _text(described, "architecture"), {})
    return image, list(zip(blobs, diff_ids, strict=True))


def _manifest(store: Store, index: Any, architecture: str | None) -> tuple[Any, str]:
    """The manifest of an architecture, or the only one, and the name that the index has for it."""
    named = ""
    for _ in range(_MOST_NESTED):
        entries = [entry for entry in _list(index, "manifests") if not _is_attestation(entry)]
        if not entries:
            raise ImageError("its index names no image")
        fitting = [entry for entry in entries if _architecture(entry) == architecture] or entries
        if len({_architecture(entry) for entry in fitting}) < len(fitting):
            raise ImageError(f"its index names {len(fitting)} images: copy one alone, with `skopeo copy`")
        chosen = fitting[0]
        named = named or str((chosen.get("annotations") or {}).get("org.opencontainers.image.ref.name", ""))
        document = store.manifest(blob_name(chosen))
        if chosen.get("mediaType") not in _INDEXES and "manifests" not in document:
            return document, named
        index = document
    raise ImageError("its indexes name one another")


def _is_attestation(entry: Any) -> bool:
    """Whether an entry is of BuildKit's attestations, which are no image (docs/attestations of BuildKit)."""
    return isinstance(entry, dict) and _architecture(entry) == "unknown"


def _architecture(entry: Any) -> str:
    platform = entry.get("platform") if isinstance(entry, dict) else None
    return str(platform.get("architecture", "")) if isinstance(platform, dict) else ""


def blob_name(descriptor: Any) -> str:
    """What an OCI layout calls the blob of a descriptor."""
    digest = _DIGEST.fullmatch(_text(descriptor, "digest"))
    if digest is None:
        raise ImageError("a blob has a digest that is not sha256")
    return f"blobs/sha256/{digest[1]}"


def _list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _mapping(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, dict):
        raise ImageError(f"its manifest or configuration has no {key}")
    return found


def _text(value: Any, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, str):
        raise ImageError(f"its manifest or configuration has no {key}")
    return found


# --- layers ---


class _Layer(_Bounded):
    """The content of a layer as it is read forward; what was read goes into the digest."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.digest = hashlib.sha256()
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        found = super().read(size)
        self.digest.update(found)
        self._position += len(found)
        return found

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        while self._position < position and self.read(min(_CHUNK, position - self._position)):
            pass
        return self._position


def _apply_layer(store: Store, name: str, diff_id: str, files: dict[str, ImageFile], chosen: Chooser) -> None:
    """Change the files of the layers below by a layer."""
    added: dict[str, ImageFile] = {}
    kept = 0
    with store.open(name) as blob, _content(blob) as content:
        layer = _Layer(content)
        tar = tarfile.TarFile(fileobj=layer, mode="r")  # type: ignore[arg-type]
        for member in tar:
            # Its list of what it has read would grow with the layer.
            tar.members = []  # type: ignore[attr-defined]
            path = posixpath.normpath(posixpath.join("/", member.name)).lstrip("/")
            _remove(files, path, member)
            if (wanted := chosen(path)) is not None and (found := _file(tar, path, member, wanted, added, files)):
                added[path] = found
                kept += len(found.content)
                if kept > _MOST_KEPT or len(added) > _MOST_FILES:
                    raise tarfile.ReadError("it has more libraries and drivers than any image needs")
        while layer.read(_CHUNK):
            pass
    if f"sha256:{layer.digest.hexdigest()}" != diff_id:
        raise tarfile.ReadError("its content does not have the digest that the image's configuration names")
    files.update(added)


def _remove(files: dict[str, ImageFile], path: str, member: tarfile.TarInfo) -> None:
    """Remove from the layers below what an entry of a layer hides."""
    folder, last = posixpath.split(path)
    if last == _OPAQUE:
        hidden, inside = "", f"{folder}/" if folder else ""
    elif last.startswith(_WHITEOUT):
        hidden = posixpath.join(folder, last.removeprefix(_WHITEOUT))
        inside = f"{hidden}/"
    elif not member.isdir():
        hidden, inside = path, f"{path}/"
    else:
        return
    for known in [known for known in files if known == hidden or (inside != "/" and known.startswith(inside))]:
        del files[known]


def _file(
    tar: tarfile.TarFile,
    path: str,
    member: tarfile.TarInfo,
    wanted: Wanted,
    added: dict[str, ImageFile],
    below: dict[str, ImageFile],
) -> ImageFile | None:
    if member.issym():
        return ImageFile(path, member.linkname)
    if member.islnk():
        target = posixpath.normpath(posixpath.join("/", member.linkname)).lstrip("/")
        first = added.get(target) or below.get(target)
        return replace(first, path=path) if first is not None else ImageFile(path)
    if not member.isreg():
        return None
    stream = tar.extractfile(member)
    if stream is None or wanted == Wanted():
        return ImageFile(path)
    if wanted.pattern is not None:
        return ImageFile(path, content=_first_found(stream, wanted.pattern))
    return ImageFile(path, content=stream.read(wanted.most))


def _first_found(stream: Any, pattern: re.Pattern[bytes]) -> bytes:
    """The first group of a pattern at its first place in a stream; empty without one."""
    kept = b""
    while chunk := stream.read(_CHUNK):
        if found := pattern.search(kept + chunk):
            return found[1]
        kept = chunk[-_OVERLAP:]
    return b""


@contextmanager
def _content(blob: BinaryIO) -> Iterator[Any]:
    """What a blob has, decompressed by what its first bytes say; zstd with windows of at most 128 MiB."""
    start = cast(BufferedReader, blob).peek(4)
    if start.startswith(_GZIP):
        with gzip.GzipFile(fileobj=blob) as content:
            yield content
    elif start.startswith(_ZSTD):
        zstd = _zstd()
        with zstd.ZstdFile(blob) as content:
            try:
                yield content
            except zstd.ZstdError as error:
                raise tarfile.ReadError(str(error)) from None
    else:
        yield blob


def _zstd() -> ModuleType:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
