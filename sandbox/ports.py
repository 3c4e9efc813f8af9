"""Ports on 127.0.0.1: chosen free at first start, remembered, checked before each start, and probed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import random
import socket
import ssl
import time
import urllib.request
from collections.abc import Collection, Iterator
from pathlib import Path

import psutil

from .failure import SandboxError
from .home import COMMAND
from .toolchain.recipes import user_cache

# Below the ports that systems give to outgoing connections (from 32768 on Linux, 49152 elsewhere): a port that is
# remembered must still be free when its process is restarted.
_CANDIDATES = range(20000, 32000)
# For so long no other sandbox of this user gets a port that was chosen: the server that will listen may start minutes
# later, and until then the port looks free.
_RESERVED_S = 600.0


def choose_ports(names: list[str], avoid: Collection[int] = ()) -> dict[str, int]:
    """A free port for each name, none of those to avoid or that another sandbox of this user has just chosen.

    Raises SandboxError when there are not enough.
    """
    chosen: dict[str, int] = {}
    if not names:
        return chosen
    with contextlib.ExitStack() as held:
        # held while choosing, so that no two names get the same
        reserved = held.enter_context(_reserved(chosen))
        candidates = [port for port in _CANDIDATES if port not in avoid and port not in reserved]
        for port in random.SystemRandom().sample(candidates, len(candidates)):
            if len(chosen) == len(names):
                break
            probe = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                chosen[names[len(chosen)]] = port
        if len(chosen) < len(names):
            raise SandboxError(
                f"no {len(names)} free ports on 127.0.0.1 from {_CANDIDATES.start} to {_CANDIDATES.stop - 1}",
                "Stop programs that listen there, then start again.",
            )
    return chosen


@contextlib.contextmanager
def _reserved(chosen: dict[str, int]) -> Iterator[Collection[int]]:
    """The ports that were chosen lately; those that are chosen now are added. One process at a time."""
    user_cache().mkdir(parents=True, exist_ok=True)
    with (user_cache() / "ports.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        now, known = time.time(), dict[str, float]()
        with contextlib.suppress(ValueError):  # the command that wrote it was killed
            known = {port: when for port, when in json.load(file).items() if 0 <= now - when < _RESERVED_S}
        yield {int(port) for port in known}
        file.truncate(0)
        json.dump(known | {str(port): now for port in chosen.values()}, file)


def completed_ports(known: dict[str, int], names: list[str], avoid: Collection[int] = ()) -> dict[str, int]:
    """The known ports, with a free one for each name that has none: an older sandbox may lack a service.

    Raises SandboxError when there are not enough.
    """
    return {**known, **choose_ports([name for name in names if name not in known], avoid)}


def is_listening(port: int) -> bool:
    """Whether something accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answers(url: str, authority: Path | None = None) -> bool:
    """Whether a server of this machine answers with status 200; without an authority no certificate is checked."""
    unchecked = ssl._create_unverified_context
    context = unchecked() if authority is None else ssl.create_default_context(cafile=authority)
    # 127.0.0.1 must not go through a proxy of the machine
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=3) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def require_free(service: str, port: int, patience_s: float = 10.0) -> None:
    """Raise SandboxError when the port cannot be listened on, with the process that holds it where it can be found.

    A port that no running process holds becomes free within the patience: a killed process keeps its sockets until
    its last thread has ended, a moment after the process itself counts as ended.
    """
    deadline = time.monotonic() + patience_s
    while not _can_listen(port):
        holder = _holder(port)
        if holder or time.monotonic() > deadline:
            raise _taken(service, port, holder or "another program")
        time.sleep(0.05)


def _can_listen(port: int) -> bool:
    with socket.socket() as probe:
        # as the Go servers do: a connection that has just ended does not count
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _taken(service: str, port: int, holder: str) -> SandboxError:
    return SandboxError(
        f"port 127.0.0.1:{port}, which this sandbox uses for {service}, is taken by {holder}",
        f"Either stop that program and run `{COMMAND} up` again,\n"
        f"or run `{COMMAND} reset` (deletes the simulated cluster), then `up`: it chooses new ports.",
    )


def _holder(port: int) -> str:
    """The living process that listens on a port; empty when there is none that the system names."""
    try:
        listeners = [row for row in psutil.net_connections("tcp") if row.status == psutil.CONN_LISTEN]
        pid = next((row.pid for row in listeners if row.laddr and row.laddr.port == port), None)
        return f"process {pid} ({psutil.Process(pid).name()})" if pid else ""
    except psutil.Error:
        # some systems show this only to an administrator
        return ""
