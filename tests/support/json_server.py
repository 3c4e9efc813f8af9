"""Servers on loopback that answer every request as a test's function says."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = Callable[[str, str, Any, str], tuple[int, Any]]
"""Status and document by method, path with query, body (None without one) and authorization."""

Response = tuple[int, Mapping[str, str], bytes]
"""Status, headers and content."""


def verify_as_newer_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse what Python refuses since 3.13: an authority without a key identifier, a certificate that names none."""
    default = ssl.create_default_context

    def strict(*args: Any, **options: Any) -> ssl.SSLContext:
        context = default(*args, **options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)


@contextmanager
def json_server(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """The port on which the function answers while this lasts. 429 and 503 name a time to wait, as API servers do."""

    def response(method: str, path: str, sent: bytes, headers: Message) -> Response:
        body = json.loads(sent) if sent else None
        status, document = answer(method, path, body, headers.get("Authorization", ""))
        return status, {"Retry-After": "1"} if status in (429, 503) else {}, json.dumps(document).encode()

    with http_server(response, tls) as port:
        yield port


@contextmanager
def http_server(
    answer: Callable[[str, str, bytes, Message], Response], tls: ssl.SSLContext | None = None
) -> Iterator[int]:
    """The port on which the function answers, by method, path with query, content and headers, while this lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _respond(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, content = answer(self.command, self.path, sent, self.headers)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = _respond

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
