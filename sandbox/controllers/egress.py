"""The way from the API server to Services: a proxy that takes its connections to the processes behind them.

The API server sends what goes to the cluster network through it (EgressSelectorConfiguration, egress `cluster`), since
there is no such network: webhooks and aggregated APIs are reached as installed, under their Services' names and
certificates.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import socketserver
import threading
from collections.abc import Callable
from pathlib import Path

Find = Callable[[str, int], int | None]
"""The port of this machine behind a Service's address and port; None where nothing answers."""

_HEAD_LIMIT = 8192
_BLOCK = 65536
_CONNECT_S = 5.0

log = logging.getLogger(__name__)


class _Handler(socketserver.StreamRequestHandler):
    """One connection of the API server, opened by an HTTP CONNECT."""

    server: Egress

    def handle(self) -> None:
        method, target = self._head()
        host, _, port = target.rpartition(":")
        found = self.server.find(host.strip("[]"), int(port)) if method == "CONNECT" and port.isdecimal() else None
        if found is None:
            self._answer(502, "Nothing Serves There")
            return
        try:
            there = socket.create_connection(("127.0.0.1", found), timeout=_CONNECT_S)
        except OSError as error:
            log.info("%s: port %d does not answer: %s", target, found, error)
            self._answer(502, "No Answer")
            return
        with there:
            there.settimeout(None)
            there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._answer(200, "Connected")
            _join(self.connection, there)

    def _head(self) -> tuple[str, str]:
        """Method and target; the header lines say nothing that is needed."""
        first, read = self.rfile.readline(_HEAD_LIMIT).decode("latin-1").split(), 0
        while (line := self.rfile.readline(_HEAD_LIMIT)) not in (b"\r\n", b"\n", b"") and read < _HEAD_LIMIT:
            read += len(line)
        return (first[0], first[1]) if len(first) > 1 else ("", "")

    def _answer(self, status: int, reason: str) -> None:
        self.wfile.write(f"HTTP/1.1 {status} {reason}\r\n\r\n".encode())


def _join(one: socket.socket, other: socket.socket) -> None:
    """Copy in both directions until either side ends."""
    with selectors.DefaultSelector() as ready, contextlib.suppress(OSError):
        for pair in ((one, other), (other, one)):
            ready.register(pair[0], selectors.EVENT_READ, pair)
        while True:
            for key, _ in ready.select():
                source, target = key.data
                if not (data := source.recv(_BLOCK)):
                    return
                target.sendall(data)


class Egress(socketserver.ThreadingUnixStreamServer):
    """The proxy on a socket of the file system that only its owner can open, until it is shut down."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, place: Path, find: Find) -> None:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # of a process that was killed
        place.unlink(missing_ok=True)
        super().__init__(str(place), _Handler)
        place.chmod(0o600)
        self.find = find

    def begin(self) -> None:
        """Serve in a thread of its own."""
        threading.Thread(target=self.serve_forever, name="egress", daemon=True).start()


def configuration(place: Path) -> dict[str, object]:
    """The API server's file that sends it through the proxy at a place of the file system."""
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(place)}}}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }
