"""A sandbox of the test session's own, and the states in which tests want it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cloud_driver import CloudSandbox
from doctoring import Doctor
from driver import PODS, STACK, Placed, Sandbox

from sandbox.kubernetes_api import Object


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    sandbox = Sandbox(tmp_path_factory.mktemp("sandbox"))
    try:
        sandbox.run("up", "-s", STACK)
        yield sandbox
    finally:
        sandbox.run("down")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox of the module's own, in which nothing was ever installed; stacks are tried on it."""
    sandbox = Sandbox(tmp_path_factory.mktemp("cluster"))
    yield sandbox
    sandbox.run("down")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., CloudSandbox]]:
    """Gives sandboxes of the module's own, each for a stack on a simulated cloud; nothing of them is left."""
    made: list[CloudSandbox] = []

    def make(stack: str, provider: str = "digitalocean") -> CloudSandbox:
        made.append(CloudSandbox(tmp_path_factory.mktemp("cloud"), stack, provider))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.clean_up()


@pytest.fixture(scope="session")
def many_lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox on which one stack after another comes up and goes."""
    sandbox = Sandbox(tmp_path_factory.mktemp("lives"))
    yield sandbox
    sandbox.run("down")


@pytest.fixture
def trying(many_lives: Sandbox) -> Iterator[Callable[[str], Sandbox]]:
    """Gives the session's sandbox for a stack; what a test leaves is taken away, so that the next finds nothing."""
    tried: list[Sandbox] = []

    def use(stack: str) -> Sandbox:
        tried.append(many_lives.trying(stack))
        return tried[-1]

    yield use
    for sandbox in tried:
        if sandbox.workspace.state(sandbox.stack) is not None:
            sandbox.run("pulumi", "destroy", *sandbox.options)
    if tried:
        many_lives.as_new()


@pytest.fixture
def placed(many_lives: Sandbox) -> Iterator[Callable[..., Placed]]:
    """Gives the session's sandbox as the cluster of a stack, with what its cloud has; all of it goes afterwards."""
    used: list[Placed] = []

    def become(stack: str, **more: dict[str, Any]) -> Placed:
        used.append(Placed(many_lives.home.root, stack, **more))
        used[-1].start()
        return used[-1]

    yield become
    for sandbox in used:
        sandbox.clear()


@pytest.fixture
def stack_up(sandbox: Sandbox) -> Sandbox:
    """The sandbox with the dev stack up; whoever took it down is put right first."""
    if sandbox.workspace.state(STACK) is None:
        sandbox.up()
    return sandbox


@pytest.fixture
def doctor(request: pytest.FixtureRequest, stack_up: Sandbox) -> Iterator[Doctor]:
    """The command that mends, on a stack that is up; it must have mended and named what the test says to plant."""
    doctor = Doctor(stack_up)
    yield doctor
    doctor.has_done(request.node.get_closest_marker("plants"))


@pytest.fixture
def stack_down(sandbox: Sandbox) -> Sandbox:
    """The sandbox with nothing on it."""
    if sandbox.workspace.state(STACK) is not None:
        sandbox.run("pulumi", "destroy", "-s", STACK)
    return sandbox


@pytest.fixture
def pods(stack_up: Sandbox) -> Iterator[Callable[[Object], str]]:
    """Creates pods, and removes them afterwards; gives the path of each."""
    made: list[str] = []

    def make(pod: Object) -> str:
        stack_up.api.post(PODS, pod)
        made.append(pod["metadata"]["name"])
        return f"{PODS}/{made[-1]}"

    yield make
    stack_up.remove_pods(*made)
