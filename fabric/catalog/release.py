"""Release lines: sets of chart and image versions that belong together, one record per row of `releases.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import and_
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from fabric.catalog.shape import ShapeProvider, Vendor
from fabric.catalog.version import RangeText, VersionRange, VersionText
from fabric.model import FrozenModel

ChartName = Literal[
    "gpu-operator", "network-operator", "spiderpool", "whereabouts", "ofed-driver", "volcano", "kueue", "jobset"
]
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
]
StandaloneName = Literal["multus", "ipPreservingHostDevice", "hostPreparation", "rdmaTools", "mpiOperator"]
Needed = Literal["kubernetes", "gpu-operator", "network-operator", "nfd", "spiderpool-crds"]


class Chart(FrozenModel):
    """A Helm chart at an exact version.

    `chart` is its name in the repository where that differs from the release's. `timeout` is in seconds. `values` are
    what the line always needs, `host_values` what nodes of a vendor's machines need on top. `privileged` says whether
    its namespace must let privileged pods in.
    """

    repository: str
    chart: str | None = None
    version: str
    namespace: str
    timeout: int = Field(ge=60)
    privileged: bool = True
    values: dict[str, JsonValue]
    host_values: dict[ShapeProvider, dict[str, JsonValue]] = {}


class ImagePlace(FrozenModel):
    """Where an image is: its repository, without the image's name, and its tag."""

    repository: str
    version: str


class Image(ImagePlace):
    """An image as the Network Operator's policy writes it."""

    image: str

    @property
    def reference(self) -> str:
        """The image as a pod writes it."""
        return f"{self.repository}/{self.image}:{self.version}"


class ComponentImages(FrozenModel):
    """Operand images of the Network Operator: an image name per component.

    `repository` and `version` hold for all components that have no `own` place; they are empty in lines in which every
    component has its own.
    """

    repository: str = ""
    version: str = ""
    names: dict[Component, str]
    own: dict[Component, ImagePlace] = {}

    @model_validator(mode="after")
    def _every_image_has_a_place(self) -> Self:
        if lost := sorted(set(self.own) - set(self.names)):
            raise ValueError(f"a place but no image name: {', '.join(lost)}")
        if not (self.repository and self.version) and (lost := sorted(set(self.names) - set(self.own))):
            raise ValueError(f"no repository or no version: {', '.join(lost)}")
        return self

    def image(self, component: Component) -> Image:
        """The image of a component.

        Raises:
            KeyError: the line has no image for it.
        """
        place = self.own.get(component, self)
        return Image(image=self.names[component], repository=place.repository, version=place.version)


class StandaloneComponent(FrozenModel):
    """What a stack installs itself where no operator brings it; `image` is None where none is published.

    `memory` is the limit of its container where that is more than its maker's, and `why` says why.
    """

    version: str
    image: Image | None = None
    memory: str | None = Field(default=None, pattern=r"^[1-9]\d*(Mi|Gi)$")
    why: str
    source: str


class NcclTests(FrozenModel):
    """Versions in the images of the vendor's own NCCL (RCCL) tests; the image references are not published."""

    vendor: Vendor
    platform: str
    nccl: VersionText
    source: str


class Requirement(FrozenModel):
    """What one chart needs from another part; `error` where it cannot be installed otherwise."""

    component: ChartName
    needs: Needed
    versions: RangeText
    severity: Literal["error", "warning"]
    why: str
    source: str


class GpuDirectDefault(FrozenModel):
    """How NICs reach GPU memory in a line, and why so."""

    default: Literal["dma-buf", "peermem"]
    why: str
    source: str


class ReleaseLine(FrozenModel):
    """One tested set.

    `policy_by` says who makes the NicClusterPolicy: the Network Operator's chart from its values, or the stack as an
    object. `nic_node_policies` and `sriov_operator` say whether the line has the kind NicNodePolicy, and an SR-IOV
    operator that its chart configures. `plugin_daemon_sets` names the device plug-ins' DaemonSets. nv-ipam differs by
    line: `nv_ipam_smallest_block` is the smallest number of addresses per node, `nv_ipam_needs_gateway` whether a pool
    must name one, `nv_ipam_cidr_pools` whether the kind CIDRPool exists.
    """

    name: str
    policy_by: Literal["chart", "stack"]
    nic_node_policies: bool
    sriov_operator: bool
    plugin_daemon_sets: dict[Component, str]
    gpu_direct: GpuDirectDefault
    charts: dict[ChartName, Chart]
    images: ComponentImages
    standalone: dict[StandaloneName, StandaloneComponent] = {}
    nccl_tests: tuple[NcclTests, ...] = ()
    needs: tuple[Requirement, ...] = Field(min_length=1)
    nv_ipam_smallest_block: int = Field(ge=1)
    nv_ipam_needs_gateway: bool
    nv_ipam_cidr_pools: bool
    notes: tuple[str, ...] = ()

    @property
    def kubernetes(self) -> VersionRange:
        """The Kubernetes versions that suit both of NVIDIA's operators."""
        operators = ("gpu-operator", "network-operator")
        ranges = (row.versions for row in self.needs if row.needs == "kubernetes" and row.component in operators)
        return reduce(and_, ranges, VersionRange())

    def unmet(self, installed: Collection[ChartName], present: Mapping[Needed, str]) -> tuple[Requirement, ...]:
        """Requirements of the installed charts that a version in `present` does not meet.

        A part whose version is not stated cannot be judged and is left out.

        Raises:
            ValueError: a stated version is none.
        """
        return tuple(
            row
            for row in self.needs
            if row.component in installed and row.needs in present and present[row.needs] not in row.versions
        )
