"""The nodes' answers to `kubectl logs`, as far as a simulated pod can have printed something: a look at its node.

The API server asks a node's kubelet, at its host name and port 10250, for `/containerLogs/NAMESPACE/POD/CONTAINER`
(Kubernetes: pkg/registry/core/pod, LogLocation). All nodes have this one server in the kubelet's place.
"""

from __future__ import annotations

import logging
import ssl
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ..certificates import self_signed
from ..hardware.looks import printed, script_of
from ..kubernetes_api import Api, ApiError

KUBELET_PORT = 10250

log = logging.getLogger(__name__)


class _Handler(BaseHTTPRequestHandler):
    """One question of the API server."""

    server: _Server

    def do_GET(self) -> None:
        what, *parts = self.path.partition("?")[0].strip("/").split("/")
        try:
            text = self.server.text_of(*parts[:2]) if what == "containerLogs" and len(parts) == 3 else None
        except ApiError as error:
            log.warning("%s: %s", self.path, error)
            text = None
        body = ("nothing is simulated here" if text is None else text).encode()
        self.send_response(404 if text is None else 200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the API server's log has every request."""


class _Server(ThreadingHTTPServer):
    """HTTPS on a free port of 127.0.0.1."""

    daemon_threads = True

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._kubeconfig = kubeconfig
        # The API server does not ask whose it is, as in most clusters (no --kubelet-certificate-authority).
        certificate, key = self_signed("kubelet")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + key)
            file.flush()
            context.load_cert_chain(file.name)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def text_of(self, namespace: str, name: str) -> str:
        """What a pod has printed; nothing, unless it looks at its node. Raises ApiError."""
        # A client of its own for each thread.
        api = Api(self._kubeconfig)
        pod = api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")
        script = script_of(pod)
        return "" if script is None else printed(script, api.get(f"/api/v1/nodes/{pod['spec']['nodeName']}"))


class PodLogs:
    """The server, which is started by the first question: in most sandboxes there is none."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._server: _Server | None = None
        self._starting = threading.Lock()

    def port(self) -> int:
        """The port that answers for every kubelet."""
        with self._starting:
            if self._server is None:
                self._server = _Server(self._kubeconfig)
                threading.Thread(target=self._server.serve_forever, name="pod logs", daemon=True).start()
            return int(self._server.server_address[1])
