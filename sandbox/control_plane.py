"""Start and stop the control plane, and report its state."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import stages
from .certificates import Pki, ensure_pki, write_authentication, write_kubeconfig
from .controllers.pid_files import end_all
from .failure import SandboxError
from .home import COMMAND, SandboxHome
from .kubernetes_api import Api, ApiError
from .ports import answers, completed_ports, is_listening, require_free
from .processes import STARTED, PidFile, last_lines, start, stop
from .services import (
    Service,
    names,
    ports_of,
    services,
    to_restart,
    working_directory,
    write_egress_file,
)
from .toolchain.build import Toolchain

READY_WITHIN_S = 60.0
# The environment variables that a service inherits: none that could carry a credential or change its behaviour, and no
# TMPDIR, since an engine run's folder for temporary files is deleted after the run.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "USER", "VIRTUAL_ENV", "PYTHONPATH")

Say = Callable[[str], None]


@dataclass(frozen=True)
class ServiceStatus:
    """A row of `status`: pid and port are None where there is none."""

    name: str
    pid: int | None
    port: int | None
    state: str
    log: Path

    @property
    def good(self) -> bool:
        return self.state == "running"


class ControlPlane:
    """The processes of one cluster: the sandbox's own, or a simulated cloud's.

    `avoid` are ports that it must not choose, because others come back to them.
    """

    def __init__(self, home: SandboxHome, say: Say, avoid: Collection[int] = ()) -> None:
        self.home = home
        self.say = say
        self._avoid = avoid

    def reserve_ports(self) -> dict[str, int]:
        """The ports of all services, chosen and remembered as far as they are not yet.

        Raises SandboxError when there are not enough.
        """
        state = self.home.load_state()
        wanted = [port for name in names() for port in ports_of(name)]
        ports = completed_ports(state.get("ports", {}), wanted, self._avoid)
        if ports != state.get("ports"):
            self.home.save_state({**state, "ports": ports})
        return ports

    def up(self, toolchain: Toolchain) -> bool:
        """Start what does not run, wait until it is ready; False when everything ran already.

        Raises SandboxError when a port is taken or a process does not become ready.
        """
        self.home.create()
        ports = self.reserve_ports()
        state = self.home.load_state()
        fingerprints: dict[str, str] = state.get("fingerprints", {})
        pki = ensure_pki(self.home)
        write_kubeconfig(self.home, pki, ports["kube-apiserver"])
        write_authentication(self.home, pki, ports["authentication"])
        write_egress_file(self.home)
        self._write_kubectl(toolchain)
        known = services(self.home, toolchain, pki, ports)

        def is_current(service: Service) -> bool:
            return self._pid(service.name) is not None and fingerprints.get(service.name) == service.fingerprint()

        stale = to_restart(known, is_current)
        if not stale:
            self._prepare_stages(state)
            return False
        for service in reversed(stale):
            self._stop(service.name)
        for service in stale:
            for name in service.ports:
                require_free(service.name, ports[name])
        started: list[Service] = []
        for service in known:
            if service not in stale:
                continue
            if service.name == "kwok":
                self._prepare_stages(state, before_kwok=True)
            self._start(service)
            started.append(service)
            state["fingerprints"] = {**state.get("fingerprints", {}), service.name: service.fingerprint()}
            self.home.save_state(state)
            # what others need must be ready before they start; the rest becomes ready side by side
            if any(service.name in other.needs for other in known):
                self._wait_ready(service, pki, ports)
        for service in started:
            self._wait_ready(service, pki, ports)
        self._prepare_stages(state)
        if any(service.name == "kwok" for service in started):
            stages.wake_kwok(Api(self.home.kubeconfig), self._kwok_plays)
        return True

    def down(self, grace_s: float | None = None) -> list[str]:
        """Stop everything that runs at once, and etcd after its clients; gives the names of what was stopped.

        `grace_s` is what a process gets to end by itself; by default what it needs to lose nothing.
        """
        clients = [name for name in reversed(names()) if name != "etcd"]
        with ThreadPoolExecutor(len(clients)) as pool:
            ended = pool.map(lambda name: self._stop(name, grace_s), clients)
        stopped = [name for name, was_there in zip(clients, ended, strict=True) if was_there]
        if self._stop("etcd", grace_s):
            stopped.append("etcd")
        # what is left where the process that starts and ends them was killed
        return [*stopped, *end_all(self.home)]

    def status(self) -> list[ServiceStatus]:
        """The state of every process; empty when there is no sandbox."""
        ports: dict[str, int] = self.home.load_state().get("ports", {})
        if not ports:
            return []
        rows = []
        for name in names():
            pid, port = self._pid(name), ports.get(name)
            if pid is None:
                state = "crashed" if self._pid_file(name).path.exists() else "stopped"
            else:
                state = "running" if port is None or is_listening(port) else "not answering"
            rows.append(ServiceStatus(name, pid, port, state, self._log(name)))
        return rows

    def is_ready(self) -> bool:
        """Whether the API server answers and is ready."""
        return self.home.kubeconfig.exists() and Api(self.home.kubeconfig, timeout_s=5).is_ready()

    def _write_kubectl(self, toolchain: Toolchain) -> None:
        """A kubectl for this cluster, for machines without one and for people with several clusters."""
        self.home.bin.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = shlex.join([*toolchain.role("kubectl"), "--kubeconfig", str(self.home.kubeconfig)])
        script = self.home.bin / "kubectl"
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o700)

    def _prepare_stages(self, state: dict[str, Any], *, before_kwok: bool = False) -> None:
        api = Api(self.home.kubeconfig)
        try:
            if state.get("stages") != stages.digest():
                stages.apply_stages(api)
                state["stages"] = stages.digest()
                self.home.save_state(state)
            if before_kwok:
                stages.before_kwok_starts(api)
        except ApiError as error:
            raise SandboxError(
                f"the stages of simulated nodes and pods were refused: {error}", f"See: {COMMAND} status"
            ) from error

    def _start(self, service: Service) -> None:
        if not Path(service.command[0]).exists():
            raise SandboxError(f"{service.command[0]} is gone", f"Build it again: {COMMAND} build")
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment.update(service.environment)
        self.say(f"starting {service.name}")
        pid_file = self._pid_file(service.name)
        start(service.command, pid_file, self._log(service.name), environment, working_directory())

    def _stop(self, name: str, grace_s: float | None = None) -> bool:
        # only etcd needs a graceful end; an API server whose etcd has stopped would wait for a minute
        needed = 10.0 if name == "etcd" else 2.0
        return stop(self._pid_file(name), needed if grace_s is None else grace_s)

    def _wait_ready(self, service: Service, pki: Pki, ports: dict[str, int]) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while True:
            if self._pid(service.name) is None:
                raise self._failure(service, "ended right after it was started")
            if self._answers(service, pki, ports):
                return
            if time.monotonic() > deadline:
                raise self._failure(service, f"was not ready within {READY_WITHIN_S:.0f} s")
            time.sleep(0.05)

    def _answers(self, service: Service, pki: Pki, ports: dict[str, int]) -> bool:
        if not service.ports:
            return True
        port = ports[service.ports[0]]
        if service.name == "kube-apiserver":
            return is_listening(port) and self.is_ready()
        if not is_listening(port) or service.health is None:
            return is_listening(port)
        return answers(f"https://127.0.0.1:{port}{service.health}", pki.ca)

    def _kwok_plays(self) -> bool:
        lines = last_lines(self._log("kwok"), 1000)
        starts = [place for place, line in enumerate(lines) if line.startswith(STARTED)]
        return any(stages.PLAYS in line for line in lines[starts[-1] if starts else 0 :])

    def _failure(self, service: Service, what: str) -> SandboxError:
        lines = "\n".join(f"    {line[:200]}" for line in last_lines(self._log(service.name), 8))
        return SandboxError(
            f"{service.name} {what}; the end of its log:\n{lines}",
            f"The whole log: {self._log(service.name)}\n"
            f"If it stays so: `{COMMAND} reset` deletes the simulated cluster, then `up` makes a new one.",
        )

    def _pid_file(self, name: str) -> PidFile:
        return PidFile(self.home.pids / f"{name}.json")

    def _pid(self, name: str) -> int | None:
        return self._pid_file(name).pid()

    def _log(self, name: str) -> Path:
        return self.home.logs / f"{name}.log"
