"""The folder of a sandbox: ``.sandbox`` at the project root by default."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gpu_fabric.base.simulators import Simulator
from .failure import SandboxError

HOME_VARIABLE = "GPU_FABRIC_SANDBOX"
# The longest path of a socket on every system.
_SOCKET_LIMIT = 100
_FOLDER = Path(__file__).resolve().parent
PACKAGE = _FOLDER.name
"""The name by which other processes start modules of this package: `sandbox` in a checkout, as installed another."""
IN_CHECKOUT = PACKAGE == "sandbox"
COMMAND = "python -m sandbox" if IN_CHECKOUT else "gpu-fabric sandbox"
"""The command of the sandbox, as messages name it."""


SIMULATOR = Simulator(
    name="sandbox",
    folder=".sandbox",
    kubectl="bin/kubectl",
    start=f"`{'make' if IN_CHECKOUT else COMMAND} up` starts the sandbox, which writes it",
    doctor=f"{COMMAND} doctor",
    charts=_FOLDER / "charts",
)


def project_root() -> Path:
    """The folder of the project: the checkout, and the current folder where the sandbox is installed from a wheel."""
    return _FOLDER.parent if IN_CHECKOUT else Path.cwd()


def default_home() -> Path:
    """The sandbox's default folder, which stack files name."""
    return project_root() / SIMULATOR.folder


class Folder(Protocol):
    """A record of a folder's files."""

    @property
    def root(self) -> Path: ...


class Inside:
    """The path of a file or folder in the folder of a record."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: Folder, _: type) -> Path:
        return folder.root / self._name


class ClusterRanges(NamedTuple):
    """The ranges in which a cluster gives its pods and services addresses."""

    pods: str = "10.244.0.0/16"
    services: str = "10.96.0.0/16"


@dataclass(frozen=True)
class SandboxHome:
    """The paths of one sandbox; several may live side by side, each on ports of its own."""

    root: Path
    kubeconfig = Inside("kubeconfig")
    pki = Inside("pki")
    pids = Inside("pids")
    logs = Inside("logs")
    etcd = Inside("etcd")
    bin = Inside("bin")
    pulumi = Inside("pulumi")
    state_file = Inside("state.json")
    authentication = Inside("authentication.yaml")
    """Where the API server asks about bearer tokens that are not the sandbox's own."""
    egress = Inside("egress.yaml")
    """The way that the API server takes to Services."""
    controllers = Inside("controllers")
    """The files of the processes that run in the place of controllers' containers."""
    tokens = Inside("tokens.json")
    """Bearer tokens that the cluster takes besides the sandbox's own, each with the end of its validity."""
    cloud = Inside("cloud")
    """The state of the simulated clouds."""
    clusters = Inside("clusters")
    """The clusters of the simulated clouds: a home of its own for each."""

    @classmethod
    def current(cls) -> SandboxHome:
        """The sandbox that ``GPU_FABRIC_SANDBOX`` names, else ``.sandbox`` at the project root."""
        named = os.environ.get(HOME_VARIABLE)
        return cls(Path(named).expanduser().resolve() if named else default_home())

    @property
    def egress_socket(self) -> Path:
        """Where the process behind that way listens; elsewhere if the folder's path is too long for a socket."""
        place = self.root / "egress.sock"
        if len(str(place)) <= _SOCKET_LIMIT:
            return place
        name = hashlib.sha256(str(self.root).encode()).hexdigest()[:16]
        # Not what TMPDIR says: a run of the engine has a folder of its own there.
        return Path("/tmp", f"gpu-fabric-{os.getuid()}", f"{name}.sock")

    def cluster(self, name: str) -> SandboxHome:
        """The home of a simulated cloud's cluster. Raises ValueError for an id that is not a plain file name."""
        if not name or name != Path(name).name or name.startswith("."):
            raise ValueError(f"cluster {name!r}: allowed are ids that are plain file names")
        return SandboxHome(self.clusters / name)

    def cluster_ids(self) -> list[str]:
        """The simulated clouds' clusters that exist here, running or not, sorted."""
        return sorted(file.parent.name for file in self.clusters.glob("[!.]*/state.json"))

    def remembered_ports(self) -> frozenset[int]:
        """Every port that this sandbox or one of its clusters has taken for good, in use right now or not."""
        homes = (self, *(self.cluster(name) for name in self.cluster_ids()))
        return frozenset(port for home in homes for port in home.load_state().get("ports", {}).values())

    def create(self) -> None:
        """Create the folder, closed to other users: it contains keys, tokens and the engine's passphrase."""
        for folder in (self.root, self.pki, self.pids, self.logs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def load_state(self) -> dict[str, Any]:
        """Values chosen at the first start (ports); empty when there is no sandbox yet.

        Raises SandboxError when the file cannot be read as JSON.
        """
        try:
            text = self.state_file.read_text()
        except FileNotFoundError:
            return {}
        try:
            state = json.loads(text)
        except json.JSONDecodeError as error:
            raise SandboxError(
                f"{self.state_file} is damaged: {error}", f"Start afresh with: {COMMAND} reset"
            ) from error
        if not isinstance(state, dict):
            raise SandboxError(f"{self.state_file} is damaged", f"Start afresh with: {COMMAND} reset")
        return state

    def save_state(self, state: dict[str, Any]) -> None:
        write_private(self.state_file, json.dumps(state, indent=2) + "\n")

    @property
    def ranges(self) -> ClusterRanges:
        """The ranges that a simulated cloud was asked for, else the sandbox's own."""
        return ClusterRanges(**self.load_state().get("ranges", {}))

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Let one command at a time change the sandbox; a second one fails at once with the reason."""
        self.create()
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(file_lock(self.root / "lock", wait=False))
            except BlockingIOError as error:
                raise SandboxError(
                    f"another command is changing the sandbox in {self.root} right now",
                    "Wait until it has ended, then run this one again.",
                ) from error
            yield

    def delete_cluster(self) -> None:
        """Remove everything the sandbox wrote, by name: a folder named by mistake loses nothing else."""
        folders = (
            self.pki,
            self.pids,
            self.logs,
            self.etcd,
            self.bin,
            self.pulumi,
            self.cloud,
            self.clusters,
            self.controllers,
        )
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        for file in (self.kubeconfig, self.state_file, self.authentication, self.egress, self.tokens):
            file.unlink(missing_ok=True)


@contextlib.contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold a lock file among all processes and threads; without `wait` raise BlockingIOError if another holds it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner can read (mode 600), whole or not at all."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp creates with mode 600, so the content is never readable by others, not even for a moment
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
