"""That Kueue covers what pods ask for, and renames what cannot change; the rest is in rows/schedulers.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from planned_queues import (
    KUEUE,
    PlanWith,
    objects,
    plan_of,
    quotas,
)


@pytest.mark.parametrize(
    "stack", ["dev", "host-network", "spiderpool-macvlan", "sriov-dpdk", "doks-b300", "oke-h100-26-4"]
)
def test_no_pod_of_the_fabric_asks_for_what_the_queue_does_not_cover(stack: str) -> None:
    plan = plan_of(stack, {KUEUE: {}})
    asked = {*plan.workload.resources, "cpu", "memory", "ephemeral-storage"}

    assert asked <= quotas(plan).keys()


def test_what_never_changes_gets_another_name_when_it_does(plan_with: PlanWith) -> None:
    def names(changes: dict[str, Any]) -> tuple[str, ...]:
        plan = plan_with({KUEUE: {"topology": ["example.com/leaf"]}, **changes})
        kinds = ("Topology", "ResourceFlavor", "ClusterQueue")
        return tuple(objects(plan, kind)[0]["metadata"]["name"] for kind in kinds)

    plain, moved = names({}), names({KUEUE: {"topology": ["example.com/room"]}})
    tainted = names({"cluster.pools[0].taints": [{"key": "reserved"}]})

    assert plain[0] != moved[0]
    assert plain[0] == tainted[0]
    assert len({plain[1], moved[1], tainted[1]}) == 3
    assert plain[2] == moved[2] == tainted[2] == "fabric"
