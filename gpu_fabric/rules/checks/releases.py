"""Checks of the release line: what its charts need, their values, and images and charts from mirrors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import get_args

from gpu_fabric.base.api_objects import field
from gpu_fabric.base.grammar import moves
from gpu_fabric.catalog import ChartName
from gpu_fabric.catalog.chart import KeyProblem, ProblemSeverity
from gpu_fabric.catalog.release import OF_THE_VENDOR, Needed, newest_line
from gpu_fabric.catalog.upgrade import SupportState
from gpu_fabric.catalog.version import Version
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.images import foreign_images, unknown_images
from gpu_fabric.plan.operators import own_charts
from gpu_fabric.plan.operators.sharing import policy_of_present
from gpu_fabric.rules.chart_values import Charts, ChartValues, chart_in_use, charts_in_use, has_driver, written_switches
from gpu_fabric.rules.registry import Problem, check, check_of, check_plan, in_software
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.places import Location, dotted

_KINDS = {"removed": "it is gone since", "ignored": "it does nothing since", "too-new": "it comes with"}
# From these versions on the toolkit's tags name no distribution any more.
_OPERATOR_WITH_PLAIN_TAGS, _TOOLKIT_WITH_PLAIN_TAGS = Version.parse("25.10"), Version.parse("1.18.0")
# The switch that sets a key of the GPU Operator's chart.
_SWITCHES = {"gdrcopy": "gdrcopy", "cdi": "cdi", "mig": "mig", "dcgmExporter": "serviceMonitor"}
_STATES: dict[SupportState, str] = {
    "supported": "NVIDIA supports {}",
    "deprecated": "NVIDIA has deprecated {}: repairs of critical defects only",
    "ended": "NVIDIA's support of {} has ended: no repairs any more, not even of security holes",
}
_DISTRIBUTIONS = ("-ubuntu", "-ubi", "-centos", "-rhel")
_REGISTRIES = in_software("registries")


def stated_kubernetes(case: Case) -> tuple[Location, str | None]:
    """Where the stack file states the Kubernetes version, and the version; None where it states none."""
    cluster = case.spec.cluster
    if isinstance(cluster, ExistingClusterSpec):
        return ("cluster", "kubernetes"), cluster.kubernetes
    return ("cluster", "version"), None if cluster.version == "latest" else cluster.version


def _unmet_needs(case: Case, severity: ProblemSeverity) -> Iterator[Problem]:
    place, version = stated_kubernetes(case)
    charts = charts_in_use(case)
    present: dict[Needed, str] = {"kubernetes": version} if version else {}
    if "gpu-operator" in charts:
        present["gpu-operator"] = charts["gpu-operator"].version
    # An operator that the cluster has is expected in the line's version, and needs what that one needs.
    there = tuple(chart.name for chart in own_charts() if chart.is_present(case))
    if "gpu-operator" in there:
        present["gpu-operator"] = case.line.charts["gpu-operator"].version
    for row in case.line.unmet((*charts, *there), present):
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
    yield from _unmet_needs(case, "error")


@check("REL002")
def charts_are_supported(case: Case) -> Iterator[Problem]:
    """Every chart finds the versions that its vendor supports."""
    yield from _unmet_needs(case, "warning")


def _vendor_charts(case: Case) -> dict[ChartName, str]:
    """The versions of NVIDIA's charts that the stack installs."""
    charts = charts_in_use(case)
    return {name: charts[name].version for name in OF_THE_VENDOR if name in charts}


def _support(case: Case, versions: Mapping[ChartName, str]) -> str:
    """What NVIDIA's rule says of these charts, the worst first, with the day on which its lines were read."""
    vendor = case.known.upgrades.lines
    said: dict[SupportState, list[str]] = {state: [] for state in reversed(get_args(SupportState))}
    for name, version in versions.items():
        said[vendor[name].state(version)].append(f"{name} {version}")
    words = "; ".join(_STATES[state].format(" and ".join(found)) for state, found in said.items() if found)
    return (
        f"{words} (release line {case.line.name}, NVIDIA's lines as of {min(vendor[name].as_of for name in versions)})"
    )


def _in_state(case: Case, state: SupportState) -> Iterator[Problem]:
    versions, newest = _vendor_charts(case), newest_line(case.known.releases)
    if not versions or case.known.upgrades.worst_state(versions.items()) != state:
        return
    if case.line.name != newest:
        yield Problem(
            in_software("releaseLine"),
            _support(case, versions),
            f"look at the way to {newest} with `gpu-fabric upgrade -s {case.spec.name} --to {newest}`",
        )
    elif state == "ended":
        yield Problem(in_software("releaseLine"), _support(case, versions), "use a newer version of gpu-fabric")


@check("REL015")
def line_is_not_deprecated(case: Case) -> Iterator[Problem]:
    """NVIDIA has deprecated no chart of the line, or no newer line is planned here (REL017)."""
    yield from _in_state(case, "deprecated")


@check("REL016")
def line_has_support(case: Case) -> Iterator[Problem]:
    """Every chart of the line gets repairs."""
    yield from _in_state(case, "ended")


@check("REL017")
def newest_line_has_an_age(case: Case) -> Iterator[Problem]:
    """A plan in the newest line says what NVIDIA supported, and when that was read."""
    versions, table = _vendor_charts(case), case.known.upgrades
    if versions and case.line.name == newest_line(case.known.releases):
        newer = dict.fromkeys(line for name, version in versions.items() for line in table.lines[name].newer(version))
        missing = filter(None, map(table.named_only, newer))
        yield Problem(in_software("releaseLine"), "; ".join([_support(case, versions), *missing]))


@check("REL018")
def line_was_read_whole(case: Case) -> Iterator[Problem]:
    """What was not at hand is known: of the vendor's charts, and of the policy of an operator that the cluster has."""
    said = []
    for name, version in _vendor_charts(case).items():
        patches = " and ".join(case.known.upgrades.lines[name].patches(version))
        parts = [case.line.unread.get(name, ""), f"newer and known by name only: {patches}" if patches else ""]
        if any(parts):
            said.append(f"{name} {version}: {'; '.join(filter(None, parts))}")
    chart, unread = case.line.charts.get("network-operator"), case.line.unread.get("network-operator")
    # Sections and images of the policy are the line's, whatever version of the operator the cluster has.
    if chart is not None and unread and policy_of_present(case) in ("own", "adopt"):
        said.append(f"the NicClusterPolicy as of network-operator {chart.version}: {unread}")
    if said:
        yield Problem(in_software("releaseLine"), "; ".join(said))


def _ignored_values(case: Case, severity: ProblemSeverity) -> Iterator[Problem]:
    # The table of keys is large, and most stacks change no value.
    for chart in (chart for chart in charts_in_use(case).values() if chart.written):
        for found in case.known.chart_keys.key_findings(chart.name, chart.version, chart.written):
            if found.severity == severity:
                when = f"{_KINDS[found.kind]} {found.version}" if found.version else f"{chart.version} has no such key"
                yield Problem(chart.place(found.path), f"{chart.name}: {when}: {found.why}", found.remedy)


@check("REL003")
def values_that_matter_are_heeded(case: Case) -> Iterator[Problem]:
    """The chart knows every value that decides what is installed."""
    yield from _ignored_values(case, "error")


@check("REL004")
def values_are_heeded(case: Case) -> Iterator[Problem]:
    """The chart knows every value."""
    yield from _ignored_values(case, "warning")


@check("REL005")
def sections_have_a_chart(case: Case) -> Iterator[Problem]:
    """Switches and values are written only for charts that the stack installs."""
    charts = charts_in_use(case)
    for chart in own_charts():
        if chart.name in charts:
            continue
        present = chart.is_present(case)
        for key in written_switches(case, chart.section):
            if (chart.name, key) == ("gpu-operator", "install") and case.spec.software.gpu_operator.install is False:
                continue
            if present and key in ("install", *chart.facts.keys_of_present):
                continue
            reason = (
                f"the cluster has {chart.name}, and the stack does not install it"
                if present
                else f"the stack installs {' and '.join(charts) or 'no chart'}, and not {chart.name}"
            )
            yield Problem(in_software(chart.section, key), reason)


@check_of("REL006", chart_in_use("gpu-operator"))
def toolkit_has_an_image(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The container toolkit's version is a tag that exists."""
    text = chart.value("toolkit", "version")
    if not isinstance(text, str) or not any(word in text for word in _DISTRIBUTIONS):
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
    """The kind ServiceMonitor exists before the chart creates one."""
    if "prometheus-operator" in case.spec.cluster.installed:
        return
    charts = charts_in_use(case)
    for own in (own for own in own_charts() if own.name in charts):
        chart, paths = charts[own.name], (path.split(".") for path in own.facts.service_monitors)
        made = [keys for keys in paths if chart.value(*keys) is True]
        # One switch sets both of Spiderpool's.
        for place in dict.fromkeys(chart.decided_at("serviceMonitor", *keys) for keys in made):
            yield Problem(place)


@check_of("REL013", chart_in_use("spiderpool"))
def dashboards_have_an_operator(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The kind GrafanaDashboard exists before the chart creates one."""
    keys = ("grafanaDashboard", "install")
    if chart.value(*keys) is True and "grafana-operator" not in case.spec.cluster.installed:
        yield Problem(chart.decided_at("grafanaDashboards", *keys))


@check_of("REL008", chart_in_use("gpu-operator"))
def driver_settings_have_a_driver(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """Settings that only the driver's pods read come with the driver."""
    if has_driver(chart):
        return
    for switch, keys in (
        (None, ("driver", "rdma", "enabled")),
        ("gdrcopy", ("gdrcopy", "enabled")),
        (None, ("gds", "enabled")),
    ):
        # GPU001 reports what the way to reach GPU memory asks of the node image.
        if field(chart.values if switch else chart.written, *keys) is True:
            yield Problem(chart.decided_at(switch, *keys) if switch else chart.place(*keys))


@check_of("REL009", chart_in_use("gpu-operator"))
def storage_has_the_open_module(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """GPUDirect Storage comes with a kernel module that it can use."""
    if not has_driver(chart):
        return
    proprietary = chart.value("driver", "kernelModuleType") == "proprietary"
    if proprietary and chart.value("gds", "enabled") is True:
        yield Problem(chart.place("gds", "enabled"))


@check("REL010")
def driver_finds_network_drivers(case: Case) -> Iterator[Problem]:
    """A driver with RDMA looks for the network drivers where they are: in their container, or on the host."""
    charts = charts_in_use(case)
    chart = charts.get("gpu-operator")
    if chart is None or not has_driver(chart):
        return
    rdma, host = (chart.value("driver", "rdma", key) is True for key in ("enabled", "useHostMofed"))
    container = _network_drivers_come(case, charts)
    if rdma and host == container:
        yield Problem(
            chart.place("driver", "rdma", "useHostMofed"),
            "driver.rdma looks for network drivers on the host, and the Network Operator installs them in a container"
            if host
            else "driver.rdma is on, and the stack installs no network drivers",
            "write useHostMofed: false, or leave it out"
            if host
            else "write useHostMofed: true, or leave driver.rdma out where DMA-BUF is used",
        )


def _network_drivers_come(case: Case, charts: Charts) -> bool:
    """Whether the Network Operator's policy installs the driver container; older lines create it from values."""
    network = charts.get("network-operator")
    if network is None or case.line.policy_by == "stack":
        return network is not None and case.spec.software.network_operator.ofed_driver
    return network.value("ofedDriver", "deploy") is True


@check("REL011")
def charts_can_do_what_switches_ask(case: Case) -> Iterator[Problem]:
    """The chart knows every value that a switch of the stack file sets."""
    for chart, found in _ignored_plan_values(case, charts_in_use(case)):
        switch = _SWITCHES.get(found.path.partition(".")[0])
        if switch is not None and switch in written_switches(case, chart.section):
            yield Problem(
                in_software(chart.section, switch),
                f"{chart.name} {chart.version} does nothing with {found.path}, {_KINDS[found.kind]} {found.version}: "
                f"{found.why}",
                f"{found.remedy}, and leave it out here; or write another release line",
            )


@check_plan("REL012")
def values_of_the_line_do_something(case: Case, plan: Plan) -> Iterator[Problem]:
    """The user knows which values of the release line the chart ignores."""
    planned = {release.name: release.values for release in plan.releases}
    charts = {name: chart._replace(values=planned[name]) for name, chart in charts_in_use(case).items()}
    said: set[str] = set()
    for chart, found in _ignored_plan_values(case, charts):
        if found.path.partition(".")[0] in _SWITCHES or (key := _any_entry(found.path)) in said:
            continue
        said.add(key)
        when = f"{_KINDS[found.kind]} {found.version}"
        yield Problem(
            in_software("releaseLine"), f"{chart.name} is given {key}, as in the line's guide, and {when}: {found.why}"
        )


def _ignored_plan_values(case: Case, charts: Charts) -> Iterator[tuple[ChartValues, KeyProblem]]:
    """Values that the plan sets, not the user, and that the chart ignores according to its own history."""
    for chart in charts.values():
        known, written = case.known.chart_keys, {}
        if chart.written:
            written = {entry.path: entry for entry in known.key_findings(chart.name, chart.version, chart.written)}
        for found in known.key_findings(chart.name, chart.version, chart.values):
            if found.version is not None and found.path not in written:
                yield chart, found


def _any_entry(path: str) -> str:
    """A path with every place in a list left open."""
    return re.sub(r"\[[0-9]+\]", "[]", path)


@check("REL014")
def values_have_their_types(case: Case) -> Iterator[Problem]:
    """Every value that the stack file gives a chart has the type that the chart's own has."""
    for chart in charts_in_use(case).values():
        for found in case.known.chart_versions[chart.name][chart.version].types.wrong(chart.written):
            yield Problem(
                chart.place(*found.keys),
                f"{chart.name} {chart.version} has {found.wanted} here, and takes any other value in its own way",
                f"write {found.wanted}, or leave it out",
            )


@check_plan("IMG001")
def images_are_in_mirrors(case: Case, plan: Plan) -> Iterator[Problem]:
    """With mirrors, every image that is known comes from one of them."""
    registries = case.spec.software.registries
    if not registries:
        return
    by_registry: dict[str, list[str]] = {}
    for found in foreign_images(plan, case.known, registries):
        by_registry.setdefault(found.registry, []).append(f"{found.reference} of {found.where}")
    for registry, images in sorted(by_registry.items()):
        more = f" and {len(images) - 1} more" if len(images) > 1 else ""
        message = f"images of {registry} come from no mirror: {images[0]}{more}"
        yield Problem(_REGISTRIES, message, f"add a line `{registry}:`, or one `'*':` for every registry")


@check_plan("IMG002")
def charts_are_in_mirrors(case: Case, plan: Plan) -> Iterator[Problem]:
    """With mirrors, the charts come from one, too."""
    if not case.spec.software.registries:
        return
    outside = [
        release.name
        for release in plan.releases
        if case.spec.software.charts == "upstream"
        and release.chart.repository is not None
        and not release.chart.repository.startswith("oci://")
    ]
    if outside:
        message = f"{', '.join(outside)} come from repositories of charts that `registries` does not move"
        yield Problem(in_software("charts"), message)


@check_plan("IMG003")
def all_images_are_known(case: Case, plan: Plan) -> Iterator[Problem]:
    """With mirrors, nothing runs from an image that is not known."""
    if not case.spec.software.registries:
        return
    for entry in unknown_images(plan, case.known):
        yield Problem(_REGISTRIES, f"{entry.used_by} runs images that are not known: {entry.what}")


@check("IMG005")
def images_are_certain_ones(case: Case) -> Iterator[Problem]:
    """Every image that the stack file names is a certain one; Multus' has a rule of its own."""
    software, fabric = case.spec.software, case.spec.fabric
    mpi = software.schedulers.mpi_operator
    stated = {
        ("verification", "image"): case.spec.verification.image if case.spec.verification.enabled else None,
        ("software", "hostImage"): software.host_image,
        ("software", "schedulers", "mpiOperator", "image"): mpi.image if mpi else None,
        ("fabric", "check", "image"): fabric.check.image if fabric.check else None,
        ("fabric", "readiness", "image"): fabric.readiness.image if fabric.readiness else None,
    }
    for place, image in stated.items():
        if image is not None and moves(image):
            yield Problem(dotted(place), f"{image} may be another image tomorrow, and on the next node")
