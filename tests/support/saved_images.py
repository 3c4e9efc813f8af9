"""Images as `docker save` writes them and as OCI layouts, and libraries with what is read of them."""

import gzip
import hashlib
import io
import json
import struct
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Files = Mapping[str, bytes | str]
"""Content by path, or with `-> ` before it the target of a symbolic link."""

_DIGESTS = "blobs/sha256/"


def provider_library(name: str, lowest: int, highest: int, *, packed: bool = False) -> bytes:
    """An ELF file with a provider's name and both ABI versions behind a pointer to it, as a linker leaves them.

    With `packed` relocations the pointer has its value in the file.
    """
    text, moved = 0x200, 0x1000
    operations, table, dynamic = 0x300, 0x340, 0x380
    data = bytearray(0x400)
    # Two loaded segments, the second of which has other addresses than places, and the dynamic section.
    struct.pack_into("<16sHHIQQQIHHH", data, 0, b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3)
    struct.pack_into("<IIQQQQQQ", data, 64, 1, 4, 0, 0, 0, 0x300, 0x300, 0x1000)
    struct.pack_into("<IIQQQQQQ", data, 120, 1, 6, 0x300, 0x300 + moved, 0, 0x100, 0x100, 0x1000)
    struct.pack_into("<IIQQQQQQ", data, 176, 2, 6, dynamic, dynamic + moved, 0, 0x40, 0x40, 8)
    data[text : text + len(name) + 1] = name.encode() + b"\0"
    struct.pack_into("<QII", data, operations, text if packed else 0, lowest, highest)
    if not packed:
        struct.pack_into("<QQQ", data, table, operations + moved, 8, text)
        struct.pack_into("<QQQQ", data, dynamic, 7, table + moved, 8, 24)
    return bytes(data)


def layer(files: Files, links: Files | None = None) -> bytes:
    """A layer's tar; `links` are hard links by path."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            if isinstance(content, str) and content.startswith("-> "):
                entry.type, entry.linkname = tarfile.SYMTYPE, content.removeprefix("-> ")
                tar.addfile(entry)
                continue
            data = content.encode() if isinstance(content, str) else content
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        for path, first in (links or {}).items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.LNKTYPE, str(first)
            tar.addfile(entry)
    return target.getvalue()


def compressed(content: bytes, by: str) -> bytes:
    """A layer as it is stored: as it is, or by gzip or zstd."""
    if by == "zstd":
        return zstd.compress(content)
    return gzip.compress(content, 1) if by == "gzip" else content


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def saved(layers: Sequence[bytes], architecture: str = "amd64") -> dict[str, bytes]:
    """The files of what `docker save` wrote before version 25."""
    files = {f"{number}/layer.tar": content for number, content in enumerate(layers)}
    manifest = [{"Config": "config.json", "RepoTags": ["train:1"], "Layers": list(files)}]
    return {"config.json": _config(layers, architecture), "manifest.json": _json(manifest), **files}


def layout(layers: Sequence[bytes], architectures: Sequence[str] = ("amd64",), by: str = "gzip") -> dict[str, bytes]:
    """The files of an OCI layout; with several architectures an index in the index, and an attestation beside them."""
    files: dict[str, bytes] = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"})}

    def blob(content: bytes, media: str, **more: Any) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        files[_DIGESTS + digest] = content
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content), **more}

    manifests = []
    for architecture in architectures:
        described = blob(_config(layers, architecture), "application/vnd.oci.image.config.v1+json")
        parts = [blob(compressed(content, by), "application/vnd.oci.image.layer.v1.tar") for content in layers]
        manifest = {"schemaVersion": 2, "config": described, "layers": parts}
        platform = {"architecture": architecture, "os": "linux"}
        manifests.append(blob(_json(manifest), "application/vnd.oci.image.manifest.v1+json", platform=platform))
    if len(architectures) > 1:
        unknown = {"architecture": "unknown", "os": "unknown"}
        manifests.append(blob(b"{}", "application/vnd.oci.image.manifest.v1+json", platform=unknown))
        index = _json({"schemaVersion": 2, "manifests": manifests})
        manifests = [blob(index, "application/vnd.oci.image.index.v1+json")]
    files["index.json"] = _json({"schemaVersion": 2, "manifests": manifests})
    return files


def _config(layers: Sequence[bytes], architecture: str) -> bytes:
    digests = [f"sha256:{hashlib.sha256(content).hexdigest()}" for content in layers]
    return _json({"architecture": architecture, "os": "linux", "rootfs": {"type": "layers", "diff_ids": digests}})


def write_tar(path: Path, files: Files) -> Path:
    """A tar of an image's files."""
    path.write_bytes(layer(files))
    return path


def write_folder(path: Path, files: Mapping[str, bytes]) -> Path:
    """A folder of an image's files."""
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path
