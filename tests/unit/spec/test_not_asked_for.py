"""What a stack lacks until its file asks for it: each offer can be planned, and is silent once it is there."""

from pathlib import Path

import pytest
from planned_fabrics import plan_of

from gpu_fabric.report.content import not_asked_for_rows
from gpu_fabric.spec.not_asked_for import OptionalKey, optional_keys
from gpu_fabric.spec.stack import spec_keys

# A stack for each provider, manager and kind of access to NICs.
STACKS = (
    *("dev", "doks-h200", "doks-mi325x", "oke-h100", "oke-a100", "oke-h200", "host-device", "host-network"),
    *("ib-sriov", "ipoib", "roce-macvlan", "spiderpool-sriov", "spiderpool-ib", "two-machines", "whereabouts"),
    *("dranet-infiniband", "eks-efa", "gke-rdma"),
)
# What a key needs beside it, as its rules say.
_MEASURED = {"image": "registry.example.com/nccl-tests", "bar": 100, "perRail": False}
BESIDE = {"verification.enabled": {f"verification.{key}": value for key, value in _MEASURED.items()}}
INSTALLED = ("prometheus-operator",)


@pytest.mark.slow
@pytest.mark.parametrize("stack", STACKS)
def test_what_a_stack_is_offered_can_be_planned_and_is_offered_no_more(stack: str) -> None:
    offered = plan_of(stack).not_asked_for
    assert offered
    for row in offered:
        needed = {"cluster.installed": list(INSTALLED)} if row.key.startswith("monitoring.prom") else {}
        plan = plan_of(stack, {row.key: row.value, **BESIDE.get(row.key, {}), **needed})

        assert row.key not in {entry.key for entry in plan.not_asked_for}


@pytest.mark.parametrize("row", optional_keys(), ids=lambda row: row.key)
def test_an_offer_is_a_key_of_the_file_and_has_a_page(root: Path, row: OptionalKey) -> None:
    assert set(row.place) - {"cluster", "fabric", "monitoring", "verification", "upgrade"} <= spec_keys()
    assert (root / "docs" / row.page.partition("#")[0]).exists()
    assert any(row.key in not_asked_for_rows(plan_of(stack)) for stack in STACKS)


def test_a_stack_that_creates_a_cluster_alone_is_offered_nothing_of_the_platform() -> None:
    assert not {row.key for row in plan_of("oke-split-cluster").not_asked_for if row.key.startswith("fabric")}
