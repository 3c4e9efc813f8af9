"""Starts, watches and ends the processes of controllers' pods, as a kubelet does with containers."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..certificates import self_signed, write_token_kubeconfig
from ..failure import SandboxError
from ..hardware.device_plugins import annotations_of, labels_of, readiness_patch
from ..hardware.views import Collections
from ..hardware.watching import key_of
from ..home import SandboxHome
from ..kubernetes_api import STRATEGIC_PATCH, Api, ApiError, Object
from ..ports import answers, choose_ports
from ..processes import PidFile, exit_status, start, stop
from ..toolchain.build import ensure
from ..toolchain.progress import Progress
from .container import Container, NotYetError, container_ports
from .definitions import take_over
from .pid_files import end_all, pid_file
from .table import ControllerRow, IssuedCertificate, controllers

_TICK_S = 0.3
_PROBE_S = 1.0
_GRACE_S = 10.0
# A kubelet's pauses between restarts begin at ten seconds; tests have no time for that.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 20.0
# Longer than any sandbox lives; a kubelet renews the token instead.
_TOKEN_S = 10 * 365 * 86400

COMPLETES_ANNOTATION, STATUS_ANNOTATION = "sandbox.gpu-fabric/completes-after", "sandbox.gpu-fabric/exit-status"
"""On a pod: how long after its start it ends, such as `0s`, and with which status; else it runs on (sandbox/stages)."""

log = logging.getLogger(__name__)


class ControllerViews(Collections):
    """The pods whose containers run here, and the Services that lead to them."""

    def __init__(self, kubeconfig: Path, changed: threading.Event) -> None:
        super().__init__(kubeconfig, changed)
        self.pods = {row.name: self._plain("/api/v1/pods", row.pods) for row in controllers()}
        self.services = self._plain("/api/v1/services")


@dataclass
class _Process:
    """A pod's process."""

    container: Container
    pid_file: PidFile
    log: Path
    built: Path
    starts: int = 0
    next_start: float = 0.0
    next_probe: float = 0.0
    # Not known yet: the pod may still be called ready for a process that has ended.
    ready: bool | None = None
    problem: str = ""
    done: int | None = None
    """The exit status of a Job's program that has ended."""


@dataclass
class _Build:
    """A binary that is being built, or the reason why it could not be."""

    folder: Path | None = None
    problem: str = ""
    thread: threading.Thread | None = field(default=None, repr=False)


class Kubelet:
    """Runs the processes of one cluster's controllers until it is stopped."""

    def __init__(self, home: SandboxHome) -> None:
        self._home = home
        self._changed = threading.Event()
        self._views = ControllerViews(home.kubeconfig, self._changed)
        self._api = Api(home.kubeconfig)
        self._processes: dict[str, _Process] = {}
        self._builds: dict[str, _Build] = {}

    def run(self, stopped: threading.Event) -> None:
        """Work until `stopped` is set, then end every process."""
        end_all(self._home)
        self._views.start()
        while not stopped.is_set():
            self._changed.wait(_TICK_S)
            self._changed.clear()
            if self._views.known():
                self._turn()
        end_all(self._home)

    def port_of(self, address: str, port: int) -> int | None:
        """The port of this machine behind a Service's address and port; None where no process of a pod is."""
        for service in self._views.services.objects().values():
            if service["spec"].get("clusterIP") == address:
                return self._behind(service, port)
        return None

    def _behind(self, service: Object, port: int) -> int | None:
        selector = service["spec"].get("selector") or {}
        target = next((entry.get("targetPort", port) for entry in service["spec"]["ports"] if entry["port"] == port), 0)
        for process in list(self._processes.values()):
            pod = process.container.pod
            if (
                pod["metadata"]["namespace"] == service["metadata"]["namespace"]
                and selector.items() <= labels_of(pod).items()
            ):
                return process.container.ports.get(_numbered(process.container, target))
        return None

    def _turn(self) -> None:
        wanted = {}
        for row in controllers():
            for pod in self._views.pods[row.name].objects().values():
                if _runs(pod):
                    wanted[pod["metadata"]["uid"]] = (row, pod)
        for uid in [uid for uid in self._processes if uid not in wanted]:
            self._end(self._processes.pop(uid))
        for uid, (row, pod) in wanted.items():
            with contextlib.suppress(ApiError):
                self._keep(uid, row, pod)

    def _keep(self, uid: str, row: ControllerRow, pod: Object) -> None:
        """Start a pod's process, give it changed files, start it again if it has ended, and say whether it is ready."""
        process = self._processes.get(uid)
        if process is None:
            container = self._container(row, pod)
            folder = self._built(container.build)
            if folder is None:
                return
            process = self._processes[uid] = self._prepared(container, folder)
        process.container = Container(**{**vars(process.container), "pod": pod})
        namespace = process.container.namespace
        try:
            if row.certificate is not None:
                issue(self._api, row.certificate, namespace)
            process.container.write_files(self._read(namespace), process.built)
            if process.pid_file.pid() is None and not self._is_done(process):
                self._start(process, process.container.environment(self._read(namespace)))
        except NotYetError as problem:
            self._note(process, str(problem))
            return
        self._probe(process)

    def _built(self, binary: str) -> Path | None:
        build = self._builds.setdefault(binary, _Build())
        if build.folder is None and (build.thread is None or not build.thread.is_alive()) and not build.problem:
            build.thread = threading.Thread(target=self._build, args=(binary, build), daemon=True)
            build.thread.start()
        return build.folder

    def _build(self, binary: str, build: _Build) -> None:
        try:
            build.folder = ensure([binary], Progress()).folder(binary)
        except SandboxError as error:
            build.problem = f"{error.message}\n{error.remedy}"
            log.error("%s cannot be built: %s", binary, build.problem)
        self._changed.set()

    def _container(self, row: ControllerRow, pod: Object) -> Container:
        folder = self._home.controllers / f"{pod['metadata']['namespace']}.{pod['metadata']['name']}"
        return Container(row, pod, folder, {}, folder / "kubeconfig")

    def _prepared(self, container: Container, built: Path) -> _Process:
        row, name = container.row, container.pod["metadata"]["name"]
        inside = container_ports(row)
        chosen = choose_ports([str(port) for port in inside], self._home.remembered_ports() | self._taken())
        ports = {port: chosen[str(port)] for port in inside}
        return _Process(
            container=Container(**{**vars(container), "ports": ports}),
            pid_file=pid_file(self._home, name),
            log=self._home.logs / f"{row.name}.log",
            built=built,
        )

    def _taken(self) -> set[int]:
        return {port for process in self._processes.values() for port in process.container.ports.values()}

    def _is_done(self, process: _Process) -> bool:
        """Whether a Job's program has ended, and its pod ends as well.

        A failed one is started again in its pod unless the pod never restarts. How often, and for how long, is up to
        the Job's own controller, which counts failed pods and restarts (`backoffLimit`, `pastBackoffLimitOnFailure` in
        pkg/controller/job/job_controller.go of Kubernetes 1.36.3).
        """
        if not process.container.row.completes or not process.starts:
            return False
        if process.done is None:
            process.done = exit_status(process.pid_file)
        if process.done is None:
            return False
        pod = process.container.pod
        ends = process.done == 0 or pod["spec"]["restartPolicy"] == "Never"
        if ends and COMPLETES_ANNOTATION not in annotations_of(pod):
            # A container's status for a signal, as a shell's.
            status = process.done if process.done >= 0 else 128 - process.done
            annotations = {COMPLETES_ANNOTATION: "0s", STATUS_ANNOTATION: str(status)}
            self._api.patch(_path(pod), {"metadata": {"annotations": annotations}})
            log.info("%s has ended with status %s", key_of(pod), status)
        return ends

    def _start(self, process: _Process, environment: Mapping[str, str]) -> None:
        now = time.monotonic()
        if process.starts and process.ready:
            self._say_ready(process, ready=False)
        if now < process.next_start:
            return
        if process.starts:
            self._note(process, "its process has ended, and is started again")
            self._count_restart(process)
        container = process.container
        process.done = None
        take_over(self._api, process.built / "definitions", container.row.definitions)
        token = self._token(container)
        write_token_kubeconfig(self._home, container.kubeconfig, token)
        environment = {"PATH": os.environ.get("PATH", ""), **environment}
        start(container.command(process.built), process.pid_file, process.log, environment, container.folder)
        log.info("%s is started", key_of(container.pod))
        process.next_start = now + min(_FIRST_PAUSE_S * 2**process.starts, _LONGEST_PAUSE_S)
        process.starts += 1

    def _token(self, container: Container) -> str:
        account = container.pod["spec"].get("serviceAccountName") or "default"
        path = f"/api/v1/namespaces/{container.namespace}/serviceaccounts/{account}/token"
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_S},
        }
        token: str = self._api.post(path, request)["status"]["token"]
        return token

    def _probe(self, process: _Process) -> None:
        now, url = time.monotonic(), process.container.ready_url()
        if (
            process.container.row.completes
            or process.pid_file.pid() is None
            or (process.ready and now < process.next_probe)
        ):
            return
        process.next_probe = now + _PROBE_S
        # a kubelet does not check the certificate of what it asks either
        ready = url is None or answers(url)
        if ready != process.ready:
            self._say_ready(process, ready=ready)

    def _say_ready(self, process: _Process, *, ready: bool) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        patch = readiness_patch(process.container.pod, now, ready=ready)
        if patch:
            self._patch_status(process, patch)
        process.ready = ready
        log.info("%s is %s", key_of(process.container.pod), "ready" if ready else "not ready")

    def _count_restart(self, process: _Process) -> None:
        statuses = process.container.pod["status"].get("containerStatuses", ())
        counted = [
            {**entry, "restartCount": entry["restartCount"] + (entry["name"] == process.container.name)}
            for entry in statuses
        ]
        self._patch_status(process, {"status": {"containerStatuses": counted}})

    def _patch_status(self, process: _Process, patch: Object) -> None:
        pod = self._api.patch(f"{_path(process.container.pod)}/status", patch, STRATEGIC_PATCH)
        # The next patch is made of this answer, also where it comes before the event.
        self._views.pods[process.container.row.name].keep(pod)
        process.container = Container(**{**vars(process.container), "pod": pod})

    def _read(self, namespace: str) -> Any:
        def read(plural: str, name: str) -> Object | None:
            try:
                return self._api.get(f"/api/v1/namespaces/{namespace}/{plural}/{name}")
            except ApiError as error:
                if error.status == 404:
                    return None
                raise

        return read

    def _note(self, process: _Process, problem: str) -> None:
        if problem != process.problem:
            log.warning("%s: %s", key_of(process.container.pod), problem)
        process.problem = problem

    def _end(self, process: _Process) -> None:
        log.info("%s is ended", key_of(process.container.pod))
        threading.Thread(target=stop, args=(process.pid_file, _GRACE_S)).start()


def _path(pod: Mapping[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _runs(pod: Mapping[str, Any]) -> bool:
    return pod["metadata"].get("deletionTimestamp") is None and (pod.get("status") or {}).get("phase") == "Running"


def _numbered(container: Container, target: int | str) -> int:
    """A Service's target port as a number; a name is that of a container's port."""
    if isinstance(target, int):
        return target
    if target in container.row.named:
        return container.row.named[target]
    ports = (port for entry in container.pod["spec"]["containers"] for port in entry.get("ports") or ())
    return next((port["containerPort"] for port in ports if port.get("name") == target), 0)


_PATH = "/apis/admissionregistration.k8s.io/v1"


def issue(api: Api, wanted: IssuedCertificate, namespace: str) -> None:
    """Fill the Secret unless it has a certificate, and have the API server trust it in the webhook configurations.

    A Secret that does not exist is created.

    Raises ApiError.
    """
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    data = _data(api, f"{secrets}/{wanted.secret}")
    if data is None:
        api.post(secrets, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": wanted.secret}})
    if not data or "tls.crt" not in data:
        certificate, key = self_signed(f"{wanted.service}.{namespace}.svc")
        made = {"ca.crt": certificate, "tls.crt": certificate, "tls.key": key}
        data = {name: base64.b64encode(content).decode() for name, content in made.items()}
        api.patch(f"{secrets}/{wanted.secret}", {"data": data})
    for name in wanted.webhooks:
        kind = "mutatingwebhookconfigurations" if "mutating" in name else "validatingwebhookconfigurations"
        path = f"{_PATH}/{kind}/{name}"
        found = api.get(path)
        webhooks = [_trusting(webhook, data["ca.crt"]) for webhook in found.get("webhooks") or ()]
        if webhooks != found.get("webhooks"):
            api.patch(path, {"webhooks": webhooks})


def _data(api: Api, secret: str) -> dict[str, str] | None:
    """A Secret's content; None where there is no such Secret."""
    try:
        return api.get(secret).get("data") or {}
    except ApiError as error:
        if error.status == 404:
            return None
        raise


def _trusting(webhook: Object, authority: str) -> Object:
    return {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": authority}}
