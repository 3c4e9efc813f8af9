"""The cloud resources as typed records: a module per cloud, whose component registers them."""

POOL_LABEL = "gpu-fabric/pool"
"""The label with the pool's name on every node of a pool that the stack creates."""

PREEMPTIBLE = "oci.oraclecloud.com/oke-is-preemptible"
"""The label of Oracle's preemptible nodes, and the key of their taint.

Source: Oracle's documentation, Using Preemptible Capacity to Provision Worker Nodes.
"""
