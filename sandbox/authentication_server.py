"""Says to the API server whose a bearer token is: `python -m sandbox.authentication_server`, a server on 127.0.0.1."""

from __future__ import annotations

import argparse
import datetime
import json
import logging
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .authentication import read_tokens, reviewed
from .certificates import AUTHENTICATE
from .end_signals import end_of_process
from .kubernetes_api import Object

HEALTH = "/healthz"

log = logging.getLogger("sandbox.authentication")


class _Handler(BaseHTTPRequestHandler):
    """One connection, which the API server keeps."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536  # an answer leaves in one piece
    tokens: Path

    def do_GET(self) -> None:
        self._send(200 if self.path == HEALTH else 404, {})

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        # the API server adds how long it waits, as a query
        if self.path.partition("?")[0] == AUTHENTICATE:
            self._send(200, reviewed(review, read_tokens(self.tokens), datetime.datetime.now(datetime.UTC)))
        else:
            self._send(404, {})

    def _send(self, code: int, document: Object) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the API server's log has every request."""


class AuthenticationServer(ThreadingHTTPServer):
    """HTTPS on 127.0.0.1; `tokens` is a file."""

    daemon_threads = True

    def __init__(self, port: int, certificate: Path, key: Path, tokens: Path) -> None:
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate, key)
        super().__init__(("127.0.0.1", port), type("Handler", (_Handler,), {"tokens": tokens}))

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        # each connection's own thread does the handshake, so that no other connection waits for it
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.authentication_server", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    for name in ("certificate", "key"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="PEM file")
    parser.add_argument("--tokens", type=Path, required=True, help="bearer tokens and how long they are good")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stopped = end_of_process()
    server = AuthenticationServer(arguments.port, arguments.certificate, arguments.key, arguments.tokens)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stopped.wait()
    server.shutdown()


if __name__ == "__main__":
    main()
