"""What a node more or another node in its place changes in Spiderpool's clusters, which rows/spiderpool.yaml has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from planned_fabrics import example

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedGroup
from gpu_fabric.resources import resources


@pytest.fixture(scope="module")
def macvlan() -> Plan:
    return example("spiderpool-macvlan")


@pytest.fixture(scope="module")
def sriov() -> Plan:
    return example("spiderpool-sriov")


def table(plan: Plan, rail: int) -> dict[str, str]:
    """What the hosts are told of a rail, by their names."""
    name = f"host-addresses-{plan.addresses.pools[rail].name}"
    (found,) = (entry.object.manifest()["data"] for entry in plan.objects if entry.name == name)
    lines: dict[str, str] = found
    return lines


def exclusive(names: list[str]) -> Plan:
    """Exclusive subnets for named nodes, with room for 128."""
    return example(
        "spiderpool-sriov",
        {
            "cluster.pools[0].nodes": len(names),
            "cluster.pools[0].nodeNames": names,
            "fabric.addressing.supernet": "172.16.0.0/15",
            "fabric.addressing.prefixLength": 20,
        },
    )


NAMES = [f"gpu-{number}" for number in range(32)]


@pytest.fixture(scope="module")
def of_32() -> Plan:
    return exclusive(NAMES)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value inside a value, with the path to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{path}/{place}")
    else:
        yield path, value


def changes_of(before: Plan, after: Plan) -> dict[str, dict[str, Any]]:
    """What differs in the objects of each rail: by path the new value, or None where there is none."""
    assert [group.cut for group in before.records(PlannedGroup, "node-pools")] == [
        group.cut for group in after.records(PlannedGroup, "node-pools")
    ]
    old, new = (
        {group.name: dict(leaves(group.manifests)) for group in plan.records(PlannedGroup, "node-pools")}
        for plan in (before, after)
    )
    assert old.keys() == new.keys()
    return {
        name: {
            path: new[name].get(path)
            for path in {**old[name], **new[name]}
            if old[name].get(path) != new[name].get(path)
        }
        for name in old
    }


def everything_else(plan: Plan) -> list[Any]:
    grouped = {id(entry) for entry in plan.applied("ip-pools", "node-pools")}
    objects = [entry.model_dump(mode="json") for entry in plan.objects if id(entry) not in grouped]
    return [objects, [release.model_dump(mode="json") for release in plan.releases]]


def test_a_node_of_another_name_keeps_its_place_and_changes_nothing_but_the_name_it_is_bound_to(of_32: Plan) -> None:
    replaced = exclusive([*NAMES[:3], "repaired", *NAMES[4:]])

    for rail, changes in enumerate(changes_of(of_32, replaced).values()):
        pool, hosts = (
            f"/SpiderIPPool/rail-{rail:02d}-node-0003",
            f"/ConfigMap/host-addresses-rail-{rail:02d}",
        )
        line = table(of_32, rail)["gpu-3"]
        assert changes == {
            f"{pool}/spec/nodeName/0": "repaired",
            f"{hosts}/data/gpu-3": None,
            f"{hosts}/data/repaired": line,
        }
    assert everything_else(replaced) == everything_else(of_32)


def test_a_node_more_is_one_pool_and_one_line_more_a_rail_and_changes_nothing_else(of_32: Plan) -> None:
    larger = exclusive([*NAMES, "gpu-32"])

    for rail, changes in enumerate(changes_of(of_32, larger).values()):
        assert {path.split("/")[2] for path in changes} == {
            f"rail-{rail:02d}-node-0032",
            f"host-addresses-rail-{rail:02d}",
        }
        assert [path for path in changes if "ConfigMap" in path] == [
            f"/ConfigMap/host-addresses-rail-{rail:02d}/data/gpu-32"
        ]
    assert everything_else(larger) == everything_else(of_32)
    assert (of_32.workload.nodes, larger.workload.nodes) == (32, 33)
    assert larger.workload.model_copy(update={"nodes": 32}) == of_32.workload


def test_a_reservation_is_deleted_in_the_background_and_nothing_else_is(macvlan: Plan) -> None:
    """Spiderpool's webhook lets no finalizer be taken from it, as foreground deletion would have to."""
    policy = "pulumi.com/deletionPropagationPolicy"
    said = {
        resource.properties["kind"]: resource.properties["metadata"].get("annotations", {}).get(policy)
        for resource in resources(macvlan)
        if resource.type.startswith("kubernetes:") and "kind" in resource.properties
    }
    assert {kind for kind, value in said.items() if value is not None} == {"SpiderReservedIP"}
    assert said["SpiderReservedIP"] == "background"
