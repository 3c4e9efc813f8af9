"""What the clouds are asked for, held against the arguments that pulumi-digitalocean and pulumi-oci have."""

import pytest
from changes import Changes
from planned_fabrics import plan_of
from planned_oke import EVERYTHING as OKE
from planned_oke import PLACEMENTS
from sdk_arguments import arguments_of, wrong_arguments

from gpu_fabric.plan.clouds.doks import DoksResources
from gpu_fabric.plan.clouds.oke.resources import OkeResources

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
DOKS: dict[str, tuple[str, Changes]] = {
    "nvidia": ("doks-h200", {}),
    "amd": ("doks-mi325x", {}),
    "existing network": ("doks-h200", {"cluster.vpc": {"id": VPC}, "cluster.project": {"id": PROJECT}}),
    "everything": ("doks-h200", EVERYTHING),
}
STACKS = {**DOKS, **PLACEMENTS, **OKE}


def resources_of(name: str) -> DoksResources | OkeResources:
    cluster = plan_of(*STACKS[name]).cluster
    found = cluster.doks or cluster.oke
    assert found is not None
    return found


@pytest.mark.parametrize("name", STACKS)
def test_every_argument_is_one_that_the_sdk_has_and_none_lacks(name: str) -> None:
    for record in resources_of(name).records:
        arguments = arguments_of(record.kind)
        assert not list(wrong_arguments(record.kind, record.logical_name, record.arguments, arguments))
        ignorable = {*arguments, "defined_tags", "freeform_tags"}
        assert {path.partition(".")[0] for path in record.ignore_changes} <= ignorable


@pytest.mark.parametrize("name", STACKS)
def test_records_have_names_of_their_own_and_come_after_all_that_they_refer_to(name: str) -> None:
    resources = resources_of(name)
    asked = {"kubernetes-versions": set[str]()}
    if isinstance(resources, OkeResources):
        asked = {one.logical_name: {ref.ref for ref in one.references} for one in resources.lookups}
    made: set[str] = set()
    for record in resources.records:
        needed = {reference.ref for reference in record.references} | (set(record.after) - {"network"})
        needed = needed.union(*(asked[question] for question in needed & asked.keys()))
        assert needed - asked.keys() <= made, record.logical_name
        assert record.logical_name not in made
        made.add(record.logical_name)
    if isinstance(resources, OkeResources) and resources.access.command:
        assert {ref.ref for ref in resources.access.command.refs.values()} <= made | asked.keys()


def test_digitalocean_is_sent_no_empty_list_and_no_empty_map() -> None:
    """The provider does not send an emptied one, so what was in it would differ for ever."""
    for name in DOKS:
        for record in resources_of(name).records:
            assert [value for value in record.arguments.values() if value in ([], {}, ())] == []
