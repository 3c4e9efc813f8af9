"""NCCL's settings and variables with their reasons: one record per entry of `nccl.yaml`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from fabric.catalog.audience import Audience
from fabric.catalog.shape import LinkType, Shape

DeviceAccess = Literal["virtual", "physical", "shared", "host"]
Scope = Literal["training", "verification", "both"]
IpVersion = Literal[4, 6]

_HCA_LIST = "{hcaList}"


class NcclSetting(Audience):
    """One environment variable for one group of shapes and fabrics.

    `scope` says who gets it: jobs, a measurement on top of what jobs get, or both. `devices` says how the pod comes by
    the NICs; empty means any way. `virtual`: it holds virtual functions. `physical`: whole NICs, moved into its network
    namespace. `shared`: interfaces on top of the node's NICs, which stay where they are. `host`: it runs in the node's
    network namespace. `links` and `ip_versions` are those of the fabric; a fabric without planned addresses has no
    version. A value `{hcaList}` stands for the RDMA devices of the shape, in rail order.
    """

    variable: str
    value: str = Field(min_length=1)
    scope: Scope
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)
    devices: tuple[DeviceAccess, ...] = ()
    links: tuple[LinkType, ...] = ()
    ip_versions: tuple[IpVersion, ...] = ()

    def applies_to(
        self, shape: Shape, devices: DeviceAccess, link: LinkType | None = None, ip_version: IpVersion | None = None
    ) -> bool:
        """Whether the row is meant for pods on this shape; the link layer is by default the shape's own."""
        link = link or (shape.nic_model.link_type if shape.nic_model else None)
        return (
            self.includes(shape)
            and (not self.devices or devices in self.devices)
            and (not self.links or link in self.links)
            and (not self.ip_versions or ip_version in self.ip_versions)
        )

    def value_on(self, shape: Shape) -> str | None:
        """The value with the shape's RDMA devices filled in; None where it needs them and their names are unknown."""
        if _HCA_LIST not in self.value:
            return self.value
        return None if shape.hca_list is None else self.value.replace(_HCA_LIST, shape.hca_list)

    def serves(self, scope: Scope) -> bool:
        """Whether the row is for jobs (`training`) or for a measurement (`verification`); for either with `both`."""
        return "both" in (scope, self.scope) or scope == self.scope


def nccl_environment(
    rows: Iterable[NcclSetting],
    shape: Shape,
    devices: DeviceAccess,
    *,
    link: LinkType | None = None,
    ip_version: IpVersion | None = None,
    scope: Scope = "training",
) -> dict[str, str]:
    """The variables of one scope for pods on a shape, in the order of the table."""
    meant = (row for row in rows if row.serves(scope) and row.applies_to(shape, devices, link, ip_version))
    found = ((row.variable, row.value_on(shape)) for row in meant)
    return {variable: value for variable, value in found if value is not None}
