"""Writes the stand-in charts' CustomResourceDefinitions from the typed models: `python -m sandbox.crds`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.k8s.base import KubernetesObject
from gpu_fabric.k8s.cni import NetworkAttachmentDefinition
from gpu_fabric.k8s.kueue import ClusterQueue, LocalQueue, ResourceFlavor, Topology
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.k8s.nv_ipam import CIDRPool, IPPool
from gpu_fabric.k8s.spiderpool import SpiderCoordinator, SpiderIPPool, SpiderMultusConfig, SpiderReservedIP
from gpu_fabric.k8s.sriov_operator import (
    SriovIBNetwork,
    SriovNetwork,
    SriovNetworkNodePolicy,
    SriovNetworkPoolConfig,
)
from sandbox.chart_kinds import (
    JobSet,
    LeaderWorkerSet,
    NodeFeatureRule,
    NodeSlicePool,
    OverlappingRangeIPReservation,
    OVSNetwork,
    SpiderEndpoint,
    SpiderSubnet,
    SriovOperatorConfig,
    WhereaboutsIPPool,
)
from sandbox.definitions import custom_resource_definition
from sandbox.operator_kinds import ClusterPolicy, SriovNetworkNodeState

CHARTS = Path(__file__).parent / "charts"

_SRIOV_OPERATOR: tuple[type[KubernetesObject], ...] = (
    SriovNetworkNodePolicy,
    SriovNetworkPoolConfig,
    SriovNetwork,
    SriovIBNetwork,
    OVSNetwork,
    SriovNetworkNodeState,
    SriovOperatorConfig,
)

# The kinds of each chart, and those that its operator writes with a section of its policy (`_SECTIONS`).
_KINDS: dict[str, tuple[type[KubernetesObject], ...]] = {
    "26.4/gpu-operator": (ClusterPolicy, NodeFeatureRule),
    "26.4/network-operator": (NicClusterPolicy, NicNodePolicy, NetworkAttachmentDefinition, IPPool, CIDRPool),
    "26.4/network-operator/charts/sriov-network-operator": _SRIOV_OPERATOR,
    "26.4/spiderpool": (
        SpiderIPPool,
        SpiderSubnet,
        SpiderReservedIP,
        SpiderCoordinator,
        SpiderEndpoint,
        SpiderMultusConfig,
        *_SRIOV_OPERATOR,
    ),
    "26.4/whereabouts": (WhereaboutsIPPool, OverlappingRangeIPReservation, NodeSlicePool),
    "26.4/volcano": (),
    "26.4/kueue": (Topology, ResourceFlavor, ClusterQueue, LocalQueue),
    "26.4/jobset": (JobSet,),
    "26.4/lws": (LeaderWorkerSet,),
    "23.10/gpu-operator": (ClusterPolicy,),
    "23.10/network-operator": (NicClusterPolicy, IPPool),
}

# Kinds whose content is left open, by API version: their controller's own definition replaces it (sandbox/controllers).
_OPEN: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {
    "26.4/kueue": {
        ClusterQueue.api_version: {
            "Namespaced": ("Workload",),
            "Cluster": (
                "AdmissionCheck",
                "Cohort",
                "MultiKueueCluster",
                "MultiKueueConfig",
                "ProvisioningRequestConfig",
                "WorkloadPriorityClass",
            ),
        },
    },
    "26.4/volcano": {
        "batch.volcano.sh/v1alpha1": {"Namespaced": ("CronJob", "Job")},
        "bus.volcano.sh/v1alpha1": {"Namespaced": ("Command",)},
        "config.volcano.sh/v1alpha1": {"Namespaced": ("ColocationConfiguration",)},
        "flow.volcano.sh/v1alpha1": {"Namespaced": ("JobFlow", "JobTemplate")},
        "nodeinfo.volcano.sh/v1alpha1": {"Cluster": ("Numatopology",)},
        "scheduling.volcano.sh/v1beta1": {"Namespaced": ("PodGroup",), "Cluster": ("Queue",)},
        "shard.volcano.sh/v1alpha1": {"Cluster": ("NodeShard",)},
        "topology.volcano.sh/v1alpha1": {"Cluster": ("HyperNode",)},
    },
}

# Kinds with several versions, between which the controller's webhook converts.
_CONVERTED = ("ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "Workload")
_CONVERSION = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "name": '{{ include "name" . }}-webhook-service',
                "namespace": "{{ .Release.Namespace }}",
                "path": "/convert",
            }
        },
    },
}

# A controller writes the status of such an object together with the rest of it.
_WITHOUT_STATUS_SUBRESOURCE = (SpiderEndpoint,)

_PLURALS = (("s", "ses"), ("y", "ies"), ("", "s"))

# Where a chart has its definitions; those among the templates go with the release.
_FOLDERS = dict.fromkeys(("26.4/kueue", "26.4/volcano"), "templates/crd")

# Kinds that come and go with a section of the Network Operator's policy.
_SECTIONS: dict[type[KubernetesObject], str] = {IPPool: "nvIpam", CIDRPool: "nvIpam"}

_HEADER = "# Generated from {sources} by `python -m sandbox.crds`; change {what}.\n"


def crd_files() -> Iterator[tuple[Path, str]]:
    """Every CRD file of the stand-in charts with the text that belongs in it; some are linked elsewhere."""
    for chart, models in _KINDS.items():
        changes = _changes(chart)
        for model in models:
            definition = custom_resource_definition(model)
            version = definition["spec"]["versions"][0]
            if model in _WITHOUT_STATUS_SUBRESOURCE:
                del version["subresources"]
            sources = [f"{model.__module__}.{model.__name__}"]
            for path, patches in changes.items():
                if patch := patches.get(definition["metadata"]["name"]):
                    version["schema"]["openAPIV3Schema"] = _patched(version["schema"]["openAPIV3Schema"], patch)
                    sources.append(str(path.relative_to(CHARTS)))
            what = "those, not this file" if len(sources) > 1 else "the model, not this file"
            header = _HEADER.format(sources=" and ".join(sources), what=what)
            if chart in _OPEN and model.kind in _CONVERTED:
                definition["spec"]["conversion"] = _CONVERSION
            text = yaml.dump(definition, Dumper=_Plain, sort_keys=False, width=120)
            section = _SECTIONS.get(model)
            folder = section_folder(chart, section) if section else CHARTS / chart / _FOLDERS.get(chart, "crds")
            yield folder / f"{model.group()}_{model.plural}.yaml", header + text
        for definition in _open_definitions(chart):
            text = yaml.dump(definition, Dumper=_Plain, sort_keys=False, width=120)
            header = _HEADER.format(sources="sandbox.crds", what="that, not this file")
            yield CHARTS / chart / _FOLDERS[chart] / f"{definition['metadata']['name']}.yaml", header + text


def _open_definitions(chart: str) -> Iterator[dict[str, Any]]:
    for api_version, scopes in _OPEN.get(chart, {}).items():
        for scope, names in scopes.items():
            yield from (_open_definition(api_version, kind, scope) for kind in names)


def _open_definition(api_version: str, kind: str, scope: str) -> dict[str, Any]:
    """A definition that takes any content."""
    group, _, version = api_version.partition("/")
    plural = next(kind.lower().removesuffix(end) + ends for end, ends in _PLURALS if kind.endswith(end))
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            **({"conversion": _CONVERSION} if kind in _CONVERTED else {}),
            "versions": [served],
        },
    }


def section_folder(chart: str, section: str) -> Path:
    """Where the definitions are that an operator writes with a section of its policy; Helm does not look there."""
    return CHARTS / chart / "sections" / section / "crds"


def _changes(chart: str) -> dict[Path, dict[str, Any]]:
    """The patches of every chart, of this one's release line, then its own, by file; each by a definition's name."""
    folders = (CHARTS, CHARTS / chart.partition("/")[0], CHARTS / chart)
    files = (folder / "crds.yaml" for folder in folders)
    return {path: yaml.safe_load(path.read_text()) for path in files if path.is_file()}


class _Plain(yaml.SafeDumper):
    """Writes a list that several fields share out each time, so that every definition reads for itself."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _patched(schema: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON merge patch (RFC 7396) applied: null takes away, maps are merged, everything else replaces."""
    result = dict(schema)
    for key, value in patch.items():
        if value is None:
            del result[key]  # a field that the model does not have is a slip of the patch
        elif isinstance(value, Mapping):
            result[key] = _patched(result.get(key, {}), value)
        else:
            result[key] = value
    return result


def main() -> None:
    """Writes all files, and names them on stdout."""
    for path, text in crd_files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path.relative_to(CHARTS.parents[1]))


if __name__ == "__main__":
    main()
