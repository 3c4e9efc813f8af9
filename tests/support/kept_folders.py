"""Folders that take long to make and depend on a key alone: each is made once a machine, for all workers and runs."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.toolchain.recipes import user_cache

# Of a kind so many stay, and whatever a run that is not over may have asked for.
_KEPT = 2
_LONGEST_RUN_S = 6 * 3600
_WHOLE = ".whole"


def kept(kind: str, key: Iterable[str | bytes], make: Callable[[Path], None]) -> Path:
    """The folder of a kind and key, which `make` has made; whoever needs it first makes it, and others wait for that.

    Nobody may change it. What raises in `make` leaves nothing.
    """
    digest = hashlib.sha256()
    for part in key:
        content = part.encode() if isinstance(part, str) else part
        digest.update(b"%d\0%b" % (len(content), content))
    place = user_cache() / "tests" / f"{kind}-{digest.hexdigest()[:16]}"
    with _held(place):
        if not (place / _WHOLE).exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            try:
                make(place)
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
            (place / _WHOLE).touch()
        # Its time says when it was asked for last.
        os.utime(place)
    for other in sorted(place.parent.glob(f"{kind}-{'[0-9a-f]' * 16}"), key=_asked, reverse=True)[_KEPT:]:
        with _held(other):
            if _asked(other) < time.time() - _LONGEST_RUN_S:
                shutil.rmtree(other, ignore_errors=True)
    return place


def _asked(place: Path) -> float:
    """When a folder was asked for last; one that another run has removed, never."""
    return place.stat().st_mtime if place.exists() else 0


@contextmanager
def _held(place: Path) -> Iterator[None]:
    """A folder while nobody else makes or removes it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
