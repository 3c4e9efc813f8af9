"""What a stack is where its file says nothing: the support matrix decides, by provider and by the NICs' link layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_fabric.catalog import Support, catalog
from gpu_fabric.plan.choices import Choices, choices_of
from gpu_fabric.spec.load import validate
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.spec.stack_text import StackDocument

ChoicesWith = Callable[[dict[str, Any]], Choices]

DGX = "server.dgx-h100.8"
ROWS = [pytest.param(row, id=f"{row.manager}-{row.model}") for row in catalog().support]


@pytest.fixture(scope="session")
def choices_with(document_with: Callable[[Any], StackDocument]) -> ChoicesWith:
    """The choices of the development stack's cluster, with nothing said about its fabric but these changes."""

    def make(changes: dict[str, Any]) -> Choices:
        spec, problems = validate(document_with({"fabric": None, **changes}))
        assert isinstance(spec, StackSpec)
        assert problems == ()
        shape = spec.catalog.find(spec.cluster.pools[0].shape)
        assert shape is not None
        return choices_of(spec, shape, spec.catalog)

    return make


@pytest.mark.parametrize(
    ("changes", "manager", "model", "rdma_mode", "layout", "ipam"),
    [
        ({}, "network-operator", "sriov", "exclusive", "per-rail", "nv-ipam"),
        (
            {"cluster.pools[0].shape": DGX},
            "network-operator",
            "ib-sriov",
            "exclusive",
            "per-rail",
            "nv-ipam",
        ),
        ({"fabric.linkType": "infiniband"}, "network-operator", "ib-sriov", "exclusive", "per-rail", "nv-ipam"),
        ({"fabric.model": "macvlan"}, "network-operator", "macvlan", "shared", "per-rail", "nv-ipam"),
        ({"fabric.model": "host-network"}, "network-operator", "host-network", "shared", "none", None),
        ({"fabric.manager": "spiderpool"}, "spiderpool", "sriov", "exclusive", "per-rail", "spiderpool"),
        (
            {"fabric.manager": "spiderpool", "cluster.pools[0].shape": DGX},
            "spiderpool",
            "ib-sriov",
            "exclusive",
            "flat",
            "spiderpool",
        ),
        ({"fabric.manager": "doks"}, "doks", "host-device", "shared", "none", "host"),
    ],
)
def test_a_manager_and_a_link_layer_lead_to_their_usual_model_with_its_defaults(
    choices_with: ChoicesWith,
    changes: dict[str, Any],
    manager: str,
    model: str,
    rdma_mode: str,
    layout: str,
    ipam: str | None,
) -> None:
    found = choices_with(changes)

    assert (found.manager, found.model, found.rdma_mode) == (manager, model, rdma_mode)
    assert (found.layout, found.ipam) == (layout, ipam)


def test_on_doks_the_providers_own_manager_and_host_device_need_not_be_written(choices_with: ChoicesWith) -> None:
    found = choices_with(
        {
            "cluster": {
                "provider": "doks",
                "region": "atl1",
                "version": "1.36.1-do.0",
                "pools": [{"name": "gpu", "shape": "gpu-mi325x8-2048gb-fabric-contracted", "nodes": 4}],
            },
        }
    )

    assert (found.provider, found.manager, found.model) == ("doks", "doks", "host-device")
    assert (found.layout, found.ipam, found.rdma_mode) == ("none", "host", "shared")


def test_the_shapes_link_layer_holds_unless_the_stack_states_another(choices_with: ChoicesWith) -> None:
    assert choices_with({}).link_type == "ether"
    assert choices_with({"cluster.pools[0].shape": DGX}).link_type == "infiniband"
    assert choices_with({"cluster.pools[0].shape": DGX, "fabric.linkType": "ether"}).link_type == "ether"


@pytest.mark.parametrize("row", ROWS)
def test_the_first_of_each_list_of_a_row_is_the_default(choices_with: ChoicesWith, row: Support) -> None:
    found = choices_with({"fabric.manager": row.manager, "fabric.model": row.model})

    assert found.row == row
    assert (found.rdma_mode, found.layout) == (row.rdma_modes[0], row.layouts[0])
    assert found.ipam == (row.ipams[0] if row.ipams else None)


def test_what_the_stack_states_wins_over_every_default(choices_with: ChoicesWith) -> None:
    stated = {
        "fabric.manager": "network-operator",
        "fabric.model": "host-device",
        "fabric.rdmaMode": "exclusive",
        "fabric.linkType": "infiniband",
        "fabric.addressing": {"layout": "flat", "ipam": "whereabouts"},
    }
    found = choices_with(stated)

    assert (found.manager, found.model, found.rdma_mode) == ("network-operator", "host-device", "exclusive")
    assert (found.link_type, found.layout, found.ipam) == ("infiniband", "flat", "whereabouts")


def test_a_pair_that_the_matrix_does_not_have_is_kept_as_written_and_asks_for_no_addresses(
    choices_with: ChoicesWith,
) -> None:
    found = choices_with({"fabric.manager": "spiderpool", "fabric.model": "host-network"})

    assert (found.manager, found.model, found.row) == ("spiderpool", "host-network", None)
    assert found.layout == "none"


def test_a_pair_that_the_matrix_does_not_have_still_has_its_supernet_looked_at(choices_with: ChoicesWith) -> None:
    pair = {"fabric.manager": "spiderpool", "fabric.model": "host-network"}

    assert choices_with({**pair, "fabric.addressing": {"supernet": "192.168.0.0/16"}}).layout == "per-rail"


@pytest.mark.parametrize(
    ("changes", "maker"),
    [
        ({}, "node-image"),
        ({"cluster.pools[0].shape": DGX, "fabric.vfsPerNic": 8}, "daemon-set"),
        ({"cluster.pools[0].shape": DGX, "fabric.linkType": "ether", "fabric.vfsPerNic": 8}, "daemon-set"),
        ({"cluster.pools[0].shape": "server.hgx-h100.8", "fabric.vfsPerNic": 1}, "daemon-set"),
        ({"cluster.pools[0].shape": "BM.GPU.H200.8", "fabric.vfsPerNic": 4}, "node-image"),
        ({"cluster.pools[0].shape": DGX, "fabric.manager": "spiderpool"}, "sriov-operator"),
        ({"cluster.pools[0].shape": DGX, "fabric.virtualFunctions": "node-image"}, "node-image"),
        ({"cluster.pools[0].shape": DGX, "fabric.model": "host-device"}, None),
    ],
)
def test_functions_are_made_by_the_image_only_where_machines_come_with_some(
    choices_with: ChoicesWith, changes: dict[str, Any], maker: str | None
) -> None:
    assert choices_with(changes).virtual_functions == maker
