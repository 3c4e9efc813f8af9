"""What a look at a node prints gives the machine: the real script on a node made of files, for the catalog's shapes."""

from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.look import is_whole
from gpu_fabric.discover.stack_file import Discovered, StackFileOptions, stack_text
from tests.support.cluster_objects import objects, simulated_nodes
from tests.support.looked_at import LookedAt, look_of
from tests.support.node_outputs import NodeOutputs

PLACED = [
    shape.name for shape in catalog().shapes.values() if shape.nics and all(nic.pci is not None for nic in shape.nics)
]


def found_in(*texts: str) -> Discovered:
    return discovered(read_files({f"text {number}": text.encode() for number, text in enumerate(texts)}), catalog())


# The script takes a second for each.
@pytest.mark.parametrize("name", PLACED[::3])
def test_a_look_alone_has_every_fact_of_the_machine(name: str) -> None:
    shape = catalog().shapes[name]
    outputs = NodeOutputs(shape, vfs=shape.vfs_per_nic)
    machine = found_in(look_of(outputs))
    fields = machine.machine.fields

    assert name in machine.match.equal
    seen = [(row["pci"], row["rdmaDevice"], row["interface"], row.get("nearestGpu")) for row in fields["nics"]]
    assert seen == outputs.rails
    assert fields["nicModel"]["linkType"] == ("infiniband" if outputs.infiniband else "ether")
    assert (fields["mtu"], fields["nicSpeedGbps"]) == (outputs.mtu, outputs.speed)
    assert fields["gpus"]["pci"] == list(outputs.gpus)
    assert fields.get("vfsPerNic", 0) == shape.vfs_per_nic
    assert machine.node.machine == "PowerEdge XE9680"


def test_rails_that_the_catalog_cannot_place_are_written_as_they_were_seen() -> None:
    """A server that has its own bus addresses, whose label names a shape without any."""
    shape = catalog().shapes["server.hgx-h100.8"]
    nodes = [item for item in simulated_nodes(shape.name) if item["kind"] == "Node"]
    twin = catalog().shapes["server.dgx-h100.8"]
    written = stack_text(found_in(objects(nodes), look_of(NodeOutputs(twin))), StackFileOptions()).text

    assert "shape: server.hgx-h100.8\n" in written
    rails = written.partition("    rails:\n")[2].partition("    addressing")[0].splitlines()
    assert len(rails) == len(shape.nics)
    assert f'      - {{rail: 0, pci: "{twin.nics[0].pci}", rdmaDevice: {twin.nics[0].rdma_device}' in rails[0]


def test_what_the_node_runs_and_what_is_amiss_is_remarked(tmp_path: Path) -> None:
    node = LookedAt(tmp_path, NodeOutputs(catalog().shapes["server.dgx-h100.8"]))
    switch = "0000:10:01.0"
    (node.sys / "bus/pci/devices" / switch).mkdir()
    (node.programs / "acs").write_text(f"{switch} 001d\n0000:18:00.0 0000\n", encoding="utf-8")
    down = node.sys / "class/infiniband/mlx5_0/ports/1/state"
    down.write_text("1: DOWN\n", encoding="utf-8")
    (node.sys / "class/infiniband_verbs/uverbs0/abi_version").write_text("6\n", encoding="utf-8")
    text = node.run()

    notes = found_in(text).node.notes
    assert (
        "the node runs kernel 6.8.0-1043-oracle, mlx5_core 25.10-1.7.1, nvidia 570.172.08, RDMA mode exclusive" in notes
    )
    assert any(note.startswith("ACS is on at 1 PCI functions") for note in notes)
    assert "mlx5_0 has no link (1: DOWN)" in notes
    assert any("have ABI 1 (as of irdma0) and 6 (as of mlx5_0): `gpu-fabric image-check" in note for note in notes)


def test_a_node_without_setpci_and_nvidia_smi_is_looked_at_as_well(tmp_path: Path) -> None:
    outputs = NodeOutputs(catalog().shapes["server.dgx-h100.8"])
    node = LookedAt(tmp_path, outputs)
    (node.programs / "nvidia-smi").unlink()
    node.add_program("setpci", "#!/bin/bash\nexit 1\n")

    assert found_in(node.run()).machine.fields["gpus"]["pci"] == list(outputs.gpus)


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_text_that_was_cut_is_refused(cut: int) -> None:
    lines = look_of(NodeOutputs(catalog().shapes["server.dgx-h100.8"])).splitlines(keepends=True)

    assert is_whole("".join(lines))
    for part in ("".join(lines[:-cut]), "".join([*lines[: -cut - 1], lines[-1]])):
        with pytest.raises(DiscoveryError, match="the end of this look is missing; give the whole output"):
            found_in(part)
