"""A cluster's objects: the sandbox's simulated nodes of each catalog shape give its machine, by groups of nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.stack_file import Discovered
from tests.support.cluster_objects import node_and_state, objects


def shape_named(name: str) -> Shape:
    found = catalog().find(name)
    assert found is not None
    return found


def found_in(text: str, *, group: str | None = None, rails: list[str] | None = None) -> Discovered:
    return discovered(read_files({"objects.json": text.encode()}, {}, group), catalog(), rails or [])


def refusal(text: str, group: str | None = None) -> str:
    with pytest.raises(DiscoveryError) as refused:
        found_in(text, group=group)
    return str(refused.value)


def test_labels_of_feature_discovery_name_the_gpus() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}
    items = node_and_state(shape_named("BM.GPU.H100.8"), "gpu-0", labels=labels)

    assert found_in(objects(items)).machine.fields["gpus"] == {
        "vendor": "nvidia", "model": "H100", "count": 8, "memoryGb": 80,
    }  # fmt: skip


def test_the_label_counts_gpus_where_the_resource_counts_shares_of_them() -> None:
    items = node_and_state(shape_named("BM.GPU.H100.8"), "gpu-0", labels={"nvidia.com/gpu.count": "8"})
    items[0]["status"]["capacity"]["nvidia.com/gpu"] = "32"

    assert found_in(objects(items)).machine.fields["gpus"]["count"] == 8


# Groups

MIXED = [
    *node_and_state(shape_named("BM.GPU.H100.8"), "train-0"),
    *node_and_state(shape_named("BM.GPU.H100.8"), "train-1"),
    *node_and_state(shape_named("BM.GPU4.8"), "old-0"),
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cpu-0"}, "status": {"capacity": {"cpu": "8"}}},
]


def test_several_groups_are_told_with_their_nodes_and_one_is_chosen_by_its_number() -> None:
    said = refusal(objects(MIXED))

    assert "objects.json: 2 groups of nodes; name one by its number with --group" in said
    assert "  1: 8 x GPUs of nvidia, " in said
    assert said.splitlines()[1].endswith(": old-0")
    assert said.splitlines()[2].endswith(": train-0, train-1")
    assert found_in(objects(MIXED), group="2").node.names == ("train-0", "train-1")
    assert "no group '3'; --group is one of:" in refusal(objects(MIXED), group="3")


def test_nodes_that_the_operator_has_not_looked_at_are_a_group_without_nics() -> None:
    node, _ = node_and_state(shape_named("BM.GPU.H100.8"), "gpu-0")
    machine = found_in(objects([node]))

    assert machine.node.nics == []
    assert any("no SriovNetworkNodeState and no NicDevice of gpu-0" in note for note in machine.node.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"apiVersion": "v1", "items": [', "objects.json:1: this is not valid JSON"),
        ('{"apiVersion": "v1", "items": [7]}', "objects.json:1: this is not a list of objects"),
        ('{"apiVersion": "v1", "items": []}', "objects.json:1: no node with GPUs is among these objects"),
        ('{"apiVersion": "v1", "kind": "Node", "metadata": 7}', "no node with GPUs is among these objects"),
    ],
)
def test_what_is_no_list_of_nodes_is_refused_with_the_command(text: str, said: str) -> None:
    assert said in refusal(text)
    assert "kubectl get nodes,sriovnetworknodestates" in refusal(text)


@pytest.mark.parametrize("wrong", [None, 7, [], {}, "x", [None], [[7]], True, 10**40, -1])
def test_fields_of_other_types_are_taken_as_not_stated(wrong: Any) -> None:
    items = json.loads(objects(node_and_state(shape_named("BM.GPU.H100.8"), "gpu-0")))["items"]
    state = items[1]["status"]
    for entry, key in zip(
        state["interfaces"],
        ("pciAddress", "name", "vendor", "deviceID", "linkType", "mtu", "Vfs", "linkSpeed"),
        strict=False,
    ):
        entry[key] = wrong
    state["interfaces"].append(wrong)
    items[0]["metadata"]["labels"] = {"nvidia.com/gpu.product": wrong, "nvidia.com/gpu.memory": wrong}

    assert found_in(objects(items)).machine.fields["gpus"]["count"] == 8
