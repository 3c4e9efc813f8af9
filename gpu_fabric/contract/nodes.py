"""The contract of a pool beside the fabric: what pods carry that are to run on its nodes."""

from __future__ import annotations

from pydantic import Field

from gpu_fabric.k8s.scheduling import Toleration
from gpu_fabric.model import FrozenModel


class OtherNodes(FrozenModel):
    """One entry of the output `otherPools`: a pool whose nodes have no part in the fabric."""

    name: str = Field(description="name of the pool")
    machine: str = Field(description="machine type of its nodes")
    nodes: int = Field(description="number of nodes; with automatic scaling, at creation")
    least_nodes: int = Field(description="fewest nodes: the minimum of the automatic scaling, if the pool has one")
    most_nodes: int = Field(description="most nodes: the maximum of the automatic scaling, if the pool has one")
    gpus_per_node: int = Field(default=0, description="GPUs of one node")
    gpu_resource: str | None = Field(default=None, description="extended resource of the GPUs; none on CPU nodes")
    node_selector: dict[str, str] = Field(description="labels of the pool's nodes")
    tolerations: tuple[Toleration, ...] = Field(description="taints of the nodes that a pod tolerates")
    reclaimable: bool = Field(default=False, description="whether the cloud may take the nodes back at any time")
