"""The cluster's version of Kubernetes, and its nodes'."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Cluster, field, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.several import some
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.places import dotted

_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.([0-9]+))?")
_KUBERNETES = ("cluster", "kubernetes")
# Kubernetes' version skew policy: a kubelet may be three minor versions older than the API server, and never newer.
_OLDER = 3


def version_differences(case: Examination) -> Iterator[Finding]:
    """Whether the release line supports the server's version, and the server those of the nodes."""
    stack, cluster = case.stack, case.cluster
    text = str(field(cluster.get("/version"), "gitVersion") or "")
    found = _VERSION.match(text)
    if found is None:
        return
    seen = Seen(object="/version", field="gitVersion", value=text)
    line = catalog().releases[stack.plan.release_line]
    for need in line.unmet(tuple(stack.releases), {"kubernetes": found[0].removeprefix("v")}):
        message = (
            f"{need.component} of release line {line.name} asks for Kubernetes {need.versions}, and the cluster has "
            f"{text}: {need.why.rstrip('.')}"
        )
        remedy = f"upgrade the cluster to a version within {need.versions}, or choose another release line"
        if need.severity == "error":
            yield finding("PRE001", dotted(("software", "releaseLine")), message, remedy, seen=seen)
        elif stack.spec.software.charts != "bundled":
            # No vendor supports stand-in charts on any version.
            yield finding("PRE002", dotted(("software", "releaseLine")), message, remedy, seen=seen)
    spec = stack.spec.cluster
    stated = spec.kubernetes if isinstance(spec, ExistingClusterSpec) else None
    if stated is not None and not f"{found[0].removeprefix('v')}.".startswith(f"{stated}."):
        yield finding(
            "PRE003",
            dotted(_KUBERNETES),
            f"the stack file says Kubernetes {stated}, and the cluster has {text}",
            f'write "{found[1]}.{found[2]}"',
            seen=seen,
        )
    yield from _kubelets(cluster, int(found[2]), text)


def _kubelets(cluster: Cluster, server: int, text: str) -> Iterator[Finding]:
    odd = {}
    for node in cluster.nodes:
        own = str(field(node, "status", "nodeInfo", "kubeletVersion") or "")
        parts = _VERSION.match(own)
        if parts is not None and not server - _OLDER <= int(parts[2]) <= server:
            odd[name_of(node)] = own
    if odd:
        first = min(odd)
        yield finding(
            "PRE004",
            dotted(("cluster", "pools")),
            f"the kubelet of {some(sorted(odd))} is not one that Kubernetes allows with the server's {text}",
            f"upgrade the nodes to at most {_OLDER} minor versions below the server's",
            seen=Seen(object=f"Node {first}", field="status.nodeInfo.kubeletVersion", value=odd[first]),
        )
