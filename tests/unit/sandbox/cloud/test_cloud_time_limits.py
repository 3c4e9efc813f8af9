"""The time limits that stacks give their clouds are those that the providers have."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_fabric.prepare import prepare_stack
from gpu_fabric.resources import resources
from sandbox.cloud.digitalocean.provider import DigitalOcean
from sandbox.cloud.oci.provider import Oracle
from sandbox.cloud.resource import ResourceType


def played() -> dict[str, ResourceType]:
    kinds = {}
    for cloud in (DigitalOcean, Oracle):
        kinds |= cloud.__dict__["resources"].func(cloud(None))  # type: ignore[arg-type]
    return kinds


@pytest.mark.parametrize(
    "stack",
    ["doks-h200", "doks-b300", "doks-mi325x", "doks-split-cluster", "oke-h100", "oke-h200", "oke-split-cluster"],
)
def test_no_resource_has_a_time_limit_that_its_provider_ignores(root: Path, stack: str) -> None:
    kinds = played()
    for resource in resources(prepare_stack(stack, root)):
        given = {name for name, limit in resource.handling.timeouts.model_dump().items() if limit}
        if given and resource.type in kinds:
            assert given <= set(kinds[resource.type].time_limits), resource.name
