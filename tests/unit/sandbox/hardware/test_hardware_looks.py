"""A look at a simulated node: the Job's own script reads what the sandbox makes of the node's devices."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_objects import objects, simulated_nodes

from gpu_fabric.catalog import catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.look_job import job
from gpu_fabric.discover.stack_file import Wishes, stack_text
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file
from sandbox.hardware.looks import printed, script_of


@pytest.mark.parametrize("name", ["BM.GPU.H100.8", "BM.GPU.GB200.4", "server.dgx-h100.8", "BM.GPU.MI300X.8"])
def test_a_look_and_the_clusters_objects_are_one_machine(name: str) -> None:
    shape = catalog().shapes[name]
    items = simulated_nodes(name)
    node = next(item for item in items if item["metadata"]["name"] == "gpu-0")
    text = printed(script_of(job("gpu-0", "looks", "busybox")["spec"]["template"]) or "", node)

    found = discovered(read_files({"cluster": objects(items).encode(), "look": text.encode()}), catalog())

    assert (found.match.equal, found.match.by_label) == ((name,), False)
    assert [nic.pci for nic in found.choice.rails] == [nic.pci for nic in shape.nics]
    if shape.nics[0].rdma_device is not None:
        assert [nic.rdma_device for nic in found.choice.rails] == [nic.rdma_device for nic in shape.nics]
    if shape.nics[0].nearest_gpu is not None:
        assert [nic.nearest_gpu for nic in found.choice.rails] == [nic.nearest_gpu for nic in shape.nics]


# Of each cloud and of servers; one takes a second.
@pytest.mark.parametrize("name", ["BM.GPU.RTXPRO.8", "gpu-b300x8-2304gb-fabric-contracted", "server.hgx-h100.8"])
def test_a_look_places_the_rails_of_a_shape_whose_addresses_are_not_published(name: str, tmp_path: Path) -> None:
    shape = catalog().shapes[name]
    items = simulated_nodes(shape.name)
    node = next(item for item in items if item["metadata"]["name"] == "gpu-0")
    text = printed(script_of(job("gpu-0", "looks", "busybox")["spec"]["template"]) or "", node)
    file = tmp_path / "Pulumi.found.yaml"

    found = discovered(read_files({"cluster": objects(items).encode(), "look": text.encode()}), catalog())
    file.write_text(stack_text(found, Wishes()).text, encoding="utf-8")
    plan = prepare(read_file(file), for_up=False)

    assert [rail.pci for rail in plan.rails] == [f"fffe:{number:02x}:00.0" for number in range(len(shape.nics))]


def test_other_pods_print_nothing() -> None:
    assert script_of({"spec": {"containers": [{"name": "a"}, {"name": "b", "command": ["chroot", "/host"]}]}}) is None
