"""One sandbox, driven through the commands that a user types."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import psutil
import pytest
from committed_stacks import STACKS

from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document, stack_file, validate
from gpu_fabric.spec.stack_text import StackDocument
from sandbox.control_plane import ControlPlane
from sandbox.engine.commands import SandboxEngine, Stack, on_the_sandbox
from sandbox.engine.workspace import StackState, Workspace
from sandbox.existing_cluster import place_objects, play_cluster
from sandbox.home import HOME_VARIABLE, SandboxHome, project_root
from sandbox.kubernetes_api import Api, ApiError, Object
from sandbox.processes import last_lines
from sandbox.simulated_nodes import desired_nodes
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

STACK = "dev"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NODES = "/api/v1/nodes"
SIMULATION = "kwok.x-k8s.io"
"""The group of the one definition that the sandbox has by itself."""
# Seconds of a command, and lines of each log, in the message of one that did not end.
_LIMIT, _LINES = 540, 15
POLICY = "/apis/mellanox.com/v1alpha1/nicclusterpolicies/nic-cluster-policy"


class Sandbox:
    """Commands and look-ups on one sandbox, for one stack; another stack's are those of `trying`.

    `root` is the folder of the stack's file; commands find those of the project alone.
    """

    def __init__(self, home: Path, stack: str = STACK, options: tuple[str, ...] = (), root: Path | None = None) -> None:
        self.root = root or project_root()
        self.home = SandboxHome(home)
        self.workspace = Workspace(self.home)
        self.stack = stack
        self.options = ("-s", stack, *options)

    def trying(self, stack: str) -> Sandbox:
        """The same sandbox for a stack that is meant for a cluster of one's own."""
        return Sandbox(self.home.root, stack, ("--sandbox",))

    @property
    def api(self) -> Api:
        """A client of its API server."""
        return Api(self.home.kubeconfig)

    def command(self, *arguments: str) -> list[str]:
        """`python -m sandbox …` as an argument list."""
        return [sys.executable, "-m", "sandbox", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which commands act on this sandbox."""
        return {**os.environ, HOME_VARIABLE: str(self.home.root)}

    def run(self, *arguments: str, status: int = 0) -> str:
        """Run a command, which must end with that status; gives everything it printed."""
        command = " ".join(arguments)
        try:
            result = subprocess.run(
                self.command(*arguments),
                cwd=project_root(),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_LIMIT,
            )
        except subprocess.TimeoutExpired as late:
            printed = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout
            seen = f"{self.workloads()}\n{self.last_of_logs()}"
            pytest.fail(f"{command} did not end within {_LIMIT} s:\n{printed}\n{seen}", pytrace=False)
        assert result.returncode == status, f"{command} ended with {result.returncode}:\n{result.stdout}"
        return result.stdout

    def workloads(self) -> str:
        """The pods, and what makes them, for a message: what a run waits for is among them."""
        kinds = "pods,daemonsets,deployments,replicasets,jobs"
        command = [str(self.home.root / "bin" / "kubectl"), "get", kinds, "-A", "-o", "wide", "--request-timeout=10s"]
        listed = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return f"--- kubectl get {kinds}\n{listed.stdout}{listed.stderr}"

    def last_of_logs(self) -> str:
        """The ends of the sandbox's logs, for a message."""
        logs = sorted(self.home.logs.glob("*.log"))
        return "\n".join("\n".join([f"--- {log.name}", *last_lines(log, _LINES)]) for log in logs)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command without waiting for it."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=project_root(),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill_controller(self, name: str) -> None:
        """Kill the process of a controller, whose pod's name begins so; it is started again."""
        (file,) = self.home.pids.glob(f"controller-{name}-*.json")
        psutil.Process(int(json.loads(file.read_text())["pid"])).kill()

    def up(self) -> str:
        """What `make up` runs."""
        return self.run("pulumi", "up", *self.options, "--start")

    def helm(self, *arguments: str) -> None:
        """A command of Helm's on the cluster, as somebody types it."""
        helm = ensure(["helm"], Progress()).folder("helm") / "helm"
        command = [str(helm), *arguments, "--kubeconfig", str(self.home.kubeconfig)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr

    @property
    def engine(self) -> SandboxEngine:
        """The engine on this sandbox, for stacks that are in no file."""
        return SandboxEngine(self.home, ensure(["core"], Progress()), lambda line: None)

    def document_with(self, **more: dict[str, Any]) -> StackDocument:
        """The stack's file as if sections of it said something more; a key of a section with `None` is taken out."""
        document = on_the_sandbox(read_document(self.stack, self.root), self.home)
        merged = {name: {**document.sections.get(name, {}), **section} for name, section in more.items()}
        sections = {
            name: {key: value for key, value in section.items() if value is not None}
            for name, section in merged.items()
        }
        return document.model_copy(update={"sections": {**document.sections, **sections}})

    def stack_with(self, acknowledge: Iterable[str] = (), **more: dict[str, Any]) -> Stack:
        """The stack as if sections of its file said something more, and these resources might go."""
        document = self.document_with(**more)
        document = document.model_copy(update={"sections": {**document.sections, **guard(acknowledge)}})
        spec, problems = validate(document)
        assert spec is not None, problems
        file = stack_file(self.stack, self.root)
        return Stack(self.stack, file, spec, prepare(document, for_up=True).plan, document.sections)

    def up_with(self, acknowledge: Iterable[str] = (), *, fails: bool = False, **more: dict[str, Any]) -> str:
        """Bring the stack up as `stack_with` has it; gives everything that was printed."""
        stack = self.stack_with(acknowledge, **more)
        return said_of(lambda: self.engine.up(stack, as_json=False), fails)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets masked."""
        result = subprocess.run(
            self.command("pulumi", "outputs", *self.options),
            cwd=project_root(),
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs: dict[str, Any] = json.loads(result.stdout)
        return outputs

    def state(self) -> StackState:
        """What the engine has on record."""
        state = self.workspace.state(self.stack)
        assert state is not None
        return state

    @property
    def counted(self) -> int:
        """How many resources the engine tells of a run: it counts no provider that it made by itself."""
        return sum("::default" not in entry["urn"] for entry in self.state().resources)

    def look(self, path: str) -> Object | None:
        """The object or list at a path, None where there is none."""
        try:
            return self.api.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str) -> list[dict[str, Any]]:
        """The objects of a list, none when the kind is not known."""
        found: list[dict[str, Any]] = (self.look(path) or {"items": []})["items"]
        return found

    def as_new(self) -> None:
        """Take away what charts leave on a cluster when they go: definitions of kinds, and nodes' labels."""
        left = [item for item in self.items(DEFINITIONS) if item["spec"]["group"] != SIMULATION]
        for item in left:
            self.api.delete(f"{DEFINITIONS}/{item['metadata']['name']}")
        # The next command adds the nodes again.
        for node in self.items(NODES):
            self.api.delete(f"{NODES}/{node['metadata']['name']}")
        until(lambda: len(self.items(DEFINITIONS)) == 1, f"{len(left)} definitions are gone")

    def open_definitions(self) -> list[str]:
        """Kinds that take any content, as a stand-in chart defines those of a controller until it runs."""
        return [
            item["metadata"]["name"]
            for item in self.items(DEFINITIONS)
            for version in item["spec"]["versions"]
            if version["schema"]["openAPIV3Schema"].get("x-kubernetes-preserve-unknown-fields")
        ]

    def pod(self, name: str) -> Object:
        """A pod written from the `fabric` output alone."""
        patch = self.outputs()["fabric"]["podTemplatePatch"]
        patch["spec"]["containers"][0]["image"] = "training"
        metadata = {"name": name, **patch["metadata"]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": patch["spec"]}

    def node_of(self, pod: str, pods: str = PODS) -> str:
        """The node on which a pod runs; empty while it does not."""
        found = self.api.get(f"{pods}/{pod}")
        return str(found["spec"]["nodeName"]) if found["status"].get("phase") == "Running" else ""

    def run_pod(self, pod: Object, pods: str = PODS) -> str:
        """Create a pod and wait until it runs; gives its node."""
        self.api.post(pods, pod)
        name = pod["metadata"]["name"]
        return str(until(lambda: self.node_of(name, pods), f"{name} runs"))

    def remove_pods(self, *names: str, pods: str = PODS) -> None:
        for name in names:
            self.api.delete(f"{pods}/{name}?gracePeriodSeconds=0")
        until(lambda: not {*names} & {pod["metadata"]["name"] for pod in self.items(pods)}, f"{names} are gone")

    def allocatable(self, resource: str) -> dict[str, str]:
        """What every GPU node offers of a resource; nodes without it are left out."""
        nodes = self.items("/api/v1/nodes")
        return {
            node["metadata"]["name"]: node["status"]["allocatable"][resource]
            for node in nodes
            if resource in node["status"]["allocatable"]
        }


def root_of(stack: str) -> Path:
    """The folder by which a stack's file is read: an example goes before one of tests/stacks of its name."""
    root = project_root()
    return root if (root / "examples" / f"Pulumi.{stack}.yaml").is_file() else STACKS


class Placed(Sandbox):
    """The sandbox as the cluster of a stack that may be one of tests/stacks, which no command finds by its name.

    `more` is what the stack's file says besides.
    """

    def __init__(self, home: Path, stack: str, **more: dict[str, Any]) -> None:
        super().__init__(home, stack, root=root_of(stack))
        self.more = more

    @property
    def planned(self) -> Stack:
        return self.stack_with(**self.more)

    def start(self) -> None:
        """Make the cluster what it is before the stack comes up: its nodes, and what a cloud has there."""
        ControlPlane(self.home, lambda line: None).up(ensure(["core"], Progress()))
        spec = self.planned.spec
        assert play_cluster(self.api, spec, desired_nodes(spec), started=True)[1] == ()

    def up(self) -> str:
        return self.up_with(**self.more)

    def destroy(self) -> None:
        """What `make destroy` runs."""
        said_of(lambda: self.engine.destroy(self.planned), False)

    def outputs(self) -> dict[str, Any]:
        outputs: dict[str, Any] = json.loads(self.engine.outputs(self.planned, show_secrets=False))
        return outputs

    def clear(self) -> None:
        """Take away the stack, what the cloud has, and pods that a failed test has left."""
        self.remove_pods(*(pod["metadata"]["name"] for pod in self.items(PODS)))
        if self.workspace.state(self.stack) is not None:
            self.destroy()
        place_objects(self.api, [])


def guard(acknowledge: Iterable[str]) -> dict[str, Any]:
    """The section by which resources may go, until tomorrow."""
    expires = str(datetime.now(UTC).date() + timedelta(days=1))
    entries = [{"resource": name, "expires": expires, "reason": "a test wants it"} for name in acknowledge]
    return {"guard": {"acknowledge": entries}} if entries else {}


def said_of(command: Callable[[], int], fails: bool) -> str:
    """What a command says, its children too, which must end well or must not."""
    with printed() as read:
        status = command()
    said = read()
    assert (status != 0) == fails, said
    return said


@contextlib.contextmanager
def printed() -> Iterator[Callable[[], str]]:
    """Catch what this process and its children print meanwhile; gives how to read it."""
    with tempfile.TemporaryFile("w+") as file, contextlib.redirect_stdout(file):
        errors, kept = sys.stderr, os.dup(2)
        os.dup2(file.fileno(), 2)
        sys.stderr = file
        try:
            yield lambda: text[0]
        finally:
            sys.stderr = errors
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            text = [file.read()]


@contextlib.contextmanager
def aside(run: Callable[[], object]) -> Iterator[ForkProcess]:
    """Run something in a process group of its own, which is killed at the end if it still runs."""

    def leading() -> None:
        os.setsid()
        run()

    process = get_context("fork").Process(target=leading)
    process.start()
    assert process.pid is not None
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()


def until(condition: Callable[[], Any], what: str, seconds: float = 300) -> Any:
    """Wait for a condition and give its value; a failure names what was waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")
