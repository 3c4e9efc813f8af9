"""How a command reaches a cluster: by the user's own kubectl, so that every kubeconfig works with its plug-ins.

Requests are raw paths of the Kubernetes API (`kubectl get --raw`), which need no discovery and write no cache; only a
dry run of server-side apply is kubectl's own command, since no raw one sends a patch.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

VARIABLE = "KUBECTL"
"""The environment variable that names the kubectl, instead of the one on PATH."""

PAGE = 500
"""So many objects of a list the API server sends at once."""

REQUEST_S = 30
# kubectl may run a plug-in that fetches a token before its request.
_PROCESS_S = 2 * REQUEST_S

UNNAMED = "Unknown"
"""The reason of a refusal without a name, such as that of a field which a definition does not declare."""

# A dry run leaves no trace of it.
_DRY_MANAGER = "gpu-fabric-drift"
_LOG_LINE = re.compile(r"[IWEF][0-9]{4} [0-9][0-9]:[0-9][0-9]:")
# Messages of kubectl that are passed on. Any other could repeat a line of the kubeconfig, or what a plug-in printed.
_SERVER = re.compile(r"Error from server(?: \((\w+)\))?: (.*)")
_INVALID = re.compile(r'The \S+ "[^"]*" is invalid: .*')
_UNREACHED = re.compile(r"The connection to the server \S+ was refused|Unable to connect to the server: .*")
_NO_CONTEXT = re.compile(r'error: (context "[^"]*" does not exist)')
_NO_FILE = re.compile(r"error: stat (.*): no such file or directory")
_NO_PLUG_IN = re.compile(r"getting credentials: exec: (executable \S+ (?:not found|failed with exit code [0-9]+))")


class ClusterError(Exception):
    """A cluster that did not answer as asked, in one line with the remedy.

    `reason` is what the API server calls it (`Forbidden`, `AlreadyExists`, …; `Unknown` where it gives no name), or
    empty if it was not reached.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Kubectl:
    """The cluster of a kubeconfig's context; by default those that kubectl itself would take."""

    kubeconfig: Path | None = None
    context: str | None = None

    def get(self, path: str) -> dict[str, Any] | None:
        """The object or list at a path of the API, a list with all of its pages; None if there is no such thing.

        Raises:
            ClusterError: see the class.
        """
        found = self._page(path)
        if found is None:
            return None
        items, page = list(found.get("items") or ()), found
        while token := (page.get("metadata") or {}).get("continue"):
            following = self._page(path, token)
            if following is None:
                break
            page = following
            items += page.get("items") or ()
        return {**found, "items": items} if "items" in found else found

    def create(self, path: str, manifest: dict[str, Any]) -> dict[str, Any]:
        """Create an object in the collection at a path, and give it as the API server has it.

        Raises:
            ClusterError: see the class; `reason` is AlreadyExists if there is one of this name.
        """
        answer = self._answer("create", path, json.dumps(manifest))
        if answer is None:
            raise ClusterError(f"the cluster has no {_plain(path)}", "NotFound")
        return _object(answer, path)

    def apply_dry(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """The object that server-side apply of a manifest would make; nothing is stored.

        Raises:
            ClusterError: see the class.
        """
        metadata = manifest.get("metadata") or {}
        path = f"{manifest.get('kind')} {metadata.get('name')}"
        options = ["--server-side", "--dry-run=server", "--force-conflicts", f"--field-manager={_DRY_MANAGER}"]
        # kubectl looks up the kind's name in paths, and keeps what it finds in this folder.
        with tempfile.TemporaryDirectory(prefix="gpu-fabric-") as cache:
            command = ["apply", f"--cache-dir={cache}", *options, "--output=json", "-f", "-"]
            answer = self._run(command, "apply", path, json.dumps(manifest))
        if answer is None:
            raise ClusterError(f"the cluster has no {path}", "NotFound")
        return _object(answer, path)

    def replace(self, path: str, manifest: dict[str, Any]) -> None:
        """Write the object at a path; if the manifest has a resourceVersion, only while the object has it too.

        Raises:
            ClusterError: see the class; `reason` is Conflict if the object has another one, NotFound if there is none.
        """
        if self._answer("replace", path, json.dumps(manifest)) is None:
            raise ClusterError(f"the cluster has no {_plain(path)}", "NotFound")

    def delete(self, path: str, preconditions: dict[str, str] | None = None) -> bool:
        """Delete the object at a path, and what it owns; False if there is none.

        Raises:
            ClusterError: see the class; `reason` is Conflict if a precondition is not met.
        """
        # A Job would leave its pods otherwise.
        options = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "propagationPolicy": "Background"}
        if preconditions is None:
            return self._answer("delete", _with(path, "propagationPolicy=Background")) is not None
        return self._answer("delete", path, json.dumps({**options, "preconditions": preconditions})) is not None

    def logs(self, namespace: str, pod: str, container: str = "", lines: int | None = None) -> str:
        """What a container of a pod printed, of some the last lines; by default its only one.

        Raises:
            ClusterError: see the class; `reason` is NotFound if there is no such pod.
        """
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/log"
        options = {"container": container, "tailLines": "" if lines is None else str(lines)}
        if query := urlencode({name: value for name, value in options.items() if value}):
            path = _with(path, query)
        answer = self._answer("get", path)
        if answer is None:
            raise ClusterError(f"the cluster has no pod {pod} in namespace {namespace}", "NotFound")
        return answer

    def _page(self, path: str, token: str = "") -> dict[str, Any] | None:
        query = f"limit={PAGE}" + (f"&continue={quote(token, safe='')}" if token else "")
        try:
            answer = self._answer("get", _with(path, query))
        except ClusterError as error:
            if error.reason != "Expired" or not token:
                raise
            raise ClusterError(f"{_plain(path)} changed while it was read; run the command again", "Expired") from error
        return None if answer is None else _object(answer, path)

    def _answer(self, verb: str, path: str, content: str | None = None) -> str | None:
        """What the API server answers; None if there is no such thing."""
        arguments = [verb, "--raw", path, *(["-f", "-"] if content is not None else [])]
        return self._run(arguments, verb, path, content)

    def _run(self, arguments: list[str], verb: str, path: str, content: str | None) -> str | None:
        command = [kubectl_program(), *self._options(), f"--request-timeout={REQUEST_S}s", *arguments]
        try:
            done = subprocess.run(
                command,
                input=(content or "").encode(),
                capture_output=True,
                timeout=_PROCESS_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ClusterError(
                f"kubectl did not answer within {_PROCESS_S} s; see what it waits for: {self._by_hand()}"
            ) from None
        except OSError as error:
            raise ClusterError(f"{command[0]}: {error.strerror}; name a kubectl by {VARIABLE}") from error
        if done.returncode == 0:
            return done.stdout.decode(errors="replace")
        refusal = self._refusal(verb, path, done.stderr.decode(errors="replace"))
        if refusal.reason == "NotFound":
            return None
        raise refusal

    def _refusal(self, verb: str, path: str, message: str) -> ClusterError:
        lines = [line.strip() for line in message.splitlines() if not _LOG_LINE.match(line)]
        text = "\n".join(lines)
        if (server := _SERVER.search(text)) is not None:
            reason, words = server[1] or UNNAMED, server[2].strip()
            refuses = "forbids" if reason == "Forbidden" else "refuses"
            return ClusterError(f"the cluster {refuses} to {verb} {_plain(path)}: {words}", reason)
        if (invalid := _INVALID.search(text)) is not None:
            return ClusterError(f"the cluster refuses to {verb} {_plain(path)}: {invalid[0]}", "Invalid")
        if "You must be logged in to the server" in text:
            return ClusterError(f"the cluster does not accept these credentials; log in, and try {self._by_hand()}")
        if (missing := _NO_FILE.search(text)) is not None:
            return ClusterError(f"{missing[1]}: no such file; name a kubeconfig by --kubeconfig")
        if (context := _NO_CONTEXT.search(text)) is not None:
            return ClusterError(f"{self._file()}: {context[1]}; see kubectl config get-contexts")
        # Before the next: kubectl reports it as a server that cannot be reached.
        if (plug_in := _NO_PLUG_IN.search(text)) is not None:
            return ClusterError(f"{self._file()}: {plug_in[1]}, which fetches the credentials; try {self._by_hand()}")
        if (unreached := _UNREACHED.search(text)) is not None:
            return ClusterError(f"the cluster of {self._file()} was not reached: {unreached[0]}; try {self._by_hand()}")
        return ClusterError(f"kubectl cannot {verb} {_plain(path)}; its message: {self._by_hand()}")

    def _options(self) -> list[str]:
        kubeconfig = [] if self.kubeconfig is None else [f"--kubeconfig={self.kubeconfig}"]
        return kubeconfig + ([] if self.context is None else [f"--context={self.context}"])

    def _file(self) -> str:
        return "the kubeconfig" if self.kubeconfig is None else str(self.kubeconfig)

    def _by_hand(self) -> str:
        return " ".join(["kubectl", *self._options(), "get", "--raw", "/version"])


def kubectl_program() -> str:
    """The path of the kubectl that is used. Raises ClusterError where there is none."""
    named = os.environ.get(VARIABLE) or "kubectl"
    if (found := shutil.which(named)) is None:
        where = f"{VARIABLE} names it, and it" if os.environ.get(VARIABLE) else "it"
        from gpu_fabric.base.simulators import simulators

        own = "".join(f" (the {one.name}'s: {one.folder}/{one.kubectl})" for one in simulators())
        raise ClusterError(
            f"no program {named}: {where} is not to be found; install kubectl, or name one by {VARIABLE}{own}"
        )
    return found


def _object(answer: str, path: str) -> dict[str, Any]:
    try:
        found = json.loads(answer)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ClusterError(f"the answer for {_plain(path)} is not an object of the Kubernetes API")
    return found


def _with(path: str, query: str) -> str:
    return f"{path}{'&' if urlsplit(path).query else '?'}{query}"


def _plain(path: str) -> str:
    return urlsplit(path).path
