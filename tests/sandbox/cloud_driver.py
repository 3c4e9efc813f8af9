"""A simulated cloud of one's own, driven as `make` does it, with what a test changes in the stack file."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from driver import Sandbox, said_of, until

from sandbox.cloud import fault_orders
from sandbox.cloud.clusters import ControlPlanes
from sandbox.cloud.faults import Faults
from sandbox.cloud.store import Record, Store
from sandbox.engine.commands import SandboxEngine
from sandbox.kubernetes_api import Api
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

NODES = "/api/v1/nodes"


class Preview(NamedTuple):
    """The operation on each resource that does not stay as it is, by name, and everything that was printed."""

    steps: dict[str, str]
    said: str


class CloudSandbox(Sandbox):
    """Commands on one stack whose cluster a simulated `cloud` makes, and look-ups in that cloud and cluster.

    Every command takes what a test has otherwise in section `cluster` of the stack file; nothing is remembered. The
    commands run in this process, which spares the start of another one each time.
    """

    def __init__(self, home: Path, stack: str, cloud: str = "digitalocean") -> None:
        super().__init__(home, stack, ("--sandbox",))
        self.planes = ControlPlanes(self.home)
        self.folder = self.home.cloud / cloud
        self.store = Store(self.folder)

    @cached_property
    def engine(self) -> SandboxEngine:
        return SandboxEngine(self.home, ensure(None, Progress()), lambda line: print(line, file=sys.stderr))

    def up(self, *, fails: bool = False, acknowledge: Iterable[str] = (), **cluster: Any) -> str:
        """What `make up` runs; gives everything it printed."""
        return self.up_with(acknowledge, fails=fails, cluster=cluster)

    def preview(self, *, acknowledge: Iterable[str] = (), **cluster: Any) -> Preview:
        """What `make preview` says."""
        stack = self.stack_with(acknowledge, cluster=cluster)
        said = said_of(lambda: self.engine.preview(stack, as_json=True), False)
        digest = json.JSONDecoder().raw_decode(said, said.index("{"))[0]
        named = ((step["urn"].rpartition("::")[2], step["op"]) for step in digest["steps"])
        return Preview({name: operation for name, operation in named if operation != "same"}, said)

    def destroy(self, *, fails: bool = False, **cluster: Any) -> str:
        return said_of(lambda: self.engine.destroy(self.stack_with(cluster=cluster)), fails)

    def refresh(self, *, fails: bool = False) -> str:
        """What `pulumi refresh` does on the stack as it was brought up last."""
        options = ["--yes", "--skip-preview", "--non-interactive", "--stack", self.stack]
        file = str(self.workspace.stack_file(self.stack))
        arguments = ["refresh", *options, "--config-file", file]
        return said_of(lambda: self.engine.runs.run(arguments, self.workspace.stacks).status, fails)

    def fault(self, name: str, times: int | None = None, seconds: int | None = None) -> None:
        """What `python -m sandbox fault` does."""
        fault_orders.add(self.home, name, times, seconds)

    @property
    def faults_left(self) -> dict[str, Any]:
        """The faults that were ordered and have not happened yet."""
        with Faults(self.home.cloud).open() as ordered:
            return dict(ordered)

    def found(self, collection: str) -> list[Record]:
        """What the cloud has of something, whether or not the stack knows of it."""
        return self.store.list(collection)

    @property
    def everything(self) -> dict[str, list[Record]]:
        """All that the cloud has, by collection; nothing at all where it has never been asked for anything."""
        folders = self.folder.iterdir() if self.folder.exists() else ()
        collections = sorted(path.name for path in folders if path.is_dir() and path.name != "locks")
        return {collection: self.found(collection) for collection in collections}

    def known(self, kind: str) -> list[str]:
        """The ids that the stack's state has of a resource type of DigitalOcean's."""
        state = self.workspace.state(self.stack)
        types = f"digitalocean:index/{kind[0].lower()}{kind[1:]}:{kind}"
        return [entry["id"] for entry in (state.resources if state else ()) if entry["type"] == types]

    @property
    def api(self) -> Api:
        """A client of the API server of the account's only cluster."""
        (cluster,) = self.planes.ids()
        return Api(self.planes.kubeconfig(cluster))

    def processes(self) -> list[str]:
        """The command lines of everything that runs for this sandbox, its control planes and plug-ins too."""
        return [" ".join(words) for words in _processes_of(self.home.root)]

    def assert_nothing_is_left(self) -> None:
        """No object at the cloud, no control plane, no folder of one, no process, no state."""
        assert not any(self.everything.values())
        assert [path for path in self.home.clusters.iterdir() if path.is_dir()] == []
        assert self.processes() == []
        assert self.workspace.state(self.stack) is None

    def clean_up(self) -> None:
        """End and forget everything, whatever state a test has left it in."""
        self.run("reset")
        until(lambda: not self.processes(), "no process of the sandbox is left")


def _processes_of(root: Path) -> Iterator[list[str]]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            named = [*words, *process.environ().values()]
            if process.pid != os.getpid() and any(str(root) in text for text in named):
                yield words
