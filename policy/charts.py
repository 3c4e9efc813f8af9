"""Charts: their versions, their sources, and the options of their releases."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import PolicyResource, ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import NoSettings, Violation, resource_policy, stack_policy
from .reading import at, is_one_of, kind_of, of_kind

_EXACT = re.compile(r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


@resource_policy("exact-chart-versions", NoSettings)
def exact_chart_versions(release: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    version = release.props.get("version")
    if not _EXACT.fullmatch(version or ""):
        yield f"version {version or 'none'} is not exact"


class ReleaseOptions(FrozenModel):
    """How long a release may take, and how much of its past is kept."""

    least_timeout: int = Field(default=300, ge=1, description="least time limit, in seconds")
    most_history: int = Field(default=10, ge=1, description="most revisions that Helm keeps")


@resource_policy("release-options", ReleaseOptions)
def release_options(release: ResourceValidationArgs, settings: ReleaseOptions) -> Iterator[str]:
    props = release.props
    for key in ("name", "namespace"):
        if not props.get(key):
            yield f"has no {key}"
    if (props.get("timeout") or 0) < settings.least_timeout:
        yield f"has a time limit under {settings.least_timeout} seconds, or none"
    if not 0 < (props.get("maxHistory") or 0) <= settings.most_history:
        yield f"keeps more than {settings.most_history} revisions, or all"
    if not props.get("resetValues"):
        yield "keeps old values when new ones are empty"
    if props.get("createNamespace"):
        yield "creates its namespace itself, without labels"


class ChartSources(FrozenModel):
    """Where charts may come from."""

    sources: tuple[str, ...] = Field(
        default=(
            "https://helm.ngc.nvidia.com/nvidia",
            "https://rocm.github.io/*",
            "https://spidernet-io.github.io/spiderpool",
            "https://volcano-sh.github.io/helm-charts",
            "oci://registry.k8s.io/*",
            "oci://ghcr.io/k8snetworkplumbingwg/*",
            "./*",
        ),
        description="repositories, full names of charts at registries, or folders, as patterns",
    )


@resource_policy("chart-sources", ChartSources)
def chart_sources(release: ResourceValidationArgs, settings: ChartSources) -> Iterator[str]:
    source = at(release.props, "repositoryOpts", "repo") or release.props.get("chart") or "none"
    if not is_one_of(source, settings.sources):
        yield f"comes from {source}, which is not on the list"


@stack_policy("one-release-a-name", NoSettings)
def one_release_a_name(resources: list[PolicyResource], _settings: NoSettings) -> Iterator[Violation]:
    seen: set[tuple[str, str]] = set()
    for release in of_kind(resources, "Release"):
        if "chart" not in release.props:
            continue  # a preview of a cluster that is still to come shows nothing of it
        chart = str(release.props["chart"]).rpartition("/")[2]
        placed = f"{release.props.get('namespace')}/{release.props.get('name')}"
        for key in (("release", placed), ("chart", chart)):
            if key in seen:
                yield Violation(f"the {key[0]} {key[1]} exists already", release.urn)
            seen.add(key)


class PluginOwners(FrozenModel):
    """Names of the charts that install a device plug-in for GPUs."""

    charts: tuple[str, ...] = Field(default=("gpu-operator", "nvidia-device-plugin"), description="names of charts")


@stack_policy("one-owner-of-gpus", PluginOwners)
def one_owner_of_gpus(resources: list[PolicyResource], settings: PluginOwners) -> Iterator[Violation]:
    managed = [
        resource
        for resource in resources
        if kind_of(resource.resource_type) == "KubernetesCluster"
        and at(resource.props, "nvidiaGpuDevicePlugin", "enabled")
    ]
    for release in of_kind(resources, "Release") if managed else ():
        chart = str(release.props.get("chart")).rpartition("/")[2]
        if chart in settings.charts and at(release.props, "values", "devicePlugin", "enabled") is not False:
            yield Violation("installs a device plug-in for GPUs, and so does DOKS", release.urn)
