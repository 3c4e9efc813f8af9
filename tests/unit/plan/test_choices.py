"""What a stack is where its file says nothing: the support matrix decides, by provider and by the NICs' link layer."""

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


_DGX = {"cluster.pools[0].shape": DGX}
_NO_PAIR = {"fabric.manager": "spiderpool", "fabric.model": "host-network"}
_STATED = {
    "fabric.manager": "network-operator",
    "fabric.model": "host-device",
    "fabric.rdmaMode": "exclusive",
    "fabric.linkType": "infiniband",
    "fabric.addressing": {"layout": "flat", "ipam": "whereabouts"},
}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, "network-operator sriov exclusive ether per-rail nv-ipam node-image"),
        (_DGX, "network-operator ib-sriov exclusive infiniband per-rail nv-ipam daemon-set"),
        ({**_DGX, "fabric.linkType": "ether"}, "network-operator sriov exclusive ether per-rail nv-ipam daemon-set"),
        ({"fabric.model": "macvlan"}, "network-operator macvlan shared ether per-rail nv-ipam None"),
        ({"fabric.model": "host-network"}, "network-operator host-network shared ether none None None"),
        ({"fabric.manager": "spiderpool"}, "spiderpool sriov exclusive ether per-rail spiderpool sriov-operator"),
        ({**_DGX, "fabric.manager": "spiderpool"},
            "spiderpool ib-sriov exclusive infiniband flat spiderpool sriov-operator"),
        ({"fabric.manager": "doks"}, "doks host-device shared ether none host None"),
        (_STATED, "network-operator host-device exclusive infiniband flat whereabouts None"),
        # A pair that the matrix does not have is kept as it is written, and its supernet is looked at.
        (_NO_PAIR, "spiderpool host-network shared ether none None None"),
        ({**_NO_PAIR, "fabric.addressing": {"supernet": "192.168.0.0/16"}},
            "spiderpool host-network shared ether per-rail None None"),
        # Functions are made by the image only where machines come with some.
        ({"cluster.pools[0].shape": "BM.GPU.H200.8", "fabric.vfsPerNic": 4},
            "network-operator sriov exclusive ether per-rail nv-ipam node-image"),
        ({**_DGX, "fabric.virtualFunctions": "node-image"},
            "network-operator ib-sriov exclusive infiniband per-rail nv-ipam node-image"),
    ],
)  # fmt: skip
def test_what_a_stack_says_and_its_machines_decide_the_rest(
    choices_with: ChoicesWith, changes: dict[str, Any], found: str
) -> None:
    one = choices_with(changes)
    parts = (one.manager, one.model, one.rdma_mode, one.link_type, one.layout, one.ipam, one.virtual_functions)

    assert " ".join(map(str, parts)) == found


@pytest.mark.parametrize("row", ROWS)
def test_the_first_of_each_list_of_a_row_is_the_default(choices_with: ChoicesWith, row: Support) -> None:
    found = choices_with({"fabric.manager": row.manager, "fabric.model": row.model})

    assert found.row == row
    assert (found.rdma_mode, found.layout) == (row.rdma_modes[0], row.layouts[0])
    assert found.ipam == (row.ipams[0] if row.ipams else None)
