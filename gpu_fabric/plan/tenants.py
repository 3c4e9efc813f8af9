"""Namespaces with a share of their own: their part of the GPU nodes, the rails' devices and the addresses.

Address managers have no quotas. An address is taken with a device of its rail, and a namespace's devices are limited by
its quota, so its addresses are, too. Of claimed devices a quota counts what claims request of a class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ResourceQuota, ResourceQuotaSpec
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.claims import claims_spec, gpu_driver
from gpu_fabric.plan.domains import CHANNEL_CLASS, has_domains
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.plan.records import PlannedObject

QUOTA = "gpu-fabric"
"""Name of the ResourceQuota in a namespace with a share."""

OF_CLASS = ".deviceclass.resource.k8s.io/devices"
"""What follows a DeviceClass in a quota's name for the devices that claims request of it.

Source: Kubernetes v1.36.3, V1ResourceByDeviceClass in pkg/quota/v1/evaluator/core/resource_claims.go; as in v1.35.3.
"""

COHORT = "gpu-fabric"
"""Name of the cohort of Kueue's queues."""


class Tenant(NamedTuple):
    """A namespace with a share: GPU nodes at any time, and at most. `queue` is the name of its queues."""

    namespace: str
    nodes: int
    most: int

    @property
    def queue(self) -> str:
        """The name of its ClusterQueue, and of its queue of Volcano: both belong to the whole cluster."""
        return f"tenant-{self.namespace}"


def tenants(case: Case) -> tuple[Tenant, ...]:
    """The namespaces with a share, in the order of the stack file."""
    return tuple(
        Tenant(entry.name, entry.share.nodes, entry.share.most)
        for entry in case.spec.fabric.namespaces
        if entry.share is not None
    )


def node_devices(case: Case, rails: Iterable[Rail]) -> dict[str, int]:
    """What one node offers to jobs: its GPUs, and the rails' devices, as often as pods can have them."""
    claimed = {device.resource: device.on_node for device in claimed_devices(case)}
    of_gpus = {device.device_class for device in claimed_devices(case)} & {gpu_driver(case)}
    gpus = {} if of_gpus else {case.shape.gpus.resource: case.shape.gpus.count}
    offered = {**gpus, **claimed, **_devices(case, rails)}
    # A job may attach to a storage fabric of its nodes as well, and a queue admits none that asks for what it lacks.
    for storage in case.storage:
        offered |= _devices(storage, plan_rails(storage))
    return offered


class ClaimedDevice(NamedTuple):
    """Devices of a class that a node has, and the name of the resource by which a queue counts them."""

    resource: str
    device_class: str
    on_node: int


def claimed_devices(case: Case) -> tuple[ClaimedDevice, ...]:
    """What jobs of a fabric claim of what is scarce: its NICs, and GPUs and channels where they come with these.

    Nothing where NICs are not claimed: a channel is for a pod that has all GPUs of its node, which are counted.
    """
    if (nics := manager_of(case).nic_class) is None:
        return ()
    devices = [ClaimedDevice(nics, nics, case.shape.rails)]
    if claims_spec(case).gpus == "claims":
        # Not the extended resource itself, by which Kueue counts pods that request it.
        gpus = f"{case.shape.gpus.vendor}.com/claimed-gpu"
        devices.append(ClaimedDevice(gpus, gpu_driver(case), case.shape.gpus.count))
    if has_domains(case):
        devices.append(ClaimedDevice("nvidia.com/imex-channel", CHANNEL_CLASS, 1))
    return tuple(devices)


def _devices(case: Case, rails: Iterable[Rail]) -> dict[str, int]:
    if case.cloud is not None:
        # Of a resource that stands for all NICs of a node a pod takes one, however many the plug-in offers.
        return dict(manager_of(case).requested(()))
    devices = Counter(rail.resource_name for rail in rails if rail.resource_name is not None)
    return {name: nics * case.pods_per_nic for name, nics in devices.items()}


def amounts(devices: dict[str, int], nodes: int) -> dict[str, str]:
    """What a number of nodes offers."""
    return {name: str(nodes * count) for name, count in devices.items()}


def tenant_quotas(case: Case, rails: Iterable[Rail]) -> tuple[PlannedObject, ...]:
    """The quota of every namespace with a share."""
    devices = node_devices(case, rails)
    return tuple(
        PlannedObject(
            object=ResourceQuota(
                metadata=ObjectMeta(name=QUOTA, namespace=tenant.namespace),
                spec=ResourceQuotaSpec(hard=quota_of(case, devices, tenant)),
            )
        )
        for tenant in tenants(case)
    )


def quota_of(case: Case, devices: dict[str, int], tenant: Tenant) -> dict[str, str]:
    """A namespace's quota; extended resources have one of their requests only, since limits are the same."""
    claimed = {device.resource: f"{device.device_class}{OF_CLASS}" for device in claimed_devices(case)}
    return {claimed.get(name, f"requests.{name}"): amount for name, amount in amounts(devices, tenant.most).items()}
