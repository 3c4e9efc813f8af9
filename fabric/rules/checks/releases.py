"""Checks of the group `releases`: the release line's needs, and chart values."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog.chart_key import ProblemSeverity
from fabric.catalog.release import Needed
from fabric.catalog.version import Version
from fabric.plan.case import Case
from fabric.rules.chart_values import SECTIONS, ChartValues, charts_in_use, value_at, written_values
from fabric.rules.registry import Problem, check
from fabric.spec import ExistingCluster
from fabric.spec.places import Location, dotted

_KINDS = {"removed": "it is gone since", "ignored": "it does nothing since", "too-new": "it comes with"}
# From these versions on the toolkit's tags name no distribution any more.
_OPERATOR_WITH_PLAIN_TAGS, _TOOLKIT_WITH_PLAIN_TAGS = Version.parse("25.10"), Version.parse("1.18.0")
_DISTRIBUTIONS = ("-ubuntu", "-ubi", "-centos", "-rhel")


def _kubernetes(case: Case) -> tuple[Location, str | None]:
    """Where the stack file states the Kubernetes version, and the version; None where it does not say."""
    cluster = case.spec.cluster
    if isinstance(cluster, ExistingCluster):
        return ("cluster", "kubernetes"), cluster.kubernetes
    return ("cluster", "version"), None if cluster.version == "latest" else cluster.version


def _unmet(case: Case, severity: ProblemSeverity) -> Iterator[Problem]:
    place, version = _kubernetes(case)
    charts = charts_in_use(case)
    present: dict[Needed, str] = {"kubernetes": version} if version else {}
    if "gpu-operator" in charts:
        present["gpu-operator"] = charts["gpu-operator"].version
    for row in case.line.unmet(tuple(charts), present):
        if row.severity == severity:
            yield Problem(
                dotted(place if row.needs == "kubernetes" else ("software", "releaseLine")),
                f"{row.component} of release line {case.line.name} asks for {row.needs} {row.versions}, and this is "
                f"{present[row.needs]}: {row.why.rstrip('.')}",
                f"write a version within {row.versions}, or another release line",
            )


@check("REL001")
def charts_can_be_installed(case: Case) -> Iterator[Problem]:
    """Every chart finds the versions that it cannot do without."""
    yield from _unmet(case, "error")


@check("REL002")
def charts_are_supported(case: Case) -> Iterator[Problem]:
    """Every chart finds the versions that its vendor supports."""
    yield from _unmet(case, "warning")


def _unheeded(case: Case, severity: ProblemSeverity) -> Iterator[Problem]:
    # The table of keys is large, and most stacks change no value.
    for chart in (chart for chart in charts_in_use(case).values() if chart.written):
        for found in case.known.chart_keys.key_findings(chart.name, chart.version, chart.written):
            if found.severity == severity:
                when = f"{_KINDS[found.kind]} {found.version}" if found.version else f"{chart.version} has no such key"
                yield Problem(chart.place(found.path), f"{chart.name}: {when}: {found.why}", found.remedy)


@check("REL003")
def values_that_matter_are_heeded(case: Case) -> Iterator[Problem]:
    """The chart knows every value that decides what is installed."""
    yield from _unheeded(case, "error")


@check("REL004")
def values_are_heeded(case: Case) -> Iterator[Problem]:
    """The chart knows every value."""
    yield from _unheeded(case, "warning")


@check("REL005")
def values_have_a_chart(case: Case) -> Iterator[Problem]:
    """Values are written only for charts that the stack brings."""
    charts = charts_in_use(case)
    for name, values in written_values(case).items():
        if values and name not in charts:
            yield Problem(
                dotted(("software", SECTIONS[name], "values")),
                f"the stack brings {' and '.join(charts) or 'no chart'}, and not {name}",
                "leave them out",
            )


@check("REL006")
def toolkit_has_an_image(case: Case) -> Iterator[Problem]:
    """The container toolkit's version is a tag that exists."""
    chart = charts_in_use(case).get("gpu-operator")
    text = value_at(chart.values, "toolkit", "version") if chart else None
    if chart is None or not isinstance(text, str) or not any(word in text for word in _DISTRIBUTIONS):
        return
    try:
        version = Version.parse(text)
    except ValueError:
        return
    plain = Version.parse(chart.version).has_reached(_OPERATOR_WITH_PLAIN_TAGS)
    if plain and version.has_reached(_TOOLKIT_WITH_PLAIN_TAGS):
        yield Problem(chart.place("toolkit", "version"), f"there is no tag {text}", f"write v{version}")


@check("REL007")
def service_monitors_have_an_operator(case: Case) -> Iterator[Problem]:
    """The kind ServiceMonitor is there before the chart makes one."""
    chart = charts_in_use(case).get("gpu-operator")
    keys = ("dcgmExporter", "serviceMonitor", "enabled")
    if chart and value_at(chart.values, *keys) is True and "prometheus-operator" not in case.spec.cluster.installed:
        yield Problem(
            chart.place(*keys),
            "the cluster is not known to have the Prometheus operator",
            "write false, or add prometheus-operator to cluster.installed if the cluster has it",
        )


def _driver_is_on(chart: ChartValues | None) -> bool | None:
    return None if chart is None else value_at(chart.values, "driver", "enabled") is not False


@check("REL008")
def driver_settings_have_a_driver(case: Case) -> Iterator[Problem]:
    """Settings that only the driver's pods read come with the driver."""
    chart = charts_in_use(case).get("gpu-operator")
    if chart is None or _driver_is_on(chart):
        return
    for keys in (("driver", "rdma", "enabled"), ("gdrcopy", "enabled"), ("gds", "enabled")):
        if value_at(chart.written, *keys) is True:
            yield Problem(
                chart.place(*keys),
                "the node image brings the driver (software.gpuOperator.driver is false), so nothing reads it",
                "leave it out, or write software.gpuOperator.driver: true",
            )


@check("REL009")
def storage_has_the_open_module(case: Case) -> Iterator[Problem]:
    """GPUDirect Storage comes with a kernel module that it can use."""
    chart = charts_in_use(case).get("gpu-operator")
    if chart is None or not _driver_is_on(chart):
        return
    proprietary = value_at(chart.values, "driver", "kernelModuleType") == "proprietary"
    if proprietary and value_at(chart.values, "gds", "enabled") is True:
        yield Problem(
            chart.place("gds", "enabled"),
            "driver.kernelModuleType is proprietary",
            "write driver.kernelModuleType: open, or gds.enabled: false",
        )


@check("REL010")
def driver_finds_network_drivers(case: Case) -> Iterator[Problem]:
    """A driver with RDMA looks for the network drivers where they are: on the host."""
    chart = charts_in_use(case).get("gpu-operator")
    if chart is None or not _driver_is_on(chart):
        return
    rdma, host = (value_at(chart.values, "driver", "rdma", key) is True for key in ("enabled", "useHostMofed"))
    if rdma and not host:
        yield Problem(
            chart.place("driver", "rdma", "useHostMofed"),
            "driver.rdma is on, and the stack installs no network drivers",
            "write useHostMofed: true, or leave driver.rdma out where DMA-BUF is used",
        )
