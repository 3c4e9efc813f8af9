"""A cluster in which a stack has been up: its objects, Helm's records, shares of its nodes, and what they offer."""

import base64
import copy
import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.live.cluster import NotAllowed
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import HelmRelease, PlannedAdoption, PlannedPatch
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.stack import StackSpec
from sandbox.hardware.nv_ipam import is_chosen, shares
from tests.support.played_cluster import PULUMI, Object, PlayedCluster

CLEAN = (
    *("dev", "eks-efa", "externally-managed", "host-device", "host-network", "ib-sriov", "ipoib", "kueue"),
    *("mi300x-macvlan", "node-kinds", "oke-guide", "roce-macvlan", "spiderpool-ib", "spiderpool-sriov"),
    *("sriov-operator", "whereabouts"),
)
"""Stacks in whose clusters nothing is found, one of each kind."""

NETWORKS = "apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
SECRETS = "api/v1/secrets"
RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
# What the API server lists of its own kinds, as far as the played charts have them.
KINDS = {
    "api/v1": [("ServiceAccount", "serviceaccounts", True), ("Secret", "secrets", True)],
    "apis/apps/v1": [("DaemonSet", "daemonsets", True)],
    "apis/rbac.authorization.k8s.io/v1": [("ClusterRole", "clusterroles", False)],
}


class LivedInCluster(PlayedCluster):
    """A played cluster that answers dry runs of server-side apply, by maps key by key and lists by their names."""

    def __init__(self, spec: StackSpec, version: str) -> None:
        super().__init__(spec, version)
        self.applied: list[str] = []
        self.refuses = False

    def read(self, path: str) -> Object | None:
        if (listed := KINDS.get(path.strip("/"))) is not None:
            self.requests.append(path)
            return {"resources": [{"kind": kind, "name": name, "namespaced": ns} for kind, name, ns in listed]}
        if path.startswith("/apis/") and path.count("/") == 3:
            # A group that no definition serves.
            return None
        return super().read(path)

    def apply(self, manifest: Object) -> Object:
        self.applied.append(manifest["kind"])
        wanted = (manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
        for items in self.objects.values():
            for item in items:
                if (item.get("kind"), item["metadata"].get("namespace"), item["metadata"]["name"]) == wanted:
                    if self.refuses:
                        raise NotAllowed("webhook says: no hunter2")
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
    """What a chart is played to install."""
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
        # A chart may leave the namespace out, and write null.
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": named["name"], "labels": None}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": dict(named), "stringData": {"password": "hunter2"}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": named["name"]},
            "rules": [],
        },
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


def planned(name: str, changes: Mapping[str, Mapping[str, Any]]) -> tuple[StackSpec, Plan]:
    """The spec and plan of a stack file, with other values of whole keys; an example goes before one for tests."""
    root = Path(__file__).parents[2]
    shown = any((folder / f"Pulumi.{name}.yaml").is_file() for folder in (root, root / "examples"))
    document = read_document(name, root if shown else root / "tests" / "stacks")
    sections: dict[str, Mapping[str, Any]] = dict(document.sections)
    for section, keys in changes.items():
        sections[section] = {**sections.get(section, {}), **keys}
    changed = document.model_copy(update={"sections": sections})
    spec, problems = validate(changed)
    assert spec is not None, problems
    return spec, prepare(changed, for_up=False).plan


@cache
def committed(name: str) -> tuple[StackSpec, Plan]:
    return planned(name, {})


def clean(spec: StackSpec) -> LivedInCluster:
    """A cluster of the version and with the ranges that the stack file states."""
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
    return cluster


def lived_in(spec: StackSpec, plan: Plan) -> LivedInCluster:
    """The cluster when the stack has been up, with all nodes in their shares."""
    cluster = clean(spec)
    for node in cluster.nodes:
        node["metadata"]["labels"]["feature.node.kubernetes.io/pci-15b3.present"] = "true"
    _apply(plan, cluster)
    _install(plan, cluster)
    for fabric in plan.by_fabric.values():
        _networks(fabric, cluster)
    _shares(cluster)
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
            if item["kind"] == "ServiceAccount":
                item["metadata"] = {"name": item["metadata"]["name"], "namespace": release.namespace}
            text = {key: base64.b64encode(part.encode()).decode() for key, part in item.pop("stringData", {}).items()}
            kept = {**item, "data": text} if text else item
            cluster.add(f"{root}/{item['kind'].lower()}s", as_stored(kept), "helm")


def _networks(plan: Plan, cluster: LivedInCluster) -> None:
    """The networks that operators write for the stack."""
    known = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in cluster.objects.get(NETWORKS, ())}
    for network in plan.workload.networks:
        for namespace in (network.namespace,) if network.namespace else plan.workload.namespaces:
            if (namespace, network.network) not in known:
                known.add((namespace, network.network))
                # Spiderpool's name a resource where it is the network's device (v1.2.2, pkg/multuscniconfig).
                has_device = network.resource and plan.choices.access != "shared"
                annotations = {RESOURCE: network.resource} if has_device else {}
                metadata = {"name": network.network, "namespace": namespace, "annotations": annotations}
                cluster.add(NETWORKS, {"metadata": metadata, "spec": {"config": "{}"}}, "sriov-network-operator")


def _shares(cluster: LivedInCluster) -> None:
    """What nv-ipam's controller writes."""
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in cluster.objects["api/v1/nodes"]}
    for plural in ("ippools", "cidrpools"):
        for item in cluster.objects.get(f"apis/nv-ipam.nvidia.com/v1alpha1/{plural}", ()):
            chosen = sorted(name for name, found in labels.items() if is_chosen(item, found))
            item["status"] = {"allocations": shares(item, chosen, passes_over=True)}
