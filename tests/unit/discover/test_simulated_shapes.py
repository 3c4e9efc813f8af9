"""The sandbox's nodes of every shape of the catalog give a stack file that is planned as one with the shape's name."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster_objects import objects, simulated_nodes

from gpu_fabric.catalog import catalog
from gpu_fabric.discover.cluster_objects import groups_in
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.stack_file import StackFileOptions, stack_text
from gpu_fabric.discover.text import decode
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file

SHAPES = tuple(catalog().shapes)
# Shapes whose NICs the catalog has with their places: what was seen of them decides the model.
PLACED = {name for name, shape in catalog().shapes.items() if shape.nics and all(nic.pci for nic in shape.nics)}


def outcome(text: str, folder: Path) -> Plan | list[tuple[str, str]]:
    """The plan of a stack file, or what keeps it from being planned."""
    file = folder / "Pulumi.found.yaml"
    file.write_text(text, encoding="utf-8")
    try:
        return prepare(read_file(file), for_up=False).plan
    except ConfigurationError as error:
        return [(finding.id, finding.path) for finding in error.located]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_plan_of_a_shapes_nodes_is_the_shapes_own(shape: str, tmp_path: Path) -> None:
    found = discovered(read_files({"objects.json": objects(simulated_nodes(shape)).encode()}), catalog())
    model = {"ether": "sriov", "infiniband": "ib-sriov"}
    known = catalog().find(shape)
    assert known is not None
    settings = ""
    if shape in PLACED:
        assert known.nic_model is not None
        usual = model[known.nic_model.link_type] if known.vfs_per_nic else "host-device"
        settings = f"model: {usual}"
    by_hand = f"""\
config:
  gpu-fabric:cluster:
    provider: existing
    kubeconfig: ~/.kube/config
    pools: [{{name: gpu, shape: {shape}, nodes: 3}}]
  gpu-fabric:fabric:
    {settings}
    addressing: {{supernet: 172.16.0.0/16}}
"""
    expected = outcome(by_hand, tmp_path)
    got = outcome(stack_text(found, StackFileOptions()).text, tmp_path)

    if shape in PLACED:
        assert isinstance(expected, Plan)
        assert got == expected
    else:
        # What the catalog does not know of a shape is asked for; a label of the nodes was found, at times.
        assert isinstance(expected, list)
        assert isinstance(got, list)
        assert set(got) <= set(expected)
        assert set(expected) - set(got) <= {("OWN009", "gpu-fabric:cluster.pools[0].labels")}


def machines(shape: str, number: int) -> list[dict[str, Any]]:
    """The objects of a shape's nodes in a group of this number."""
    items = simulated_nodes(shape)
    for item in items:
        item["metadata"]["name"] = f"m{number}-{item['metadata']['name']}"
    return items


def model_of(shape: str) -> str:
    known = catalog().shapes[shape]
    assert known.nic_model is not None
    return (
        {"ether": "sriov", "infiniband": "ib-sriov"}[known.nic_model.link_type] if known.vfs_per_nic else "host-device"
    )


def together(*shapes: str) -> str:
    """The stack file of a cluster that has three nodes of each shape."""
    text = objects([item for number, shape in enumerate(shapes) for item in machines(shape, number)]).encode()
    groups = len(groups_in(decode("objects.json", text)))
    found = [discovered(read_files({"objects.json": text}, {}, str(number + 1)), catalog()) for number in range(groups)]
    return stack_text(found[0], StackFileOptions(), *found[1:]).text


PAIRS = [
    pair for pair in combinations(sorted(PLACED), 2) if len({catalog().shapes[name].gpus.vendor for name in pair}) == 1
]


@pytest.mark.parametrize("pair", PAIRS[:: len(PAIRS) // 20], ids="+".join)
def test_groups_of_nodes_get_a_fabric_each_in_one_file(pair: tuple[str, str], tmp_path: Path) -> None:
    text = together(*pair)
    pools = yaml.safe_load(text)["config"]["gpu-fabric:cluster"]["pools"]
    first, second = (pool["shape"] for pool in pools)
    by_hand = f"""\
config:
  gpu-fabric:cluster:
    provider: existing
    kubeconfig: ~/.kube/config
    pools:
      - {{name: gpu-1, shape: {first}, nodes: 3, labels: {{node.kubernetes.io/instance-type: {first}}}}}
      - {{name: gpu-2, shape: {second}, nodes: 3, labels: {{node.kubernetes.io/instance-type: {second}}}}}
  gpu-fabric:fabric:
    model: {model_of(first)}
    addressing: {{supernet: 172.16.0.0/16}}
  gpu-fabric:fabrics:
    gpu-2:
      pools: [gpu-2]
      model: {model_of(second)}
      addressing: {{supernet: 172.24.0.0/16}}
"""
    assert {first, second} == set(pair)
    expected = outcome(by_hand, tmp_path)
    assert isinstance(expected, Plan)
    assert outcome(text, tmp_path) == expected
