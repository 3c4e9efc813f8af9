"""The programs of docs/workloads.md: a Job, a Deployment and an MPIJob get the fabric, by the transform."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from attached_pods import NETWORKS, at
from programs import ROOT, answered_waits
from recording import Recording, World, record
from stub_cluster import KUBECONFIG

from gpu_fabric.prepare import prepare_stack

pytestmark = pytest.mark.components

SECTION = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8").partition("\n## In a Pulumi program\n")[2]
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
JOB, DEPLOYMENT, MPI_JOB = PROGRAMS


def run(program: str, *, preview: bool = False) -> Recording:
    """What a program of the page registers; the other stack that it may refer to is `dev`, as it is committed."""
    text = program.replace("gpu_fabric.components", "components")
    contract = prepare_stack("dev", ROOT).workload.model_dump(mode="json", by_alias=True, exclude_none=True)
    world = World({}, others={"dev": {"fabric": contract}})
    config = {"gpu-fabric:kubeconfig": KUBECONFIG}
    with answered_waits():
        return record(lambda: exec(text, {}), stack="mine", config=config, world=world, preview=preview)  # noqa: S102


def attached(recording: Recording, name: str, template: str) -> Any:
    """The networks of a pod template of a resource, and what its one container asks for."""
    found = at(recording[name].inputs, template)
    (container,) = found["spec"]["containers"]
    networks = found.get("metadata", {}).get("annotations", {}).get(NETWORKS)
    return len(json.loads(networks)) if networks else 0, container.get("resources", {}).get("requests", {})


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
@pytest.mark.parametrize(
    ("program", "name", "template", "rails"),
    [
        (JOB, "pretrain", "spec.template", 16),
        (DEPLOYMENT, "model", "spec.template", 16),
        (MPI_JOB, "all-reduce", "spec.mpiReplicaSpecs.Worker.template", 16),
        (MPI_JOB, "all-reduce", "spec.mpiReplicaSpecs.Launcher.template", 0),
    ],
    ids=["Job", "Deployment", "MPIJob", "the launcher of an MPIJob"],
)
def test_the_workload_of_a_program_gets_every_rail(
    program: str, name: str, template: str, rails: int, preview: bool
) -> None:
    networks, requests = attached(run(program, preview=preview), name, template)

    assert networks == rails
    assert len([device for device in requests if device.startswith("nvidia.com/rail")]) == rails


@pytest.mark.parametrize(("program", "name"), [(JOB, "pretrain"), (MPI_JOB, "all-reduce")])
def test_a_workload_comes_after_the_whole_fabric(program: str, name: str) -> None:
    recording = run(program)
    fabric = {entry.name for entry in recording.resources if entry.name.startswith("train-") and entry.custom}

    assert fabric
    assert fabric <= recording[name].dependencies


def test_what_the_fabric_creates_is_left_alone_by_a_transform_of_the_whole_stack() -> None:
    """The transform is registered before the fabric here, which Pulumi would otherwise wait for."""
    line = "pulumi.runtime.register_resource_transform(fabric_transform(fabric.contract))\n"
    assert line in MPI_JOB
    moved = MPI_JOB.replace(line, "").replace(
        "fabric = GpuFabric(",
        "later = asyncio.get_running_loop().create_future()\n"
        "pulumi.runtime.register_resource_transform(fabric_transform(pulumi.Output.from_input(later)))\n"
        "fabric = GpuFabric(",
    )
    moved = f"import asyncio\n{moved}\nfabric.ready.apply(lambda _: fabric.contract.apply(later.set_result))\n"

    assert attached(run(moved), "all-reduce", "spec.mpiReplicaSpecs.Worker.template")[0] == 16
