"""Checks of the group `spiderpool`: values of its chart that keep the fabric from pods."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.chart_values import ChartValues, charts_in_use, value_at
from gpu_fabric.rules.planned_nodes import labels_of_pools
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.places import dotted

_EVERY_NODE = {"kubernetes.io/os": "linux"}
_CNI_FOLDER = "/opt/cni/bin"


def _chart(case: Case) -> ChartValues | None:
    return charts_in_use(case).get("spiderpool")


@check("SPI025")
def agents_reach_the_nodes(case: Case) -> Iterator[Problem]:
    """Spiderpool's agents are selected for the GPU nodes."""
    chart = _chart(case)
    selector = None if chart is None else value_at(chart.written, "spiderpoolAgent", "nodeSelector")
    if chart is None or not isinstance(selector, dict):
        return
    for key, value in selector.items():
        if any({**_EVERY_NODE, **labels}.get(key) != value for labels in labels_of_pools(case)):
            yield Problem(
                chart.place("spiderpoolAgent", "nodeSelector", key),
                f"no pool says that all its nodes carry {key}={value}",
                "leave it out, or add the label to cluster.pools[].labels if the nodes have it",
            )


@check("SPI026")
def fabric_stays_on_its_rails(case: Case) -> Iterator[Problem]:
    """No range that pods reach by their first interface holds addresses of the fabric."""
    chart, supernet = _chart(case), case.spec.fabric.addressing.supernet
    if chart is None or supernet is None:
        return
    switch = case.spec.software.spiderpool.coordinator.hijack_cidr or ()
    written = value_at(chart.written, "coordinator", "hijackCIDR")
    stated: list[tuple[str, IPNetwork]] = [
        (dotted(("software", "spiderpool", "coordinator", "hijackCidr", place)), network)
        for place, network in enumerate(switch)
    ]
    for place, text in enumerate(written if isinstance(written, list) else ()):
        try:
            stated.append((chart.place("coordinator", "hijackCIDR", str(place)), ip_network(str(text), strict=False)))
        except ValueError:
            yield Problem(
                chart.place("coordinator", "hijackCIDR", str(place)),
                "this is not a valid network",
                "write CIDR notation, such as 169.254.0.0/16",
            )
    for place_text, network in stated:
        if network.version == supernet.version and network.overlaps(supernet):
            yield Problem(
                place_text,
                f"{network} holds addresses of the fabric's {supernet}, which then leave by the first interface",
                "write ranges outside the supernet",
            )


@check("SPI027")
def plugins_are_where_runtimes_look(case: Case) -> Iterator[Problem]:
    """Spiderpool's chart puts its CNI plug-in into the folder in which runtimes look by default."""
    chart = _chart(case)
    folder = None if chart is None else value_at(chart.values, "global", "cniBinHostPath")
    if chart is not None and folder not in (None, _CNI_FOLDER):
        yield Problem(
            chart.place("global", "cniBinHostPath"),
            f"container runtimes look into {_CNI_FOLDER} unless their own configuration says {folder}",
            "leave it out, or see that the nodes' runtime and all other plug-ins use the same folder",
        )
