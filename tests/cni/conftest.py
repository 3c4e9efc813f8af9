"""A machine in which namespaces stand for nodes and pods, with the plug-ins that the toolchain built."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from committed_stacks import folder_of
from namespaces import PROGRAMS, CommandFailed, Machine, NotPossible
from tier_skips import skip_once

from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from sandbox.failure import SandboxError
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress


@pytest.fixture(scope="session")
def plugins() -> Path:
    """The folder with the plug-ins and cnitool."""
    try:
        return ensure(["cni"], Progress()).folder("cni")
    except SandboxError as error:
        pytest.fail(f"the plug-ins cannot be had: {error.message} {error.remedy}", pytrace=False)


def _lacking() -> str:
    """Why namespaces cannot be made, or not be used as a node's kernel would let the plug-ins; empty where they can."""
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"no program `{program}` on PATH (package {package})"
    with tempfile.TemporaryDirectory() as folder:
        try:
            probe = Machine(Path(folder), Path(folder))
        except NotPossible as error:
            return f"namespaces cannot be made, which needs root or a kernel that lets users: {error}"
        try:
            node = probe.namespace()
            probe.nic(node, "probe", probe.namespace())
            # in some containers /proc/sys is read-only even for a namespace of one's own
            node.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore")
        except (NotPossible, CommandFailed) as error:
            return f"namespaces can be made, but hold no virtual cable or no sysctls: {error}"
        finally:
            probe.end()
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip_once(items, Path(__file__).parent, _lacking, "namespaces_work")


@pytest.fixture(scope="session")
def namespaces_work() -> None:
    """What a test needs that makes namespaces; where they cannot be made, one such test is skipped for all."""


@pytest.fixture
def machine(namespaces_work: None, plugins: Path, tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(plugins, tmp_path)
    yield machine
    machine.end()


@pytest.fixture
def bare_machine(namespaces_work: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine without plug-ins, for what runs on the nodes themselves."""
    machine = Machine(tmp_path_factory.mktemp("plugins"), tmp_path_factory.mktemp("networks"))
    yield machine
    machine.end()


@pytest.fixture(scope="session")
def plan_of(root: Path) -> Callable[..., Plan]:
    """The plan of a committed stack, with values of its section `fabric` changed, or on machines of another shape."""

    def make(stack: str, *, shape: str | None = None, **changes: object) -> Plan:
        document = read_document(stack, folder_of(stack))
        sections = {**document.sections, "fabric": {**document.sections.get("fabric", {}), **changes}}
        if shape is not None:
            cluster = sections["cluster"]
            sections["cluster"] = {**cluster, "pools": [{**pool, "shape": shape} for pool in cluster["pools"]]}
        return prepare(document.model_copy(update={"sections": sections}), for_up=False).plan

    return make
