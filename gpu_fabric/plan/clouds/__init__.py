"""What a cloud is asked for, as typed records: a module per cloud, whose component passes them on."""

POOL_LABEL = "gpu-fabric/pool"
"""The label with the pool's name that every node of a pool has which the stack makes."""
