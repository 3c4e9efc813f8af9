"""The played Node Feature Discovery gives each node the labels of the real one.

Every shape has two nodes, which it shares with the shapes that have devices of the same kinds. One is labelled by a
stand-in chart's Stage, which KWOK runs; the other by the real worker, configured as by the real chart, and the real
master. Of labels for PCI devices, both nodes must have the same.
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address
from typing import Any, NamedTuple

import pytest
import yaml
from asked_programs import programs
from driver import STACK, Sandbox, until
from feature_discovery import DONE, NODE_FEATURES, WORKER, Discovery, pci_devices
from rendered_charts import Helm, of_kind

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.k8s.mellanox import NIC_LABEL
from gpu_fabric.k8s.scheduling import vendor_label
from sandbox.hardware.inventory import inventory, inventory_annotation
from sandbox.kubernetes_api import Object, apply_object, delete_object
from sandbox.simulated_nodes import GPU_NODE, node_object, reconcile_nodes

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PREFIX, CAPABLE = "feature.node.kubernetes.io/pci-", ".sriov.capable"
BOARD = catalog().shapes["server.mi300x.8"]

Labels = dict[str, dict[str, str]]
"""The labels for PCI devices that the node of each shape has."""


def _with_nics_of(vendor: str) -> Shape:
    assert BOARD.nic_model is not None
    return BOARD.model_copy(update={"nic_model": BOARD.nic_model.model_copy(update={"vendor_id": vendor})})


# No row of the catalog has NICs of these vendors; a stack file can.
SHAPES = {**catalog().shapes, **{f"own.{vendor}": _with_nics_of(vendor) for vendor in ("14e4", "8086")}}


def _kinds(shape: Shape) -> frozenset[tuple[str, ...]]:
    """The kinds of devices that a node has, those of unknown vendors included."""
    known = {tuple(device.values()) for device in pci_devices(shape).values()}
    return frozenset(known | {(nic.vendor,) for nic in inventory(shape)})


# Of shapes with devices of the same kinds, the last one has the nodes.
_ALIKE = {_kinds(shape): name for name, shape in SHAPES.items()}
SAMPLES = {name: _ALIKE[_kinds(shape)] for name, shape in SHAPES.items()}


class Labelled(NamedTuple):
    """What the player and the real programs make of one chart's configuration."""

    played: Labels
    real: Labels


@pytest.fixture(scope="module")
def discovery(cluster: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Discovery:
    """The real programs, on a cluster that has their definitions."""
    built = programs("discovery").folder("node-feature-discovery")
    cluster.run("up", "-s", STACK)
    found = Discovery(built, cluster.home.kubeconfig, tmp_path_factory.mktemp("machines"))
    for definition in yaml.safe_load_all(found.definitions.read_text()):
        apply_object(cluster.api, definition)
    until(lambda: _are_served(cluster), "the API server serves every kind of Node Feature Discovery")
    return found


@pytest.fixture(scope="module")
def of_gpu_operator(cluster: Sandbox, discovery: Discovery) -> Labelled:
    return _labelled(cluster, discovery, "gpu-operator", {})


@pytest.fixture(scope="module")
def of_network_operator(cluster: Sandbox, discovery: Discovery) -> Labelled:
    switched_on = {"nfd": {"enabled": True, "deployNodeFeatureRules": True}}
    return _labelled(cluster, discovery, "network-operator", switched_on)


def _labelled(cluster: Sandbox, discovery: Discovery, chart: str, values: dict[str, Any]) -> Labelled:
    rendered = Helm().objects(f"26.4/{chart}", values)
    stages = [entry for entry in of_kind(rendered, "Stage") if entry["metadata"]["name"] == "node-features"]
    objects = [*stages, *of_kind(rendered, "NodeFeatureRule")]
    played = {shape: f"{chart}-played-{sample.lower()}" for shape, sample in SAMPLES.items()}
    real = {shape: f"{chart}-real-{sample.lower()}" for shape, sample in SAMPLES.items()}
    nodes = [_node(real[sample], SHAPES[sample], {}) for sample in _ALIKE.values()]
    # as the Stage for a worker's pod marks its node
    discovered = {"sandbox.gpu-fabric/features": "discovered"}
    nodes += [_node(played[sample], SHAPES[sample], discovered) for sample in _ALIKE.values()]
    reconcile_nodes(cluster.api, nodes)
    for document in objects:
        apply_object(cluster.api, document)
    try:
        for sample in _ALIKE.values():
            discovery.work(real[sample], pci_devices(SHAPES[sample]), WORKER[chart])
        with discovery.master(nodes[0]["metadata"]["name"]):
            until(lambda: _are_done(cluster, real), "the master has labelled every node")
            labels = _labels(cluster, real)
        with suppress(AssertionError):
            until(lambda: _present(_labels(cluster, played)) == _present(labels), "KWOK has labelled every node")
        return Labelled(_labels(cluster, played), labels)
    finally:
        for document in objects:
            delete_object(cluster.api, document)
        cluster.api.delete(NODE_FEATURES)


def _node(name: str, shape: Shape, annotations: dict[str, str]) -> Object:
    capacity = {**GPU_NODE, shape.gpus.resource: str(shape.gpus.count)}
    return node_object(name, IPv4Address("10.0.10.1"), {}, [], {**annotations, **inventory_annotation(shape)}, capacity)


def _are_served(cluster: Sandbox) -> bool:
    found = [entry for entry in cluster.items(DEFINITIONS) if entry["spec"]["group"] == "nfd.k8s-sigs.io"]
    conditions = [entry["status"].get("conditions") or [] for entry in found]
    return bool(found) and all(
        any((entry["type"], entry["status"]) == ("Established", "True") for entry in of_one) for of_one in conditions
    )


def _are_done(cluster: Sandbox, names: dict[str, str]) -> bool:
    found = [node["metadata"] for node in cluster.items("/api/v1/nodes")]
    return {entry["name"] for entry in found if DONE in entry["annotations"]} >= {*names.values()}


def _labels(cluster: Sandbox, names: dict[str, str]) -> Labels:
    found = {node["metadata"]["name"]: node["metadata"]["labels"] for node in cluster.items("/api/v1/nodes")}
    return {
        shape: {label: value for label, value in found[name].items() if label.startswith(PREFIX)}
        for shape, name in names.items()
    }


def _present(labels: Labels) -> Labels:
    """All but those for what a NIC is capable of, which are not played."""
    return {
        shape: {label: value for label, value in found.items() if not label.endswith(CAPABLE)}
        for shape, found in labels.items()
    }


def test_the_players_label_every_shape_as_the_real_programs_do(
    of_gpu_operator: Labelled, of_network_operator: Labelled
) -> None:
    for labelled in (of_gpu_operator, of_network_operator):
        assert labelled.played == _present(labelled.real)


def test_what_runs_on_gpu_nodes_finds_every_shape_by_a_label_of_the_real_programs(
    of_gpu_operator: Labelled, of_network_operator: Labelled
) -> None:
    selected = {name: vendor_label(vendor) for name, shape in SHAPES.items() if (vendor := _vendor(shape))}
    without = [name for name, label in selected.items() if label not in of_gpu_operator.real[name]]
    # For nodes that the Network Operator's chart has labelled, a stack with other NICs is refused (OWN008).
    nvidias = [name for name, label in selected.items() if label == NIC_LABEL]
    without += [name for name in nvidias if NIC_LABEL not in of_network_operator.real[name]]

    assert len(nvidias) > 30
    assert without == []


def _vendor(shape: Shape) -> str | None:
    return shape.nic_model.vendor_id if shape.nic_model else None
