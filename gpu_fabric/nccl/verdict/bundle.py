"""The results of a verification's pods: parts in termination messages that form a tar.gz of results, logs and names.

Members: `all.json` of the whole fabric, `rail-K.json` of rail K, measured at the same time as others, `alone-K.json` of
a slow one without the others, `pair-K-I-J.json` of nodes I and J on rail K that were slow, a log for each of them,
`nodes` (a line per node: host name and node name), `rails` (those to be measured), `pairs` (the outcomes of all pairs:
rail, places of both nodes, and good or bad), and `point-to-point` (what UCX's test program said of each rail, one way).
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import io
import re
import tarfile
import zlib
from collections.abc import Iterable
from functools import cached_property

from gpu_fabric.nccl.verdict.pairs import Pair

_PART = re.compile(r"gpu-fabric ([1-9][0-9]{0,4})/([1-9][0-9]{0,4}) ([0-9a-f]{16})\n([A-Za-z0-9+/=]+)")
_WORDS = re.compile(r"gpu-fabric(?: error)?: (.*)")
_MEMBER = re.compile(
    r"(?:\./)?(all|(?:rail|alone)-[0-9]{1,3}|pair-[0-9]{1,3}-[0-9]{1,5}-[0-9]{1,5})\.(json|log)|(?:\./)?(nodes|rails|pairs|point-to-point)"
)
# A possible host name that is not the end of a longer one.
_WORD = re.compile(r"(?<![\w.-])[\w-]+")
_PAIR = re.compile(r"([0-9]{1,3}) ([0-9]{1,5}) ([0-9]{1,5}) (good|bad)")
# Bytes of all members together; the results of 256 nodes with 8 GPUs and 16 rails take about 2 MiB.
_MOST = 64 << 20


class BundleError(ValueError):
    """The parts or the file are not a verification's; the message gives the reason."""


class Bundle:
    """The files of one run. Host names in results and logs are replaced by node names where the run maps them."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes in the run's order; the host name if the node's name is not known."""
        return tuple(node for _, node in self._names)

    @property
    def rails(self) -> tuple[int, ...]:
        """Rails that were to be measured by themselves."""
        words = (line.split() for line in self._text("rails").splitlines())
        return tuple(int(first) for first, *_ in filter(None, words) if first.isdecimal())

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of nodes that were measured, in the order of their rounds."""
        found = (_PAIR.fullmatch(line.strip()) for line in self._text("pairs").splitlines())
        return tuple(Pair(int(m[1]), int(m[2]), int(m[3]), m[4] == "good") for m in found if m)

    @property
    def point_to_point(self) -> str:
        """What was measured by UCX, a line each; empty if nothing was."""
        return self._text("point-to-point")

    def result(self, name: str) -> bytes | None:
        """A result of nccl-tests; None if it is missing."""
        return self._named(f"{name}.json")

    def log(self, name: str) -> bytes:
        """The relevant part of a run's log; empty if it is missing."""
        return self._named(f"{name}.log") or b""

    def words(self, name: str) -> tuple[str, ...]:
        """The messages of the launcher and its ranks about a run."""
        return script_messages([self.log(name).decode("utf-8", "replace")])

    @cached_property
    def _names(self) -> tuple[tuple[str, str], ...]:
        lines = (line.split() for line in self._text("nodes").splitlines())
        return tuple((words[0].partition(".")[0], words[-1]) for words in lines if words)

    def _named(self, file: str) -> bytes | None:
        data = self._files.get(file)
        if data is None or not self._names:
            return data
        node_of = dict(self._names)
        return _WORD.sub(lambda found: node_of.get(found[0], found[0]), data.decode("utf-8", "replace")).encode()

    def _text(self, file: str) -> str:
        return self._files.get(file, b"").decode("utf-8", "replace")


def is_bundle(data: bytes) -> bool:
    """Whether a file is compressed, as a bundle is and a result of nccl-tests is not."""
    return data.startswith(b"\x1f\x8b")


def join_parts(messages: Iterable[str]) -> bytes:
    """The file that the termination messages contain in parts; other messages are ignored.

    Raises:
        BundleError: a part is missing or damaged.
    """
    parts: dict[str, dict[int, str]] = {}
    totals: dict[str, int] = {}
    for message in messages:
        if (match := _PART.fullmatch(message.strip())) is not None:
            parts.setdefault(match[3], {})[int(match[1])] = match[4]
            totals[match[3]] = int(match[2])
    if not parts:
        raise BundleError("no pod left a result")
    if len(parts) > 1:
        raise BundleError("the pods left parts of several results")
    ((digest, texts),) = parts.items()
    missing = [str(place) for place in range(1, totals[digest] + 1) if place not in texts]
    if missing:
        raise BundleError(f"part {', '.join(missing[:8])} of {totals[digest]} of the results is missing")
    text = "".join(texts[place] for place in sorted(texts))
    if hashlib.sha256(text.encode()).hexdigest()[:16] != digest:
        raise BundleError("the parts of the results do not fit together")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise BundleError("the results are not in Base64") from None


def script_messages(messages: Iterable[str]) -> tuple[str, ...]:
    """The messages of the verification script among texts, each once."""
    lines = (line for message in messages for line in message.splitlines())
    found = (_WORDS.fullmatch(line.strip()) for line in lines)
    return tuple(dict.fromkeys(match[1] for match in found if match))


def read_bundle(data: bytes) -> Bundle:
    """The files of a bundle, read in memory; members with other names are ignored.

    Raises:
        BundleError: the data are not a tar.gz, or too large.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            content = packed.read(_MOST + 1)
        if len(content) > _MOST:
            raise BundleError(f"the results are larger than {_MOST >> 20} MiB")
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            members = [(member, _MEMBER.fullmatch(member.name)) for member in archive if member.isreg()]
            files = {
                match[3] or f"{match[1]}.{match[2]}": file.read()
                for member, match in members
                if match and (file := archive.extractfile(member)) is not None
            }
    except (OSError, EOFError, zlib.error, tarfile.TarError):
        raise BundleError("the results are not a tar.gz, or not complete") from None
    return Bundle(files)
