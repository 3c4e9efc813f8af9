"""Nodes, pods and addresses: labels, settings and limits that apply to every job."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Literal

from pydantic import Field

from gpu_fabric.catalog.shape import Audience, Shape
from gpu_fabric.model import FrozenModel


class AddressLimit(FrozenModel):
    """A limit with its unit."""

    value: int = Field(ge=1)
    unit: str
    source: str


class AddressLimits(FrozenModel):
    """Limits of an address plan.

    `object_bytes` is the largest object that a cluster stores, `allocation_bytes` the size that a node adds to an
    nv-ipam pool. `spiderpool_allocated` and `spiderpool_listed` limit one Spiderpool pool: its allocated addresses, and
    the addresses that its object lists. Behaviour above `spiderpool_pools` and `whereabouts_pods` is not known, and
    with more than `whereabouts_in_range` addresses of one range pods failed. More than `spiderpool_most_pools` are not
    planned. `pods_per_node` is the kubelet's default.
    """

    object_bytes: AddressLimit
    allocation_bytes: AddressLimit
    spiderpool_allocated: AddressLimit
    spiderpool_listed: AddressLimit
    spiderpool_pools: AddressLimit
    spiderpool_most_pools: AddressLimit
    whereabouts_pods: AddressLimit
    whereabouts_in_range: AddressLimit
    pods_per_node: AddressLimit


class SpecialRange(FrozenModel):
    """A range, and whether a fabric may use it.

    `no`: it may not; `private`: the range is not routed on the internet; `bridge`: hosts have their own network in it.
    """

    range: IPv4Network | IPv6Network
    hosts: Literal["no", "private", "bridge"]
    use: str
    source: str


class SetLabel(FrozenModel):
    """A label that kubelet or a cloud sets; the comment at the top of the file explains the fields."""

    by: str
    own: bool = False
    type: bool = False
    values: tuple[str, ...] = ()


class KubeletDomains(FrozenModel):
    """Domains of labels that kubelet reserves, and the labels in them that it accepts."""

    domains: tuple[str, ...]
    takes: tuple[str, ...]

    def refuse(self, key: str) -> bool:
        """Whether kubelet refuses to start with a label of this key."""
        domain = key.rpartition("/")[0]
        return _within(domain, self.domains) and not _within(domain, self.takes)


class NodeLabels(FrozenModel):
    """The content of `node_labels.yaml`."""

    set: dict[str, SetLabel]
    kubelet: KubeletDomains
    left: dict[str, tuple[str, ...]]


def _within(domain: str, domains: tuple[str, ...]) -> bool:
    return any(domain == known or domain.endswith(f".{known}") for known in domains)


class SharedMemorySetting(Audience):
    """Size of /dev/shm, a Kubernetes quantity."""

    size: str = Field(pattern=r"^[1-9][0-9]*Gi$")
    why: str
    source: str


class SysctlSetting(FrozenModel):
    """A sysctl in the network namespace of a pod that holds several NICs."""

    name: str
    value: str
    why: str
    source: str


class PodSettings(FrozenModel):
    """The content of `pod_settings.yaml`; the first shared-memory row for a shape applies."""

    shared_memory: tuple[SharedMemorySetting, ...]
    sysctls: tuple[SysctlSetting, ...]

    def shared_memory_of(self, shape: Shape) -> SharedMemorySetting:
        """The row for a shape.

        Raises:
            LookupError: no row is for this shape.
        """
        for row in self.shared_memory:
            if row.includes(shape):
                return row
        raise LookupError(f"no shared-memory row for {shape.name}")

    def sysctl_values(self) -> dict[str, str]:
        """The sysctls in the form of the CNI plug-in `tuning`."""
        return {row.name: row.value for row in self.sysctls}
