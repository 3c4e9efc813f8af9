"""`gpu-fabric:software`: which release line, where its charts come from, and what to change in them."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, ValidationInfo, field_validator, model_validator

from fabric.catalog import Catalog
from fabric.model import FrozenModel
from fabric.spec.schedulers import Schedulers
from fabric.spec.spiderpool import ContainerOfedDriver, Spiderpool
from fabric.spec.suggestion import nearest

GpuDirect = Literal["dma-buf", "peermem"]
CniPlugins = Literal["install", "node-image"]
MigStrategy = Literal["none", "single", "mixed"]

_GUID = r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){7}$"
Guid = Annotated[str, StringConstraints(pattern=_GUID)]
# A registry has a dot, a port, or the name localhost; anything else would be read as a path of Docker's own.
_REGISTRY = r"((localhost|[a-z0-9.-]+\.[a-z0-9-]+)(:[0-9]{1,5})?|[a-z0-9-]+:[0-9]{1,5})"
RegistryName = Annotated[str, StringConstraints(pattern=rf"^(\*|{_REGISTRY})$")]
ImageMirror = Annotated[str, StringConstraints(pattern=rf"^{_REGISTRY}(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$")]
_MIRROR = re.compile(r"^(https|oci)://\S+$")


class GpuOperator(FrozenModel):
    """Switches of the GPU Operator."""

    install: bool | None = Field(
        default=None,
        description="whether the stack brings the operator; by default for NVIDIA's GPUs, but not where DigitalOcean "
        "manages the nodes' plug-ins",
    )
    driver: bool = Field(
        default=False, description="whether the operator installs the GPU driver; false where the node image brings it"
    )
    toolkit: bool | None = Field(
        default=None,
        description="whether the operator installs the container toolkit; by default it does, but not on "
        "DigitalOcean's nodes, which have it",
    )
    feature_discovery: bool = Field(
        default=True, description="whether the chart brings Node Feature Discovery; false where the cluster has one"
    )
    gpu_direct: GpuDirect | None = Field(
        default=None,
        description="how NICs reach GPU memory: `dma-buf` (open kernel modules, nothing else) or `peermem` (the module "
        "nvidia-peermem and the vendor's network drivers); by default what the release line names",
    )
    gdrcopy: bool = Field(default=False, description="whether the operator loads GDRCopy's kernel module")
    cdi: bool | None = Field(
        default=None,
        description="whether GPUs come into containers by the Container Device Interface; by default the chart's own",
    )
    mig: MigStrategy | None = Field(
        default=None,
        description="partitioned GPUs: `single` (requested as whole ones are) or `mixed` (a resource per partition "
        "size); a pool's label nvidia.com/mig.config names the partitions; by default the chart's own, `single`",
    )
    dcgm_exporter: bool = Field(default=True, description="whether GPU metrics are exported")
    service_monitor: bool = Field(
        default=False, description="whether Prometheus is told of them; needs the Prometheus operator in the cluster"
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class PartitionKeys(FrozenModel):
    """ib-kubernetes, which has UFM put the GUIDs of pods into the fabric's partition."""

    ufm_secret: str = Field(
        min_length=1, description="name of the secret in the operator's namespace that holds UFM's address and login"
    )
    guid_range_start: Guid = Field(description="first GUID for pods, eight bytes with colons")
    guid_range_end: Guid = Field(description="last GUID for pods")

    @model_validator(mode="after")
    def _start_before_end(self) -> Self:
        if self.guid_range_start.lower() >= self.guid_range_end.lower():
            raise ValueError("guidRangeStart must lie before guidRangeEnd")
        return self


class NetworkOperator(FrozenModel):
    """Switches of the Network Operator."""

    multus: bool = Field(default=True, description="whether its policy brings Multus; false where the cluster has one")
    ofed_driver: bool = Field(
        default=False, description="whether it loads the vendor's network drivers; false where the node image has them"
    )
    partition_keys: PartitionKeys | None = Field(default=None, description="ib-kubernetes with UFM, for `fabric.pkey`")
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class Multus(FrozenModel):
    """Switches of Multus where the stack itself brings it: with the manager `doks`."""

    memory: Annotated[str, StringConstraints(pattern=r"^[1-9]\d*(Mi|Gi)$")] | None = Field(
        default=None, description="memory of its daemon on every node, such as 1Gi; by default the release line's"
    )
    image: str | None = Field(
        default=None, min_length=1, description="another image of the thick form; by default the release line's"
    )


class Whereabouts(FrozenModel):
    """Switches of Whereabouts, which comes where `addressing.ipam` names it."""

    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class Software(FrozenModel):
    """What is installed."""

    release_line: str = Field(default="26.4", description="the tested set of versions")
    charts: str = Field(
        default="upstream",
        description="`upstream`: the vendor's chart repository; `bundled`: the sandbox's stand-ins; or a mirror's URL",
    )
    registries: dict[RegistryName, ImageMirror] = Field(
        default={},
        description="registries that nodes pull images from instead, such as `nvcr.io: mirror.example/nvcr`; `*` is "
        "every one without a line of its own; of charts it holds for those from `oci://`",
    )
    gpu_operator: GpuOperator = GpuOperator()
    network_operator: NetworkOperator = NetworkOperator()
    spiderpool: Spiderpool = Spiderpool()
    multus: Multus = Multus()
    whereabouts: Whereabouts = Whereabouts()
    schedulers: Schedulers = Schedulers()
    ofed_driver: ContainerOfedDriver | None = Field(
        default=None,
        description="the vendor's network drivers in a container, beside Spiderpool; by default the nodes have them",
    )
    cni_plugins: CniPlugins = Field(
        default="install",
        description="CNI plug-ins that a network needs and no operator brings (sriov, ib-sriov, rdma), and those of "
        "Spiderpool's chart: `install`, or `node-image` where the nodes have them",
    )
    host_image: str | None = Field(
        default=None,
        min_length=1,
        description="image of the DaemonSets that prepare nodes, which take only chroot from it; by default the "
        "release line's",
    )

    @field_validator("release_line")
    @classmethod
    def _line_is_in_the_catalog(cls, value: str, info: ValidationInfo) -> str:
        known: Catalog = (info.context or {})["catalog"]
        if value not in known.releases:
            guess = nearest(value, known.releases)
            raise ValueError(f"no release line {value!r}; {guess}allowed: {', '.join(sorted(known.releases))}")
        return value

    @field_validator("charts")
    @classmethod
    def _charts_can_be_found(cls, value: str) -> str:
        if value not in ("upstream", "bundled") and not _MIRROR.match(value):
            raise ValueError(
                f"{value!r} names no charts; allowed: upstream, bundled, or a mirror (https://… or oci://…)"
            )
        return value
