"""Inputs of DigitalOcean's resources that several tests of the simulated provider start from."""

from typing import Any

from cloud_engine import Engine, Resource

VERSION = "1.35.1-do.6"
FABRIC = "gpu-h200x8-1128gb-fabric-contracted"
POOL = {"name": "system", "size": "s-4vcpu-8gb", "nodeCount": 2}
INPUTS = {"name": "one", "region": "nyc2", "version": VERSION, "nodePool": POOL}


def gpu_pool(cluster: Resource, **changes: Any) -> dict[str, Any]:
    return {"clusterId": cluster.id, "name": "gpu", "size": FABRIC, "nodeCount": 2, **changes}


def refreshed(engine: Engine, resource: Resource) -> Resource:
    found = engine.refresh(resource)
    assert found is not None
    return found
