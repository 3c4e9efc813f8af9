"""A cluster in which a stack has been up: its objects, Helm's records, shares of its nodes, and what they offer."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any

import yaml

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import HelmRelease, PlannedAdoption, PlannedPatch
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.stack import StackSpec
from tests.support.played_cluster import PULUMI, Object, PlayedCluster

NETWORKS = "apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
SECRETS = "api/v1/secrets"
RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
# What the API server lists of its own kinds, as far as the played charts have them.
KINDS = {
    "api/v1": [("ServiceAccount", "serviceaccounts"), ("ConfigMap", "configmaps"), ("Secret", "secrets")],
    "apis/apps/v1": [("DaemonSet", "daemonsets"), ("Deployment", "deployments")],
}


class LivedInCluster(PlayedCluster):
    """A played cluster that answers dry runs of server-side apply, by maps key by key and lists by their names."""

    def __init__(self, spec: StackSpec, version: str) -> None:
        super().__init__(spec, version)
        self.applied: list[str] = []
        self.judges = True

    def read(self, path: str) -> Object | None:
        if (listed := KINDS.get(path.strip("/"))) is not None:
            self.requests.append(path)
            return {"resources": [{"kind": kind, "name": name, "namespaced": True} for kind, name in listed]}
        return super().read(path)

    def apply(self, manifest: Object) -> Object:
        self.applied.append(manifest["kind"])
        wanted = (manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
        for items in self.objects.values():
            for item in items:
                if (item.get("kind"), item["metadata"].get("namespace"), item["metadata"]["name"]) == wanted:
                    return as_stored(merged(item, manifest))
        raise AssertionError(f"{wanted} does not exist")


def as_stored(manifest: Object) -> Object:
    """As a server writes an amount: `1000m` of a processor is `1`."""
    return json.loads(json.dumps(manifest).replace('"1000m"', '"1"'))


def merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: merged(old.get(key), value) for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(e, dict) and "name" in e for e in old + new):
        there = {entry["name"]: entry for entry in old}
        return [*(there | {entry["name"]: merged(there.get(entry["name"], {}), entry) for entry in new}).values()]
    return new


def chart_objects(release: HelmRelease) -> list[Object]:
    """What a chart is played to install: a DaemonSet, a ServiceAccount and a ConfigMap."""
    named = {"namespace": release.namespace, "name": f"{release.name}-part"}
    limits = {"cpu": "1000m", "memory": "1Gi"}
    container = {
        "name": "main",
        "image": "part:1",
        "args": ["--quiet"],
        "env": [{"name": "TOKEN", "value": "hunter2"}],
        "resources": {"limits": limits},
    }
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": dict(named),
            "spec": {"template": {"spec": {"containers": [container]}}},
        },
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": dict(named)},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": dict(named), "data": {"mode": "usual"}},
    ]


def record_of(release: HelmRelease, **changes: Any) -> Object:
    """The Secret in which Helm keeps a revision."""
    record = {
        "version": 3,
        "info": {"status": "deployed"},
        "chart": {"metadata": {"version": release.chart.version}},
        "config": copy.deepcopy(release.values),
        "manifest": "---\n".join(yaml.safe_dump(item) for item in chart_objects(release)),
        **changes,
    }
    text = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(record).encode()))).decode()
    labels = {"owner": "helm", "name": release.name, "version": str(record["version"])}
    metadata = {
        "name": f"sh.helm.release.v1.{release.name}.v{record['version']}",
        "namespace": release.namespace,
        "labels": labels,
    }
    return {"metadata": metadata, "data": {"release": text}}


def manager(name: str, fields: Mapping[str, Any], time: str = "2026-06-01T03:12:45Z") -> Object:
    """An entry of managed fields, of a client that wrote these fields."""
    return {"manager": name, "operation": "Update", "time": time, "fieldsType": "FieldsV1", "fieldsV1": dict(fields)}


def lived_in(spec: StackSpec, plan: Plan) -> LivedInCluster:
    """The cluster when the stack has been up, with all nodes in their shares."""
    own = spec.cluster
    stated = own.kubernetes if isinstance(own, ExistingClusterSpec) else None
    usual = "1.27" if spec.software.release_line == "23.10" else "1.35"
    cluster = LivedInCluster(spec, f"v{stated or usual}.2")
    ranges = own.ranges.own()
    if "nodes" in ranges:
        for number, node in enumerate(cluster.objects["api/v1/nodes"], start=10):
            node["status"]["addresses"][0]["address"] = str(ranges["nodes"][number])
    if "services" in ranges:
        cluster.objects["apis/networking.k8s.io/v1/servicecidrs"][0]["spec"]["cidrs"] = [str(ranges["services"])]
    for node in cluster.nodes:
        node["metadata"]["labels"]["feature.node.kubernetes.io/pci-15b3.present"] = "true"
    _apply(plan, cluster)
    _install(plan, cluster)
    for fabric in plan.by_fabric.values():
        _networks(fabric, cluster)
        _shares(fabric, cluster)
    for node in cluster.nodes:
        for fabric in plan.by_fabric.values():
            for name, amount in fabric.workload.devices.items():
                node["status"]["capacity"][name] = node["status"]["allocatable"][name] = str(amount)
    cluster.objects.setdefault("api/v1/pods", [])
    return cluster


def _apply(plan: Plan, cluster: LivedInCluster) -> None:
    for entry in plan.objects:
        manifest, kind = entry.object.manifest(), entry.object
        root = f"apis/{kind.api_version}" if "/" in kind.api_version else f"api/{kind.api_version}"
        if kind.kind == "Namespace":
            manifest["status"] = {"phase": "Active"}
        cluster.add(f"{root}/{kind.plural}", manifest, PULUMI)
    for record in (*plan.records(PlannedPatch), *plan.records(PlannedAdoption)):
        plural = getattr(record, "plural", f"{record.kind.lower()}s")
        manifest = {"apiVersion": record.api_version, "kind": record.kind, "metadata": {"name": record.name}}
        cluster.add(f"apis/{record.api_version}/{plural}", {**manifest, "spec": dict(record.spec)}, "operator")


def _install(plan: Plan, cluster: LivedInCluster) -> None:
    for release in plan.releases:
        cluster.add(SECRETS, record_of(release), "helm")
        for item in chart_objects(release):
            root = f"apis/{item['apiVersion']}" if "/" in item["apiVersion"] else f"api/{item['apiVersion']}"
            cluster.add(f"{root}/{item['kind'].lower()}s", as_stored(item), "helm")


def _networks(plan: Plan, cluster: LivedInCluster) -> None:
    """The networks that operators write for the stack."""
    known = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in cluster.objects.get(NETWORKS, ())}
    for network in plan.workload.networks:
        for namespace in (network.namespace,) if network.namespace else plan.workload.namespaces:
            if (namespace, network.network) not in known:
                known.add((namespace, network.network))
                annotations = {RESOURCE: network.resource} if network.resource else {}
                metadata = {"name": network.network, "namespace": namespace, "annotations": annotations}
                cluster.add(NETWORKS, {"metadata": metadata, "spec": {"config": "{}"}}, "sriov-network-operator")


def _shares(plan: Plan, cluster: LivedInCluster) -> None:
    """What nv-ipam's controller writes: a block or a prefix for each node that a pool selects, in order."""
    for plural in ("ippools", "cidrpools"):
        for item in cluster.objects.get(f"apis/nv-ipam.nvidia.com/v1alpha1/{plural}", ()):
            spec, nodes = item["spec"], sorted(cluster.objects["api/v1/nodes"], key=lambda node: node["metadata"]["name"])
            terms = (spec.get("nodeSelector") or {}).get("nodeSelectorTerms")
            chosen = [node["metadata"]["name"] for node in nodes if terms is None or _selected(terms, node)]
            if plural == "ippools":
                block, network = spec["perNodeBlockSize"], ip_network(spec["subnet"])
                rows = [
                    {"nodeName": name, "startIP": str(network[1 + n * block]), "endIP": str(network[(n + 1) * block])}
                    for n, name in enumerate(chosen)
                ]
            else:
                fixed = {row.get("nodeName"): row["prefix"] for row in spec.get("staticAllocations") or ()}
                free = ip_network(spec["cidr"]).subnets(new_prefix=spec["perNodeNetworkPrefix"])
                rows = [{"nodeName": name, "prefix": fixed.get(name) or str(next(free))} for name in chosen]
            item["status"] = {"allocations": rows}


def _selected(terms: list[Any], node: Object) -> bool:
    labels = node["metadata"]["labels"]
    return any(
        all(labels.get(row["key"]) in row["values"] for row in term.get("matchExpressions", ())) for term in terms
    )
