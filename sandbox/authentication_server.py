"""Simulated webhooks of Spiderpool: `python -m sandbox.hardware.admission`, a server on 127.0.0.1.

It is a process of its own, so that responses do not wait for the controller. Its address and the CA of its certificate
are in the ConfigMap kube-system/sandbox-admission, which the stand-in chart's webhooks read. It also authenticates
bearer tokens for the API server.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import json
import logging
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sandbox.certificates import AUTHENTICATE
from sandbox.hardware.authentication import read_tokens, reviewed
from sandbox.hardware.device_plugins import annotations_of
from sandbox.hardware.spider_checks import Checks, RefusedError
from sandbox.hardware.spider_defaults import with_defaults
from sandbox.hardware.spider_injection import injected
from sandbox.hardware.views import AdmissionViews
from sandbox.kubernetes_api import Api, ApiError, Object

HEALTH = "/healthz"
_NAMESPACE, _CONFIG_MAP = "kube-system", "sandbox-admission"
_KNOWN_WITHIN_S = 5.0
_PUBLISHED_WITHIN_S = 30.0

log = logging.getLogger("sandbox.admission")


def allowed(review: Mapping[str, Any], after: Mapping[str, Any] | None = None) -> Object:
    """The answer that lets a request pass, and changes its object into `after` if given."""
    request = review["request"]
    response: Object = {"uid": request["uid"], "allowed": True}
    patch = json_patch(request["object"], after) if after is not None else []
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
    return _answer(response)


def refused(review: Mapping[str, Any], reason: str) -> Object:
    """The answer that stops a request."""
    status = {"code": 403, "reason": "Forbidden", "message": reason}
    return _answer({"uid": review["request"]["uid"], "allowed": False, "status": status})


def _answer(response: Object) -> Object:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def json_patch(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> list[Object]:
    """The operations of RFC 6902 that make one object the other; a list that differs is replaced whole."""
    operations: list[Object] = []
    for key, value in after.items():
        place = f"{path}/{_escaped(key)}"
        if key not in before:
            operations.append({"op": "add", "path": place, "value": value})
        elif isinstance(value, Mapping) and isinstance(before[key], Mapping):
            operations += json_patch(before[key], value, place)
        elif value != before[key]:
            operations.append({"op": "replace", "path": place, "value": value})
    operations += [{"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in before if key not in after]
    return operations


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


class Admission:
    """The answers, from the objects that the cluster has."""

    def __init__(self, views: AdmissionViews) -> None:
        self._views = views
        self._checks = Checks()
        self._lock = threading.Lock()
        self.paths: dict[str, Callable[[Object], Object]] = {
            "/spiderpool/mutate": self._mutated,
            "/spiderpool/validate": self._validated,
            "/spiderpool/pods": self._pod,
        }

    def answer(self, path: str, review: Object) -> Object:
        """The AdmissionReview that answers another one. Raises KeyError for a path that is none of these."""
        decide = self.paths[path]
        if review["request"]["operation"] == "DELETE":
            return allowed(review)
        self._wait_until_known()
        try:
            return decide(review)
        except RefusedError as problem:
            return refused(review, str(problem))

    def _wait_until_known(self) -> None:
        deadline = time.monotonic() + _KNOWN_WITHIN_S
        while not self._views.known() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _mutated(self, review: Object) -> Object:
        return allowed(review, with_defaults(review["request"]["object"]))

    def _validated(self, review: Object) -> Object:
        request = review["request"]
        # one at a time: what is remembered of the pools is shared
        with self._lock:
            self._checks.check(request["object"], request.get("oldObject"), self._views.pools.objects())
        return allowed(review)

    def _pod(self, review: Object) -> Object:
        request = review["request"]
        namespace: Mapping[str, Any] = self._views.namespaces.objects().get(request["namespace"], {"metadata": {}})
        return allowed(
            review, injected(request["object"], annotations_of(namespace), self._views.networks.objects().values())
        )


class _Handler(BaseHTTPRequestHandler):
    """One connection, which the API server keeps."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536  # an answer leaves in one piece
    admission: Admission
    tokens: Path
    published: threading.Event

    def do_GET(self) -> None:
        if self.path == HEALTH:
            self._send(200 if self.published.is_set() else 503, {})
        else:
            self._send(404, {})

    def do_POST(self) -> None:
        try:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            # the API server adds how long it waits, as a query
            path = self.path.partition("?")[0]
            if path == AUTHENTICATE:
                self._send(200, reviewed(review, read_tokens(self.tokens), datetime.datetime.now(datetime.UTC)))
            else:
                self._send(200, self.admission.answer(path, review))
        except KeyError:
            log.exception("%s was not understood", self.path)
            self._send(400, {})

    def _send(self, code: int, document: Object) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the API server's log has every request."""


class AdmissionServer(ThreadingHTTPServer):
    """HTTPS on 127.0.0.1; `tokens` is a file, `published` is set once the ConfigMap has the address."""

    daemon_threads = True

    def __init__(self, port: int, certificate: Path, key: Path, admission: Admission, tokens: Path) -> None:
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate, key)
        self.published = threading.Event()
        answers = {"admission": admission, "tokens": tokens, "published": self.published}
        handler = type("Handler", (_Handler,), answers)
        super().__init__(("127.0.0.1", port), handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        # each connection's own thread does the handshake, so that no other connection waits for it
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address


def published(url: str, authority: bytes) -> Object:
    """The ConfigMap from which the chart learns where its webhooks are."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _CONFIG_MAP, "namespace": _NAMESPACE},
        "data": {"url": url, "caBundle": base64.b64encode(authority).decode()},
    }


def _publish(api: Api, config_map: Object) -> None:
    """Write the ConfigMap; a new cluster has its namespace a moment after it is ready. Raises ApiError."""
    deadline = time.monotonic() + _PUBLISHED_WITHIN_S
    while True:
        try:
            api.apply(f"/api/v1/namespaces/{_NAMESPACE}/configmaps/{_CONFIG_MAP}", config_map)
            return
        except ApiError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.hardware.admission", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    for name in ("certificate", "key", "authority"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="PEM file")
    parser.add_argument("--tokens", type=Path, required=True, help="bearer tokens and how long they are good")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    views = AdmissionViews(arguments.kubeconfig)
    views.start()
    server = AdmissionServer(arguments.port, arguments.certificate, arguments.key, Admission(views), arguments.tokens)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"https://127.0.0.1:{arguments.port}"
    _publish(Api(arguments.kubeconfig), published(url, arguments.authority.read_bytes()))
    server.published.set()
    log.info("answers at %s", url)
    stopped.wait()
    server.shutdown()


if __name__ == "__main__":
    main()
