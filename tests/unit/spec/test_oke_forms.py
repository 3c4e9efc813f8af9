"""The forms of Oracle's ids and of address ranges: each key takes ids of its own kind, and ranges as networks."""

from __future__ import annotations

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.spec.load import read_document, validate

POOL = "cluster.pools[0]"
# Key: the kind of thing that it names, and whether that lies in a region.
IDS = {
    "cluster.compartmentId": "compartment",
    "cluster.tenancyId": "tenancy",
    "cluster.vcn.id": "vcn",
    "cluster.vcn.subnetIds.workers": "subnet",
    "cluster.vcn.routeTableIds.private": "routetable",
    "cluster.identity.dynamicGroupId": "dynamicgroup",
    "cluster.systemPool.imageId": "image",
    "cluster.access.bastion.imageId": "image",
    f"{POOL}.imageId": "image",
    f"{POOL}.capacityReservationId": "capacityreservation",
    "cluster.kmsKeyId": "key",
    f"{POOL}.hpcIslandId": "hpcisland",
}
ANYTHING = (f"{POOL}.hostGroupId",)
RANGES = ("cluster.vcn.subnets.workers", "cluster.ranges.pods", "cluster.ranges.services", "cluster.ranges.nodes")
LISTS = ("cluster.endpoint.allowed", "cluster.access.allowed")


def places(place: str, value: object) -> list[str]:
    """Where the form of the stack is wrong with a value at a place."""
    document = read_document("oke-h100-26-4", folder_of("oke-h100-26-4"))
    _, problems = validate(changed(document, {place: value}))
    return [problem.path for problem in problems]


@pytest.mark.parametrize(("place", "kind"), IDS.items())
def test_an_id_is_one_of_its_own_kind(place: str, kind: str) -> None:
    for good in (
        f"ocid1.{kind}.oc1.iad.aaaaaaaaexample",
        f"ocid1.{kind}.oc2.us-gov-ashburn-1.a",
        f"ocid1.{kind}.oc1..a",
    ):
        assert places(place, good) == []
    for bad in (
        "ocid1.instance.oc1.iad.aaaa",
        kind,
        f"ocid1.{kind}",
        f"ocid2.{kind}.oc1..aaaa",
        f"ocid1.{kind}.oc1..a b",
    ):
        assert places(place, bad) == [f"gpu-fabric:{place}"]


@pytest.mark.parametrize("place", ANYTHING)
def test_what_oracle_may_name_in_more_than_one_way_is_any_id_and_nothing_else(place: str) -> None:
    assert places(place, "ocid1.anykind.oc1.iad.aaaa") == []
    for bad in ("iad", "ocid1..oc1.iad.aaaa", "ocid1.anykind.aaaa", "ocid1.image.oc1.iad.aaaa", "ocid1.key.oc1.iad.a"):
        assert places(place, bad) == [f"gpu-fabric:{place}"]


@pytest.mark.parametrize("place", RANGES)
def test_a_range_is_a_network_in_cidr_notation(place: str) -> None:
    for bad in ("10.140.0.1/16", "10.140.0.0/33", "10.140.0.0-10.140.0.9", "ten"):
        assert places(place, bad) == [f"gpu-fabric:{place}"]


@pytest.mark.parametrize("place", LISTS)
def test_of_a_list_of_ranges_the_wrong_one_is_named(place: str) -> None:
    assert places(place, ["203.0.113.0/24", "203.0.113.7/24"]) == [f"gpu-fabric:{place}[1]"]
