"""Release lines: sets of chart and image versions that belong together, one record per row of `releases.yaml`,
with the charts of the operators' files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import and_
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from gpu_fabric.catalog.shape import ShapeProvider, Vendor
from gpu_fabric.catalog.version import RangeText, Version, VersionRange, VersionText
from gpu_fabric.model import FrozenModel

ChartName = str
"""The name of a chart's release."""

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]

Component = Literal[
    "ofedDriver",
    "sriovDevicePlugin",
    "rdmaSharedDevicePlugin",
    "ibKubernetes",
    "nvIpam",
    "multus",
    "cniPlugins",
    "ipoib",
    "sriovCni",
    "ibSriovCni",
    "rdmaCni",
    "nicConfigurationOperator",
    "nicConfigurationDaemon",
    "spectrumXOperator",
    "xPlane",
]
StandaloneName = Literal["multus", "ipPreservingHostDevice", "hostPreparation", "rdmaTools", "readiness", "mpiOperator"]
Needed = Literal["kubernetes", "gpu-operator", "network-operator", "nfd", "spiderpool-crds"]


class Chart(FrozenModel):
    """A Helm chart at an exact version.

    `chart` is the chart's name in the repository, if it differs from the release's. `timeout` is in seconds. `values`
    are always set, `host_values` are added for the machines of a vendor. `privileged`: its namespace must admit
    privileged pods.
    """

    repository: str
    chart: str | None = None
    version: str
    namespace: str
    timeout: int = Field(ge=60)
    privileged: bool = True
    values: dict[str, JsonValue] = {}
    host_values: dict[ShapeProvider, dict[str, JsonValue]] = {}


class ImagePlace(FrozenModel):
    """The repository of an image, without the image's name, and the tag."""

    repository: str
    version: str


class Image(ImagePlace):
    """An image in the form of the Network Operator's policy."""

    image: str

    @property
    def reference(self) -> str:
        """The image reference for a pod."""
        return f"{self.repository}/{self.image}:{self.version}"


class ImageDigests(FrozenModel):
    """Digests of images by reference, with the tag; `source` states all of them in full."""

    source: str
    digests: dict[Annotated[str, StringConstraints(pattern=r"^[\w.-]+\.[\w-]+/[\w./-]+:[\w.-]+$")], Digest]


class ComponentImages(FrozenModel):
    """Operand images of the Network Operator: an image name per component.

    `repository` and `version` apply to all components without an `own` place; they are empty in lines in which every
    component has one.
    """

    repository: str = ""
    version: str = ""
    names: dict[Component, str]
    own: dict[Component, ImagePlace] = {}

    def image(self, component: Component) -> Image:
        """The image of a component.

        Raises:
            KeyError: the line does not have an image of the component.
        """
        place = self.own.get(component, self)
        return Image(image=self.names[component], repository=place.repository, version=place.version)


class StandaloneComponent(FrozenModel):
    """A component that the stack installs itself if no operator does; `image` is None if none is published.

    `memory` is the limit of its container if it is higher than upstream's; `why` is the reason.
    """

    version: str
    image: Image | None = None
    memory: str | None = Field(default=None, pattern=r"^[1-9][0-9]*(Mi|Gi)$")
    why: str
    source: str


class NcclTests(FrozenModel):
    """Versions in the images of the vendor's own NCCL (RCCL) tests; the image references are not published."""

    vendor: Vendor
    platform: str
    nccl: VersionText
    source: str


class Requirement(FrozenModel):
    """A requirement of a chart on another part; `error` if it cannot be installed without it."""

    component: ChartName
    needs: Needed
    versions: RangeText
    severity: Literal["error", "warning"]
    why: str
    source: str


OF_THE_VENDOR: tuple[ChartName, ...] = ("gpu-operator", "network-operator")
"""The charts whose life cycle a line follows."""


class GpuDirectDefault(FrozenModel):
    """The way in which NICs access GPU memory in a line, with the reason."""

    default: Literal["dma-buf", "peermem"]
    why: str
    source: str


class SupportedNics(FrozenModel):
    """NICs that an SR-IOV operator supports: PCI device ids of each vendor, which is a PCI id as well."""

    devices: dict[str, tuple[str, ...]] = Field(min_length=1)
    source: str


class SpectrumX(FrozenModel):
    """The reference architecture of Spectrum-X that a line's operators are for, in the form of its profiles."""

    architecture: str
    source: str


class ReleaseLine(FrozenModel):
    """One tested set of versions.

    `policy_by` is the creator of the NicClusterPolicy: the Network Operator's chart from its values, or the stack as an
    object. `nic_node_policies`: the line has the kind NicNodePolicy. `sriov_operator`: its chart configures an SR-IOV
    operator. `plugin_daemon_sets` are the DaemonSets of the device plug-ins. `rolls_plugins`: the operator restarts
    their pods when their configuration changes. `plugin_config_maps` are the ConfigMaps of that configuration; empty if
    nothing waits for them. nv-ipam differs by line: `nv_ipam_smallest_block` is the smallest number of addresses per
    node; `nv_ipam_needs_gateway`: a pool must have a gateway; `nv_ipam_cidr_pools`: the kind CIDRPool exists;
    `nv_ipam_passes_over`: no node gets a block or prefix that is wholly excluded, or a block of one address that is the
    gateway. `spiderpool_sriov_nics` are the NICs that the SR-IOV operator of Spiderpool's chart supports. `spectrum_x`
    is None in a line without a Spectrum-X operator whose objects this program writes. `unread` is what was not at hand
    of a chart when the line was written.
    """

    name: str
    policy_by: Literal["chart", "stack"]
    nic_node_policies: bool
    sriov_operator: bool
    plugin_daemon_sets: dict[Component, str]
    rolls_plugins: bool
    plugin_config_maps: dict[Component, str] = {}
    gpu_direct: GpuDirectDefault
    charts: dict[ChartName, Chart]
    images: ComponentImages
    standalone: dict[StandaloneName, StandaloneComponent] = {}
    nccl_tests: tuple[NcclTests, ...] = ()
    needs: tuple[Requirement, ...] = Field(min_length=1)
    nv_ipam_smallest_block: int = Field(ge=1)
    nv_ipam_needs_gateway: bool
    nv_ipam_cidr_pools: bool
    nv_ipam_passes_over: bool
    spiderpool_sriov_nics: SupportedNics | None = None
    spectrum_x: SpectrumX | None = None
    unread: dict[ChartName, str] = {}
    notes: tuple[str, ...] = ()

    @property
    def kubernetes(self) -> VersionRange:
        """The Kubernetes versions that both of NVIDIA's operators support."""
        ranges = (row.versions for row in self.needs if row.needs == "kubernetes" and row.component in OF_THE_VENDOR)
        return reduce(and_, ranges, VersionRange())

    def unmet(self, installed: Collection[ChartName], present: Mapping[Needed, str]) -> tuple[Requirement, ...]:
        """Requirements of the installed charts that a version in `present` does not meet.

        Parts without a stated version are not checked.

        Raises:
            ValueError: a stated version is not valid.
        """
        return tuple(
            row
            for row in self.needs
            if row.component in installed and row.needs in present and present[row.needs] not in row.versions
        )


def newest_line(releases: Mapping[str, ReleaseLine]) -> str:
    """The newest line that is planned here; NVIDIA may have newer ones (`upgrades.yaml`)."""
    return max(releases, key=Version.parse)
