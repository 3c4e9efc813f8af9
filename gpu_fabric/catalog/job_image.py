"""What images of jobs need on a stack's nodes (`job_images.yaml`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gpu_fabric.catalog.shape import Audience, Shape
from gpu_fabric.model import FrozenModel

Architecture = Literal["amd64", "arm64"]

_ARCHITECTURES: dict[str, Architecture] = {"x86_64": "amd64", "arm64": "arm64"}
"""Architectures of a PCI tree's processors, as NCCL names them, by the names that images have for them."""


class VerbsProvider(FrozenModel):
    """A provider of libibverbs: its library, which is the plug-in lib<name>-rdmav<N>.so, drives the NICs of `drivers`.

    `kernel_abi` is the version of the interface between library and kernel that the driver of the mainline kernel has,
    as sysfs shows it in uverbs*/abi_version. Drivers of vendors may have another one. `package` is what installs it.
    """

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    drivers: tuple[str, ...] = Field(min_length=1)
    kernel_abi: int = Field(ge=0)
    package: str = Field(min_length=1)
    source: str = Field(min_length=1)


class MachineArchitecture(Audience):
    """The architecture of the machines to which the row applies."""

    architecture: Architecture
    source: str = Field(min_length=1)


class JobImageTable(FrozenModel):
    """The content of `job_images.yaml`."""

    providers: tuple[VerbsProvider, ...]
    architectures: tuple[MachineArchitecture, ...]

    def provider_of(self, driver: str | None) -> VerbsProvider | None:
        """The provider for NICs with a kernel driver; None where none is known."""
        return next((row for row in self.providers if driver in row.drivers), None)

    def architecture_of(self, shape: Shape, arch: str | None) -> Architecture | None:
        """The architecture of a shape's machines, with `arch` that of its PCI tree; None where it is not known."""
        if arch is not None:
            return _ARCHITECTURES.get(arch)
        return next((row.architecture for row in self.architectures if row.includes(shape)), None)
