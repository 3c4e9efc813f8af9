"""Facts about a pod that uses the fabric, whatever the job: shared memory and sysctls, from `pod_settings.yaml`."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from fabric.catalog.audience import Audience
from fabric.catalog.shape import Shape
from fabric.model import FrozenModel


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
    """The tables of `pod_settings.yaml`; of the shared-memory rows that are meant for a shape, the first one holds."""

    shared_memory: tuple[SharedMemorySetting, ...]
    sysctls: tuple[SysctlSetting, ...]

    @model_validator(mode="after")
    def _a_sysctl_has_one_row(self) -> Self:
        names = [row.name for row in self.sysctls]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"sysctl with two rows: {', '.join(repeated)}")
        return self

    def shared_memory_of(self, shape: Shape) -> SharedMemorySetting:
        """The row for a shape.

        Raises:
            LookupError: no row is meant for it.
        """
        for row in self.shared_memory:
            if row.includes(shape):
                return row
        raise LookupError(f"no shared-memory row for {shape.name}")

    def sysctl_values(self) -> dict[str, str]:
        """The sysctls as the `tuning` plug-in takes them."""
        return {row.name: row.value for row in self.sysctls}
