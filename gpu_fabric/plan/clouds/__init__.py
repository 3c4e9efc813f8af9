"""The cloud resources as typed records: a module per cloud, whose component registers them."""

POOL_LABEL = "gpu-fabric/pool"
"""The label with the pool's name on every node of a pool that the stack creates."""
