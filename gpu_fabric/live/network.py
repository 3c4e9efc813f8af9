"""The cluster's own network plug-in together with Multus."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import field
from gpu_fabric.live.examination import Examination
from gpu_fabric.plan.managers import MANAGERS
from gpu_fabric.spec.places import dotted

_CILIUM = "/api/v1/namespaces/kube-system/configmaps/cilium-config"


def network_differences(case: Examination) -> Iterator[Finding]:
    """Whether the cluster's network lets Multus be the first."""
    stack, cluster = case.stack, case.cluster
    if not stack.networks or stack.plan.choices.provider == "doks":
        return
    value = field(cluster.get(_CILIUM), "data", "cni-exclusive")
    if value == "true":
        yield finding(
            "PRE110",
            dotted(MANAGERS[stack.plan.choices.manager].multus_switch or ("software", "multus")),
            seen=Seen(object="ConfigMap kube-system/cilium-config", field="data[cni-exclusive]", value=value),
        )
