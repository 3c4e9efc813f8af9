"""What the controller looks at: one watched collection each, no larger than it needs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .amd_operands import AMD_GPU_OPERATOR, AMD_NETWORK_OPERATOR
from .definition_jobs import APPLIES_LABEL
from .gpu_policy import GPU_OPERATOR, OPERANDS
from .host_preparation import PREPARATIONS
from .operands import CONFIG_DAEMON, NETWORK_OPERATOR, OPERAND_LABEL, OPERATOR_PLUGIN, PLAYED_LABEL
from .virtual_functions import COMPONENT, COMPONENT_LABEL
from .watching import Definitions, Watched, WatchedDefinitions

_OPERATORS = (AMD_GPU_OPERATOR, AMD_NETWORK_OPERATOR, GPU_OPERATOR, NETWORK_OPERATOR)
_OPERATOR_NAMES = f"app.kubernetes.io/name in ({','.join(_OPERATORS)})"
_SRIOV_PODS = f"app in ({CONFIG_DAEMON},{OPERATOR_PLUGIN})"
_SRIOV, _NIC_CONFIGURATION = "sriovnetwork.openshift.io/v1", "configuration.net.nvidia.com/v1alpha1"
_DRA_SRIOV = "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1"
_PREPARATION_PODS = f"{COMPONENT_LABEL} in ({','.join((COMPONENT, *PREPARATIONS))})"


class Collections:
    """Watched collections of one cluster, those of custom resources only while their definitions are there."""

    def __init__(self, kubeconfig: Path, changed: threading.Event) -> None:
        self._kubeconfig = kubeconfig
        self._changed = changed
        self._definitions = Definitions()
        self.definitions = WatchedDefinitions(kubeconfig, changed, self._definitions)
        self._all: list[Watched] = [self.definitions]

    def start(self) -> None:
        """Begin to watch."""
        for collection in self._all:
            collection.start()

    def known(self) -> bool:
        """Whether every collection has been read once."""
        return all(collection.listed.is_set() for collection in self._all)

    def _plain(self, path: str, selector: str | None = None) -> Watched:
        return self._add(Watched(self._kubeconfig, _selecting(path, selector), self._changed))

    def _custom(self, group: str, plural: str) -> Watched:
        path, definition = f"/apis/{group}/{plural}", f"{plural}.{group.partition('/')[0]}"
        return self._add(Watched(self._kubeconfig, path, self._changed, self._definitions, definition))

    def _add(self, collection: Watched) -> Watched:
        self._all.append(collection)
        return collection


class Views(Collections):
    """What the controller looks at."""

    def __init__(self, kubeconfig: Path, changed: threading.Event) -> None:
        super().__init__(kubeconfig, changed)
        self.nodes = self._plain("/api/v1/nodes")
        self.operand_pods = self._plain("/api/v1/pods", OPERAND_LABEL)
        self.sriov_pods = self._plain("/api/v1/pods", _SRIOV_PODS)
        self.setup_pods = self._plain("/api/v1/pods", _PREPARATION_PODS)
        self.definition_pods = self._plain("/api/v1/pods", APPLIES_LABEL)
        self.operators = self._plain("/apis/apps/v1/deployments", _OPERATOR_NAMES)
        self.daemon_sets = self._plain("/apis/apps/v1/daemonsets", PLAYED_LABEL)
        self.gpu_operands = self._plain("/apis/apps/v1/daemonsets", OPERANDS)
        self.deployments = self._plain("/apis/apps/v1/deployments", PLAYED_LABEL)
        # those of device plug-ins, and tables of addresses, which have no label in common
        self.config_maps = self._plain("/api/v1/configmaps")

        self.gpu_policies = self._custom("nvidia.com/v1", "clusterpolicies")
        self.cluster_policies = self._custom("mellanox.com/v1alpha1", "nicclusterpolicies")
        self.node_policies = self._custom("mellanox.com/v1alpha1", "nicnodepolicies")
        self.network_configs = self._custom("amd.com/v1alpha1", "networkconfigs")
        self.device_configs = self._custom("amd.com/v1alpha1", "deviceconfigs")
        self.ip_pools = self._custom("nv-ipam.nvidia.com/v1alpha1", "ippools")
        self.cidr_pools = self._custom("nv-ipam.nvidia.com/v1alpha1", "cidrpools")
        self.node_states = self._custom(_SRIOV, "sriovnetworknodestates")
        self.rail_pools = self._custom("spectrumx.nvidia.com/v1alpha2", "spectrumxrailpoolconfigs")
        self.nic_configurations = self._custom(_NIC_CONFIGURATION, "nicconfigurationtemplates")
        self.nic_names = self._custom(_NIC_CONFIGURATION, "nicinterfacenametemplates")
        # What is made of rail pools, and what others made.
        self.of_rail_pools = {
            "DaemonSet": self.daemon_sets,
            "OVSNetwork": self._custom(_SRIOV, "ovsnetworks"),
            "SriovNetworkNodePolicy": self._custom(_SRIOV, "sriovnetworknodepolicies"),
            "SriovNetworkPoolConfig": self._custom(_SRIOV, "sriovnetworkpoolconfigs"),
        }
        self.slices = self._plain("/apis/resource.k8s.io/v1/resourceslices", PLAYED_LABEL)
        self.resource_policies = self._custom(_DRA_SRIOV, "sriovresourcepolicies")
        self.device_attributes = self._custom(_DRA_SRIOV, "deviceattributes")
        self.definitions_of_networks = self._custom("k8s.cni.cncf.io/v1", "network-attachment-definitions")

    def of_pod(self, pod: Mapping[str, Any]) -> Watched:
        """The collection that a pod is in."""
        labels = pod["metadata"]["labels"]
        if OPERAND_LABEL in labels:
            return self.operand_pods
        return self.setup_pods if COMPONENT_LABEL in labels else self.sriov_pods


def _selecting(path: str, selector: str | None) -> str:
    return path if selector is None else f"{path}?labelSelector={quote(selector, safe='')}"
