"""The container runtime of the pools' nodes: what the GPU Operator and CNI plug-ins expect of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from gpu_fabric.base.tables import read_table
from gpu_fabric.catalog.version import Version
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Json, field, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pools import Pool, pools_of
from gpu_fabric.live.several import of_some_nodes, some
from gpu_fabric.live.stack import Stack
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.places import dotted

_GPUS = ("software", "gpuOperator", "values")
_RUNTIME = re.compile(r"(containerd|cri-o|docker)://v?([0-9]+(?:\.[0-9]+)*)")
# The chart uses CDI by default since this version, and has the NRI plug-in since the second.
_CDI_BY_DEFAULT, _WITH_NRI = Version.parse("v25.10.0"), Version.parse("v26.3.0")
# The first containerd with CDI, and the oldest for which NVIDIA names the NRI plug-in.
_CDI, _NRI = Version.parse("1.7.0"), Version.parse("1.7.30")


class Distribution(FrozenModel):
    """A row of `distributions.yaml`."""

    title: str
    kubelet: str
    runtime: str
    socket: str
    plugins: str = ""
    networks: str = ""

    def is_of(self, node: Json) -> bool:
        """Whether a node is of this distribution, with its own containerd."""
        return self.kubelet in _info(node, "kubeletVersion") and self.runtime in _info(node, "containerRuntimeVersion")


@cache
def distributions() -> tuple[Distribution, ...]:
    """The rows of `distributions.yaml`."""
    table = read_table(Path(__file__).with_name("distributions.yaml"))
    return tuple(Distribution.model_validate(row) for row in table.values())


def runtime_differences(case: Examination) -> Iterator[Finding]:
    """What differs between the nodes' runtimes and what the stack's charts expect."""
    stack, cluster = case.stack, case.cluster
    for pool in pools_of(stack, cluster):
        for row in distributions() if pool.certain else ():
            if own := [node for node in pool.nodes if row.is_of(node)]:
                yield from _socket(stack, pool, row, own)
                yield from _folders(stack, pool, row, own)
        if pool.certain:
            yield from _age(stack, pool)


def _socket(stack: Stack, pool: Pool, row: Distribution, own: list[Json]) -> Iterator[Finding]:
    """The GPU Operator's toolkit, which writes the runtime's configuration and restarts it, finds the runtime."""
    written = {entry.get("name") for entry in stack.value("gpu-operator", "toolkit", "env") or ()}
    if (
        "gpu-operator" not in stack.releases
        or stack.value("gpu-operator", "toolkit", "enabled") is False
        or stack.value("gpu-operator", "cdi", "nriPluginEnabled") is True
        or "CONTAINERD_SOCKET" in written
    ):
        return
    instead = f"CONTAINERD_SOCKET and CONTAINERD_CONFIG of toolkit.env as in the documentation of {row.title}"
    if _version(stack).has_reached(_WITH_NRI):
        instead += ", or cdi.nriPluginEnabled: true, which needs neither"
    yield of_some_nodes(
        finding(
            "PRE064",
            dotted(_GPUS),
            f"pool {pool.spec.name}: {_names(own)} run the containerd of {row.title}, whose socket is {row.socket}; "
            "the GPU Operator's toolkit looks in /run/containerd, fails, and no GPU is offered",
            f"write in software.gpuOperator.values {instead}; or write software.gpuOperator.toolkit: false where the "
            "node image has the toolkit",
            seen=_seen(own[0], "containerRuntimeVersion"),
        ),
        len(own),
        len(pool.nodes),
    )


def _folders(stack: Stack, pool: Pool, row: Distribution, own: list[Json]) -> Iterator[Finding]:
    """Multus and CNI plug-ins are written into the folders in which the runtime looks."""
    chart = next((name for name in ("network-operator", "spiderpool") if name in stack.releases), None)
    if chart is None or not row.plugins or not stack.networks:
        return
    folders = {"cniBinDirectory": row.plugins, "cniNetworkDirectory": row.networks}
    unlike = [key for key in folders if chart != "network-operator" or stack.value(chart, "operator", key) is None]
    if unlike:
        wanted = " and ".join(f"operator.{key}: {folders[key]}" for key in unlike)
        yield finding(
            "PRE111",
            dotted(("software", "networkOperator", "values") if chart == "network-operator" else ("fabric", "manager")),
            f"pool {pool.spec.name}: {_names(own)} run {row.title}, which with its own network plug-in looks for CNI's "
            f"plug-ins in {row.plugins} and for networks in {row.networks}; {chart} writes elsewhere",
            f"write {wanted} in software.networkOperator.values, and the same for other operators that write plug-ins; "
            "no change is needed where your network plug-in uses /opt/cni/bin and /etc/cni/net.d"
            if chart == "network-operator"
            else "take fabric.manager: network-operator, since parts of these paths are fixed in Spiderpool's chart; "
            "no change is needed where your network plug-in uses /opt/cni/bin and /etc/cni/net.d",
            seen=_seen(own[0], "kubeletVersion"),
        )


def _age(stack: Stack, pool: Pool) -> Iterator[Finding]:
    """Runtimes that cannot do what the GPU Operator uses of them."""
    if "gpu-operator" not in stack.releases:
        return
    stated = stack.value("gpu-operator", "cdi", "enabled")
    by_default = _version(stack).has_reached(_CDI_BY_DEFAULT)
    by_nri = stack.value("gpu-operator", "cdi", "nriPluginEnabled")
    uses: tuple[tuple[Any, Version, tuple[str, ...], str, str], ...] = (
        (by_default if stated is None else stated, _CDI, (), "the Container Device Interface", "cdi: false"),
        (by_nri, _NRI, ("cri-o",), "its NRI plug-in", "values.cdi.nriPluginEnabled: false"),
    )
    for used, least, never, what, instead in uses:
        old = [node for node in pool.nodes if used is True and _is_unfit(node, least, never)]
        if old:
            yield finding(
                "PRE065",
                dotted(_GPUS),
                f"pool {pool.spec.name}: {_names(old)} run {_info(old[0], 'containerRuntimeVersion')}, and the GPU "
                f"Operator uses {what}, for which it must be containerd {least} or newer",
                f"upgrade the nodes' runtime, or write software.gpuOperator.{instead}",
                seen=_seen(old[0], "containerRuntimeVersion"),
            )


def _version(stack: Stack) -> Version:
    """The version of the GPU Operator's chart."""
    return Version.parse(stack.releases["gpu-operator"].chart.version)


def _is_unfit(node: Json, least: Version, never: tuple[str, ...]) -> bool:
    """Whether a node's runtime is an older containerd, or another that cannot do it; others are not judged."""
    found = _RUNTIME.match(_info(node, "containerRuntimeVersion"))
    if found is None:
        return False
    return found[1] in never or (found[1] == "containerd" and Version.parse(found[2]) < least)


def _info(node: Json, key: str) -> str:
    return str(field(node, "status", "nodeInfo", key) or "")


def _seen(node: Json, key: str) -> Seen:
    return Seen(object=f"Node {name_of(node)}", field=f"status.nodeInfo.{key}", value=_info(node, key))


def _names(nodes: list[Json]) -> str:
    return some(sorted(map(name_of, nodes)))
