"""The releases of charts: where a chart comes from, how its values are put together, and the images that it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from gpu_fabric.base.registries import pulled_chart
from gpu_fabric.base.simulators import BUNDLED
from gpu_fabric.catalog.chart import ChartImage, ChartVersion, value_at
from gpu_fabric.catalog.release import Chart, ChartName
from gpu_fabric.k8s.scheduling import Toleration
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.other_pools import gpu_pools_beside
from gpu_fabric.plan.proxy import proxy_variables
from gpu_fabric.plan.records import ChartReference, HelmRelease
from gpu_fabric.plan.startup_taint import startup_tolerations

Values = Mapping[str, JsonValue]

# Tolerated by default by the operands of NVIDIA's operators, and by Node Feature Discovery's worker.
_GPU_TOLERATION = Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule")
# What Node Feature Discovery's worker tolerates by default besides the GPU taint; a list of ours replaces all of it.
_CONTROL_PLANE = Toleration(key="node-role.kubernetes.io/control-plane", operator="Exists", effect="NoSchedule")


def tolerations(case: Case) -> tuple[Toleration, ...]:
    """What every job must tolerate to reach the GPU nodes; the pools' taints, each once."""
    taints = {
        (taint.key, taint.effect)
        for pool, shape in zip(case.spec.cluster.pools, case.shapes, strict=True)
        for taint in pool.taints_with(shape.gpus.vendor)
    }
    return tuple(Toleration(key=key, operator="Exists", effect=effect) for key, effect in sorted(taints))


def node_tolerations(case: Case) -> tuple[Toleration, ...]:
    """What the software on GPU nodes must tolerate: what jobs do, and the taint of nodes that are not proven."""
    return tuple(dict.fromkeys((*tolerations(case), *startup_tolerations(case))))


def extra_tolerations(case: Case, *, of_fabric: bool = False) -> JsonValue | None:
    """Tolerations of operands whose own default does not cover every taint of the pools; None where it does.

    GPUs outside the fabric need drivers, device plug-ins and labels as well, and no operand `of_fabric`.
    """
    pools = () if of_fabric else gpu_pools_beside(case)
    needed = tuple(dict.fromkeys((*node_tolerations(case), *(entry for pool in pools for entry in pool.tolerations))))
    if set(needed) <= {_GPU_TOLERATION}:
        return None
    return [entry.to_dict() for entry in dict.fromkeys((_GPU_TOLERATION, *needed))]


def discovery_values(case: Case) -> dict[str, JsonValue]:
    """Values of Node Feature Discovery, the same in both charts.

    Where its default does not tolerate the pools, the worker stays off them, and every operand waits for labels that
    never come.
    """
    beyond = extra_tolerations(case)
    if not isinstance(beyond, list):
        return {}
    return {"node-feature-discovery": {"worker": {"tolerations": [_CONTROL_PLANE.to_dict(), *beyond]}}}


def release(case: Case, name: ChartName, computed: dict[str, JsonValue], override: dict[str, JsonValue]) -> HelmRelease:
    """A release of a chart of the line: its own values, those of the vendor's machines, the plan's, the user's."""
    chart = case.line.charts[name]
    of_cloud = {} if case.cloud is None else case.cloud.charts.get(name, {})
    hosts = merged(chart.host_values.get(case.shape.provider, {}), of_cloud)
    decided = merged(chart.values, hosts, computed, override)
    access = _access_values(case, case.known.chart_versions[name][chart.version], decided)
    return HelmRelease(
        name=name,
        namespace=chart_namespace(case, name),
        chart=_reference(case, name, chart),
        values=apply_mirrors(case, name, chart.version, merged(chart.values, hosts, computed, access, override)),
        timeout=chart.timeout,
    )


def chart_namespace(case: Case, name: ChartName) -> str:
    """The namespace of a chart: the line's, or for the Network Operator the stack file's.

    For an operator that the cluster has, and the line does not: that of the newest line with the chart.
    """
    stated = case.spec.software.network_operator.namespace if name == "network-operator" else None
    lines = (case.line, *case.known.releases.values())
    return stated or next(line.charts[name].namespace for line in lines if name in line.charts)


def _access_values(case: Case, known: ChartVersion, values: Values) -> dict[str, JsonValue]:
    """What the chart's pods get to reach registries and the internet: names of pull secrets, and the proxy's variables.

    `values` decide which of its parts run. Where the stack file writes one of these lists itself, that one holds.
    """
    places: dict[str, JsonValue] = {}
    if names := [entry.name for entry in case.spec.software.image_pull_secrets]:
        keys = known.pull_secrets
        places |= {place: list[JsonValue](names) for place in keys.names}
        places |= {place: [{"name": name} for name in names] for place in keys.objects}
        places |= dict.fromkeys(keys.single, names[0])
    if (variables := proxy_variables(case)) is not None:
        environment: list[JsonValue] = [entry.to_dict() for entry in variables]
        places |= {row.at: environment for row in known.proxy if row.runs(values)}
    return merged(*(_nested(place, value) for place, value in places.items()))


def _reference(case: Case, name: ChartName, chart: Chart) -> ChartReference:
    source = case.spec.software.charts
    published = chart.chart or name
    if source == "bundled":
        path = f"{BUNDLED}/{case.line.name}/{name}"
        return ChartReference(name=published, version=chart.version, path=path)
    repository = pulled_chart(case.spec.software.registries, chart.repository) if source == "upstream" else source
    return ChartReference(name=published, version=chart.version, repository=repository)


def merged(*layers: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The layers merged deeply, later ones winning; a list replaces a list, as in Helm."""
    result: dict[str, JsonValue] = {}
    for layer in layers:
        for key, value in layer.items():
            present = result.get(key)
            result[key] = merged(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return result


class RunImage(NamedTuple):
    """An image that a chart runs: its reference, and the catalog's row."""

    reference: str
    row: ChartImage


def run_images(known: ChartVersion, values: Values) -> Iterator[RunImage]:
    """The images that a chart runs with its values, as its pods name them."""
    for row in known.images:
        if not row.runs(values):
            continue
        parts = _parts(known, row, values)
        fixed = row.digest_key and value_at(values, row.digest_key)
        if isinstance(fixed, str) and fixed:
            parts = (*parts[:-1], fixed)
        tag = parts[-1] if len(parts) > 1 else ""
        path = "/".join(parts[:-1] if len(parts) > 1 else parts)
        reference = f"{path}{'@' if tag.startswith('sha256:') else ':'}{tag}" if tag else path
        yield RunImage(reference, row)


def apply_mirrors(case: Case, name: ChartName, version: str, values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The values with every image that they make the chart run coming from the stack file's mirrors."""
    if not case.spec.software.registries:
        return values
    known, result = case.known.chart_versions[name][version], values
    for row in known.images:
        # The value that stands for all registries is one that the stack file itself named.
        if not row.runs(values) or (known.override and value_at(values, known.override)):
            continue
        place, key = _parts(known, row, values)[0], known.keys_of(row)[0]
        if place and (mirror := case.pulled(place)) != place:
            result = merged(result, _nested(key, mirror))
    return result


def _parts(known: ChartVersion, row: ChartImage, values: Values) -> tuple[str, ...]:
    found = (value_at(values, key) for key in known.keys_of(row))
    parts = tuple(
        value if isinstance(value, str) and value else default for value, default in zip(found, row.image, strict=True)
    )
    override = known.override and value_at(values, known.override)
    return (override, *parts[1:]) if isinstance(override, str) and override else parts


def _nested(path: str, value: JsonValue) -> dict[str, JsonValue]:
    first, _, rest = path.partition(".")
    return {first: _nested(rest, value) if rest else value}
