"""The cluster's own network plug-in beside Multus."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.live.cluster import Cluster, field
from gpu_fabric.live.difference import Difference, Seen, difference
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan.managers import MANAGERS

_CILIUM = "/api/v1/namespaces/kube-system/configmaps/cilium-config"


def network_differences(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    """Whether the cluster's network lets Multus be the first."""
    if not stack.networks or stack.plan.choices.provider == "doks":
        return
    value = field(cluster.get(_CILIUM), "data", "cni-exclusive")
    if value == "true":
        yield difference(
            "PRE110",
            Seen(object="ConfigMap kube-system/cilium-config", field="data[cni-exclusive]", value=value),
            MANAGERS[stack.plan.choices.manager].multus_switch or ("software", "multus"),
            "Cilium takes every other CNI configuration off the nodes, Multus' among them",
            "set cni.exclusive=false in Cilium's chart, and restart its agents",
        )
