"""NCCL settings with their reasons, one record per row of `nccl.yaml`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from fabric.catalog.audience import Audience
from fabric.catalog.shape import Shape

DeviceAccess = Literal["virtual", "physical", "shared", "host"]

_HCA_LIST = "{hcaList}"


class NcclSetting(Audience):
    """One environment variable for one group of shapes.

    `devices` says how the pod comes by the NICs; empty means any way. `virtual`: it holds virtual functions.
    `physical`: whole NICs, moved into its network namespace. `shared`: interfaces on top of the node's NICs, which stay
    where they are. `host`: it runs in the node's network namespace. A value `{hcaList}` stands for the RDMA devices of
    the shape, in rail order.
    """

    variable: str
    value: str
    why: str
    source: str
    devices: tuple[DeviceAccess, ...] = ()

    def applies_to(self, shape: Shape, devices: DeviceAccess) -> bool:
        """Whether the row is meant for pods on this shape."""
        return self.includes(shape) and (not self.devices or devices in self.devices)

    def value_on(self, shape: Shape) -> str | None:
        """The value with the shape's RDMA devices filled in; None where it needs them and their names are unknown."""
        if _HCA_LIST not in self.value:
            return self.value
        return None if shape.hca_list is None else self.value.replace(_HCA_LIST, shape.hca_list)


def nccl_environment(rows: Iterable[NcclSetting], shape: Shape, devices: DeviceAccess) -> dict[str, str]:
    """The variables for pods on a shape, in the order of the table."""
    found = ((row.variable, row.value_on(shape)) for row in rows if row.applies_to(shape, devices))
    return {variable: value for variable, value in found if value is not None}
