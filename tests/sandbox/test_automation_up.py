"""A stack that Python brings up, changes and destroys by the Automation API, on a control plane of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver import Sandbox
from pulumi import automation

from components.automation import FabricStack, FailedRunError, Sections
from gpu_fabric.spec.load import read_document
from sandbox.engine.commands import on_the_sandbox
from sandbox.home import project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

STACK = "host-network"


def stack_on(sandbox: Sandbox, folder: Path, **cluster: str) -> FabricStack:
    """The example as a program has it, with more keys of its cluster."""
    sections = on_the_sandbox(read_document(STACK, project_root()), sandbox.home).sections
    return FabricStack(
        Sections(STACK, {**sections, "cluster": {**sections["cluster"], **cluster}}),
        project_root(),
        environment=sandbox.workspace.environment(),
        folder=folder,
        command=automation.PulumiCommand(root=str(sandbox.home.root)),
    )


def test_a_program_brings_a_stack_up_reads_its_contract_is_stopped_by_the_guard_and_destroys_it(
    cluster: Sandbox, tmp_path: Path
) -> None:
    cluster.run("up", "-s", STACK, "--sandbox")
    # The CLI and its plug-ins.
    cluster.workspace.prepare(ensure(["core"], Progress()))
    stack = stack_on(cluster, tmp_path)
    outputs = stack.up()

    assert outputs.secret == {"kubeconfig"}
    assert outputs.fabric().host_network
    assert stack.outputs() == outputs
    assert "token" in outputs.values["kubeconfig"]
    assert "token" not in repr(outputs)
    assert set(stack.preview().changes) == {"same"}

    with pytest.raises(FailedRunError) as stopped:
        stack_on(cluster, tmp_path, id="another cluster's").up()
    (problem,) = stopped.value.problems
    assert "another cluster" in problem
    assert "Traceback" not in problem

    try:
        stack.destroy()
    except FailedRunError as failed:
        # The Kubernetes plug-in that the sandbox can build may crash while it deletes objects (docs/decisions/0001).
        if not any("exited prematurely" in problem for problem in failed.problems):
            raise
        stack.destroy()
    assert cluster.workspace.state(STACK) is None
