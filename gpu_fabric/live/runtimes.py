"""The container runtime of the pools' nodes: what the GPU Operator, CNI plug-ins and DRA drivers expect of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.distribution import USUAL_KUBELET_ROOT, USUAL_NETWORKS, USUAL_PLUGINS, Distribution
from gpu_fabric.catalog.version import Version
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Json, field, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pools import Pool, pools_of
from gpu_fabric.live.several import of_some_nodes, some
from gpu_fabric.live.stack import Stack
from gpu_fabric.spec.places import dotted

_GPUS = ("software", "gpuOperator", "values")
# What a chart's values say of CNI's folders: that of plug-ins, and that of configurations.
_FOLDER_KEYS = {
    "network-operator": (("operator", "cniBinDirectory"), ("operator", "cniNetworkDirectory")),
    "spiderpool": (("global", "cniBinHostPath"), ("global", "cniConfHostPath")),
}
# What charts' values say of the kubelet's folder; those without such a value register in the usual one.
_ROOT_KEYS = {
    "network-operator": None,
    "spiderpool": None,
    "gpu-operator": ("hostPaths", "kubeletRootDir"),
    "dranet": ("kubeletRootDir",),
}
_RUNTIME = re.compile(r"(containerd|cri-o|docker)://v?([0-9]+(?:\.[0-9]+)*)")
# The chart uses CDI by default since this version, and has the NRI plug-in since the second.
_CDI_BY_DEFAULT, _WITH_NRI = Version.parse("v25.10.0"), Version.parse("v26.3.0")
# The first containerd with CDI, and the oldest for which NVIDIA names the NRI plug-in.
_CDI, _NRI = Version.parse("1.7.0"), Version.parse("1.7.30")
# The first containerd with NRI (kubernetes/kops pull request 15994), and the first that has it on by default (its
# documentation of NRI, 1.7 and 2.2).
_NRI_BEGAN, _NRI_ON = Version.parse("1.7.0"), Version.parse("2.0.0")
# Talos switches it off before this version (siderolabs/talos pull request 13510, which is newer than 1.13.0).
_TALOS, _TALOS_NRI_ON = re.compile(r"Talos \(v([0-9.]+)"), Version.parse("1.14.0")


def distribution_of(node: Json) -> Distribution | None:
    """The distribution that a node shows every mark of; None where it shows those of none."""
    labels = field(node, "metadata", "labels") or {}
    return next(
        (
            row
            for row in catalog().distributions.values()
            if row.kubelet in _info(node, "kubeletVersion")
            and row.runtime in _info(node, "containerRuntimeVersion")
            and _info(node, "osImage").startswith(row.system)
            and (not row.label or row.label in labels)
        ),
        None,
    )


def runtime_differences(case: Examination) -> Iterator[Finding]:
    """What differs between the nodes' runtimes and what the stack's charts expect."""
    stack, cluster = case.stack, case.cluster
    for pool in pools_of(stack, cluster):
        rows = [distribution_of(node) for node in pool.nodes] if pool.certain else []
        for row in catalog().distributions.values():
            if own := [node for node, its in zip(pool.nodes, rows, strict=True) if its is row]:
                yield from _socket(stack, pool, row, own)
                yield from _folders(stack, pool, row, own)
                yield from _kubelet_root(stack, pool, row, own)
        if pool.certain:
            yield from _age(stack, pool)
    for fabric in stack.by_fabric:
        if fabric.is_answered_by_claims or ("dranet" in stack.releases and fabric.plan.workload.claims):
            for pool in pools_of(fabric, cluster):
                yield from _without_nri(fabric, pool) if pool.certain else ()


def _socket(stack: Stack, pool: Pool, row: Distribution, own: list[Json]) -> Iterator[Finding]:
    """The GPU Operator's toolkit, which writes the runtime's configuration and restarts it, finds the runtime."""
    written = {entry.get("name") for entry in stack.value("gpu-operator", "toolkit", "env") or ()}
    if (
        not row.socket
        or "gpu-operator" not in stack.releases
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
    chart = next((name for name in _FOLDER_KEYS if name in stack.releases), None)
    if chart is None or not stack.networks:
        return
    stated = tuple(stack.value(chart, *keys) for keys in _FOLDER_KEYS[chart])
    usual, theirs = (USUAL_PLUGINS, USUAL_NETWORKS), (row.plugins, row.networks)
    written = tuple(value or default for value, default in zip(stated, usual, strict=True))
    # Another's Multus has its configuration where its nodes look for it.
    compared = 1 if row.multus or "multus" in stack.present else 2
    is_right = written[:compared] == theirs[:compared]
    may_be_usual = row.network_own and None not in stated[:compared] and written[:compared] == usual[:compared]
    if is_right or may_be_usual:
        return
    for_own = "with its own network plug-in " if row.network_own else ""
    looks = f"looks for CNI's plug-ins in {row.plugins}"
    if compared > 1:
        looks += f" and for networks in {row.networks}"
    key = f"cluster.cniFolders: {{plugins: {row.plugins}, networks: {row.networks}}}"
    unless = f"; where your network plug-in uses {' and '.join(usual)}, write these there" if row.network_own else ""
    yield finding(
        "PRE111",
        dotted(("cluster", "cniFolders") if chart == "network-operator" else ("fabric", "manager")),
        f"pool {pool.spec.name}: {_names(own)} run {row.title}, which {for_own}{looks}; {chart} writes into "
        f"{' and '.join(written[:compared])}",
        f"write {key}, for everything that the stack installs on nodes{unless}"
        if chart == "network-operator"
        else "take fabric.manager: network-operator, since parts of these paths are fixed in Spiderpool's chart; no "
        f"change is needed where your network plug-in uses {' and '.join(usual)}",
        seen=_seen(own[0], "osImage" if row.system else "kubeletVersion"),
    )


def _kubelet_root(stack: Stack, pool: Pool, row: Distribution, own: list[Json]) -> Iterator[Finding]:
    """Device plug-ins register with the kubelet in its own folder."""
    plugins = [
        name
        for name, keys in _ROOT_KEYS.items()
        if name in stack.releases and not (keys and stack.value(name, *keys) == row.kubelet_root)
    ]
    if row.kubelet_root != USUAL_KUBELET_ROOT and plugins:
        yield finding(
            "PRE112",
            dotted(("cluster", "pools")),
            f"pool {pool.spec.name}: {_names(own)} run {row.title}, whose kubelet's folder is {row.kubelet_root}; "
            f"the plug-ins of {' and '.join(plugins)} register in {USUAL_KUBELET_ROOT}, and pods get neither GPUs nor "
            "rails",
            f"make {USUAL_KUBELET_ROOT} a link to {row.kubelet_root} on every node before it joins, or start its "
            f"kubelet with {USUAL_KUBELET_ROOT}",
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


def _without_nri(fabric: Stack, pool: Pool) -> Iterator[Finding]:
    """NICs of claims are moved in hooks of NRI, which a runtime lacks, or has off by default."""
    claims, by_name = fabric.spec.fabric.claims, fabric.is_answered_by_claims
    old = [node for node in pool.nodes if _is_unfit(node, _NRI_BEGAN, ())]
    # Names of resources that claims answer have no key for it; DRA018 says to look on a node.
    is_stated = by_name or (claims is not None and claims.nri)
    off = [] if is_stated else [node for node in pool.nodes if node not in old and _off_by(node)]
    switched_on = (
        "see `containerd config dump` on a node, switch the plug-in io.containerd.nri.v1.nri on while no job runs "
        "there, and write claims.nri: true"
    )
    for nodes, says, remedy in (
        (old, "has no NRI", f"upgrade the nodes' containerd: {_NRI_ON} and newer have NRI on by default"),
        (off, "has NRI off by default, and nothing says that it is on", switched_on),
    ):
        if nodes:
            key = _off_by(nodes[0])
            yield finding(
                "PRE149",
                dotted(fabric.in_fabric("devices") if by_name else fabric.in_fabric("claims", "nri")),
                f"pool {pool.spec.name}: {_names(nodes)} run {_info(nodes[0], key)}, which {says}; pods with claims "
                "start without their NICs",
                remedy,
                seen=_seen(nodes[0], key),
            )


def _off_by(node: Json) -> str:
    """What of a node says that its containerd has NRI off by default, or none at all; empty for others."""
    if _is_unfit(node, _NRI_ON, ()):
        return "containerRuntimeVersion"
    talos = _TALOS.match(_info(node, "osImage"))
    return "osImage" if talos is not None and Version.parse(talos[1]) < _TALOS_NRI_ON else ""


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
