"""Which shapes a row of a table is meant for."""

from __future__ import annotations

from typing import Literal

from fabric.catalog.shape import Shape, Vendor
from fabric.model import FrozenModel

Provider = Literal["oci", "doks", "server", "inline"]


class Audience(FrozenModel):
    """A row's own statement of whom it is for; an empty list leaves nobody out.

    `vendors` are the GPUs' makers. `drivers` are kernel drivers of the RDMA NICs; a shape whose driver is not known
    is not left out by them.
    """

    shapes: tuple[str, ...] = ()
    providers: tuple[Provider, ...] = ()
    vendors: tuple[Vendor, ...] = ()
    drivers: tuple[str, ...] = ()

    def includes(self, shape: Shape) -> bool:
        """Whether the row is meant for this shape."""
        driver = shape.nic_model.driver if shape.nic_model is not None else None
        return (
            (not self.shapes or shape.name in self.shapes)
            and (not self.providers or shape.provider in self.providers)
            and (not self.vendors or shape.gpus.vendor in self.vendors)
            and (not self.drivers or driver is None or driver in self.drivers)
        )
