"""What DigitalOcean is asked for, held against the arguments that pulumi-digitalocean has."""

from __future__ import annotations

import pytest
from changes import Changes
from planned_fabrics import plan_of
from sdk_arguments import arguments_of, wrong_arguments

from gpu_fabric.plan.clouds.doks import DoksResources

VPC, POOL, PROJECT = (f"{number}aaaaaaa-1111-4111-8111-aaaaaaaaaaaa" for number in range(3))
EVERYTHING: Changes = {
    "cluster.highAvailability": True,
    "cluster.maintenance": {"day": "sunday", "start": "04:00"},
    "cluster.controlPlaneFirewall": {"allowed": ["203.0.113.0/24"]},
    "cluster.kubeconfig": {"mode": "exec"},
    "cluster.singleSignOn": {"issuerUrl": "https://sign-on.example.com", "clientId": "fabric"},
    "cluster.project": {"name": "training", "environment": "Production"},
    "cluster.protect": True,
    "cluster.adopt": {"vpc": VPC, "pools": {"gpu": POOL}},
    "cluster.pools[0].labels": {"tier": "spare"},
    "cluster.pools[0].taints": [{"key": "spare", "value": "yes", "effect": "NoExecute"}],
    "cluster.pools[0].contractedNodes": 8,
    "cluster.pools[0].autoScale": {"minNodes": 1, "maxNodes": 8},
}
STACKS: dict[str, tuple[str, Changes]] = {
    "nvidia": ("doks-h200", {}),
    "amd": ("doks-mi325x", {}),
    "existing network": ("doks-h200", {"cluster.vpc": {"id": VPC}, "cluster.project": {"id": PROJECT}}),
    "everything": ("doks-h200", EVERYTHING),
}


def resources_of(name: str) -> DoksResources:
    found = plan_of(*STACKS[name]).cluster.doks
    assert found is not None
    return found


@pytest.mark.parametrize("name", STACKS)
def test_every_argument_is_one_that_the_sdk_has_and_none_lacks(name: str) -> None:
    for record in resources_of(name).records:
        arguments = arguments_of(record.kind)
        assert not list(wrong_arguments(record.kind, record.logical_name, record.arguments, arguments))
        assert {path.partition(".")[0] for path in record.ignore_changes} <= arguments.keys()


@pytest.mark.parametrize("name", STACKS)
def test_records_come_after_all_that_they_refer_to_and_have_names_of_their_own(name: str) -> None:
    made: list[str] = []
    for record in resources_of(name).records:
        assert {ref.ref for ref in record.references} <= {*made, "kubernetes-versions"}
        made.append(record.logical_name)
    assert len(made) == len(set(made))


def test_no_list_and_no_map_is_empty() -> None:
    """The provider does not send an emptied one, so what was in it would differ for ever."""
    for name in STACKS:
        for record in resources_of(name).records:
            assert [value for value in record.arguments.values() if value in ([], {}, ())] == []
