"""The nodes of a simulated DOKS cluster, with DigitalOcean's labels, taints and machines as far as published.

Source: the DOKS guide and DigitalOcean's list of Droplet features. Made up: which address of the VPC a node gets,
disks, and the processors and memory of a CPU size whose name does not contain them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

from gpu_fabric.k8s.base import compact_json
from ...simulated_nodes import GPUS_ANNOTATION, node_object

if TYPE_CHECKING:
    from gpu_fabric.catalog import Shape

Object = dict[str, Any]

_PREFIX = "doks.digitalocean.com"
GPU_BRAND_LABEL = f"{_PREFIX}/gpu-brand"

_CPU_SIZE = re.compile(r"-(?P<cpus>\d+)vcpu-(?P<memory>\d+)gb")
# No node takes more pods (DOKS limits); the disk is the smallest of the GPU sizes.
_COMMON = {"ephemeral-storage": "500Gi", "pods": "110"}
# A GPU of AMD that is partitioned shows as so many.
_PARTITIONS = {"AMD_PARTITION_MODE_SPX_NPS1": 1, "AMD_PARTITION_MODE_DPX_NPS2": 2}


@dataclass(frozen=True)
class PoolNodes:
    """One pool of a cluster with its nodes: (id, name) each. `labels` and `taints` are the user's."""

    pool: str
    pool_id: str
    size: str
    nodes: tuple[tuple[str, str], ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    gpu_partition_mode: str | None = None


def node_objects(
    cluster_id: str, region: str, version: str, vpc: IPv4Network, pools: Sequence[PoolNodes]
) -> list[Object]:
    """The nodes of a cluster as Kubernetes objects; `version` is a slug such as 1.36.1-do.0, `vpc` the VPC's range.

    GPUs and fabric NICs are advertised only when the device plug-ins run: see `managed`.
    """
    taken: set[IPv4Address] = set()
    found = []
    for pool in pools:
        shape = shape_of(pool.size)
        for node_id, name in pool.nodes:
            labels = {
                f"{_PREFIX}/node-pool": pool.pool,
                f"{_PREFIX}/node-pool-id": pool.pool_id,
                f"{_PREFIX}/node-id": node_id,
                f"{_PREFIX}/version": version,
                "topology.kubernetes.io/region": region,
                "node.kubernetes.io/instance-type": pool.size,
                **_gpu_labels(shape),
                **pool.labels,
            }
            address = _address(f"{cluster_id}/{node_id}", vpc, taken)
            taints = [*_gpu_taints(shape), *pool.taints]
            machine = _machine(shape, pool.gpu_partition_mode)
            found.append(node_object(name, address, labels, taints, machine, _capacity(pool.size, shape)))
    return found


def shape_of(size: str) -> Shape | None:
    """The shape of a GPU size, None for any other."""
    from gpu_fabric.catalog import catalog

    shape = catalog().find(size)
    return shape if shape is not None and shape.doks is not None else None


def _gpu_labels(shape: Shape | None) -> dict[str, str]:
    if shape is None:
        return {}
    # published are h100 and mi300x; models whose names have blanks are not
    model = (shape.gpus.model or "").lower().replace(" ", "-")
    return {GPU_BRAND_LABEL: shape.gpus.vendor, f"{_PREFIX}/gpu-model": model}


def _gpu_taints(shape: Shape | None) -> list[dict[str, str]]:
    return [] if shape is None else [{"key": shape.gpus.resource, "effect": "NoSchedule"}]


def _machine(shape: Shape | None, partition_mode: str | None) -> dict[str, str]:
    from ...hardware.inventory import inventory_annotation

    if shape is None:
        return {}
    gpus = shape.gpus.count * _PARTITIONS.get(partition_mode or "", 1)
    return {GPUS_ANNOTATION: compact_json({shape.gpus.resource: gpus}), **inventory_annotation(shape)}


def _capacity(size: str, shape: Shape | None) -> dict[str, str]:
    cpus, memory = 4, 8
    if shape is not None and shape.doks is not None:
        cpus, memory = shape.doks.vcpus or 8, shape.doks.memory_gib or 64
    elif match := _CPU_SIZE.search(size):
        cpus, memory = int(match["cpus"]), int(match["memory"])
    return {"cpu": str(cpus), "memory": f"{memory}Gi", **_COMMON}


def _address(identity: str, vpc: IPv4Network, taken: set[IPv4Address]) -> IPv4Address:
    """An address of the VPC, which has enough (`check_pool`), that a node keeps while others come and go."""
    number = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:4])
    while (address := vpc.network_address + 1 + number % (vpc.num_addresses - 2)) in taken:
        number += 1
    taken.add(address)
    return address
