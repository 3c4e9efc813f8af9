"""Distributions of Kubernetes: how their nodes are recognised, and where their files are."""

from __future__ import annotations

from typing import Final

from gpu_fabric.model import FrozenModel

USUAL_PLUGINS: Final = "/opt/cni/bin"
"""The folder in which runtimes look for CNI plug-ins, unless they are configured otherwise."""

USUAL_NETWORKS: Final = "/etc/cni/net.d"
"""The folder in which runtimes look for CNI's configurations, unless they are configured otherwise."""

USUAL_KUBELET_ROOT: Final = "/var/lib/kubelet"
"""The folder of the kubelet, in which device plug-ins register."""


class Distribution(FrozenModel):
    """A row of `distributions.yaml`; the comment at the top of the file explains the fields."""

    title: str
    kubelet: str = ""
    label: str = ""
    system: str = ""
    runtime: str = ""
    socket: str = ""
    plugins: str = USUAL_PLUGINS
    networks: str = USUAL_NETWORKS
    network_own: bool = False
    kubelet_root: str = USUAL_KUBELET_ROOT
    multus: bool = False
    source: str
