"""Networks in every namespace; what each says is in rows/networks.yaml."""

from __future__ import annotations

import pytest
from committed_stacks import stack_names
from planned_fabrics import fabric_of

NAMES = [name for name in stack_names() if "large" not in name]


@pytest.mark.parametrize("stack", NAMES)
def test_every_offered_namespace_has_the_same_networks(stack: str) -> None:
    fabric = fabric_of(stack, {"fabric.namespaces": ["default", "jobs"]})
    by_namespace = {
        namespace: [entry.name for entry in fabric.networks if entry.object.metadata.namespace == namespace]
        for namespace in ("default", "jobs")
    }

    assert by_namespace["default"] == by_namespace["jobs"]
    assert len(fabric.networks) == 2 * len({rail.network for rail in fabric.rails if rail.network})
