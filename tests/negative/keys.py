"""Keys that nobody knows, and keys that are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from negative.base import Base, sibling
from negative.mistake import Kind, Mistake, missing, misspelt, provided_by, together, written, written_below

_OWN = "cluster.shapes.guide-cx5"


def _keys(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            here = f"{place}.{key}".lstrip(".")
            yield here
            yield from _keys(below, here)
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _keys(below, f"{place}[{number}]")


def _respelt(base: Base, style: str) -> Iterator[Mistake]:
    """Every key that has an inner capital, in another style."""
    for place in _keys(base.sections):
        key = place.rpartition(".")[2]
        other = re.sub(r"[A-Z]", lambda match: style + match.group().lower(), key)
        if other != key and "[" not in key:
            wrong = sibling(place, other)
            yield Mistake({wrong: base.at(place), place: None}, wrong)


def _capitals(base: Base) -> Iterator[Mistake]:
    for place in _keys(base.sections):
        key = place.rpartition(".")[2]
        # Without `provider` nothing else of the section can be judged; names of own shapes and of labels are free.
        if place in ("cluster.provider", _OWN) or ".labels." in place or not key.isalpha():
            continue
        wrong = sibling(place, key[0].upper() + key[1:])
        yield Mistake({wrong: base.at(place), place: None}, wrong)


def _in_another_section(base: Base) -> Iterator[Mistake]:
    homes = {
        "fabric.addressing.supernet": ("cluster.supernet", "fabric.supernet", "cluster.ranges.supernet"),
        "fabric.addressing.layout": ("fabric.layout",),
        "fabric.addressing.gateway": ("fabric.gateway",),
        "fabric.addressing": ("cluster.addressing", "addressing"),
        "fabric.model": ("cluster.model", "software.model"),
        "fabric.linkType": ("cluster.linkType", "fabric.addressing.linkType"),
        "cluster.pools[0].nodes": ("cluster.nodes",),
        "cluster.ranges.pods": ("cluster.pods", "fabric.addressing.pods"),
        "cluster.ranges": ("fabric.ranges", "ranges"),
        "software.charts": ("software.networkOperator.charts",),
    }
    for place, others in homes.items():
        if base.has(place):
            yield from (Mistake({other: base.at(place), place: None}, other) for other in others)


_REQUIRED = {
    "doks": ("cluster.region", "cluster.version"),
    "oke": ("cluster.region", "cluster.version", "cluster.compartmentId"),
}


def _cluster_keys_missing(base: Base) -> Iterator[Mistake]:
    yield from missing("cluster.pools", *_REQUIRED.get(base.provider, ()))(base)


KINDS = (
    Kind("a section has another name", "SPC001", together(
        misspelt("fabric", "fabrik", "Fabric", "network", "rdma"),
        misspelt("cluster", "clusters", "kubernetes"),
        misspelt("software", "sofware", "operators"))),
    Kind("a key of cluster is misspelt", "SPC001", together(
        misspelt("cluster.pools", "pool", "nodePools", "gpuPools"),
        misspelt("cluster.ranges", "range", "cidrs"),
        misspelt("cluster.kubeconfig", "kubeConfig", "kubeconfigPath"),
        misspelt("cluster.shapes", "shape"),
        misspelt("cluster.version", "kubernetesVersion"),
        misspelt("cluster.compartmentId", "compartment", "compartmentID"))),
    Kind("a key of a pool is misspelt", "SPC001", together(
        misspelt("cluster.pools[0].nodes", "node", "count", "size", "replicas"),
        misspelt("cluster.pools[0].shape", "shpae", "instanceType", "machineType"),
        misspelt("cluster.pools[0].name", "pool", "nmae"))),
    Kind("a key of fabric is misspelt", "SPC001", together(
        misspelt("fabric.model", "modle", "mode", "type"),
        misspelt("fabric.manager", "manger", "operator"),
        misspelt("fabric.linkType", "linktype", "linkLayer"),
        misspelt("fabric.addressing", "adressing", "addresses", "ipam"),
        misspelt("fabric.vfsPerNic", "vfPerNic", "numVfs"),
        misspelt("fabric.podsPerNic", "podPerNic"),
        misspelt("fabric.pkey", "pKey"))),
    Kind("a key of addressing is misspelt", "SPC001", together(
        misspelt("fabric.addressing.supernet", "superNet", "subnet", "cidr"),
        misspelt("fabric.addressing.gateway", "gatway", "router"),
        misspelt("fabric.addressing.exclude", "excludes", "exclusions"),
        misspelt("fabric.addressing.prefixLength", "prefixLen", "mask"),
        misspelt("fabric.addressing.addressesPerNode", "addressPerNode", "perNodeBlockSize"),
        written("fabric.addressing.spare", 4))),
    Kind("a range in use has a name that is none", "SPC001", together(
        misspelt("cluster.ranges.pods", "pod", "podCidr"),
        misspelt("cluster.ranges.services", "service", "svc"),
        misspelt("cluster.ranges.nodes", "node", "vpc"))),
    Kind("a key of software is misspelt", "SPC001", together(
        misspelt("software.releaseLine", "release", "version", "releaseLines"),
        misspelt("software.charts", "chart", "chartRepo"),
        written("software.gpu-operator", {"driver": False}),
        written("software.multusCni", {"memory": "1Gi"}))),
    Kind("a key is written with underscores", "SPC001", lambda base: _respelt(base, "_")),
    Kind("a key is written with hyphens", "SPC001", lambda base: _respelt(base, "-")),
    Kind("a key begins with a capital letter", "SPC001", _capitals),
    Kind("a key stands in another section than its own", "SPC001", _in_another_section),
    Kind("a key of another provider is given", "SPC001", together(
        written("cluster.region", "us-ashburn-1", where=provided_by("existing")),
        written("cluster.version", "1.34.1", where=provided_by("existing")),
        written("cluster.compartmentId", "ocid1.compartment.oc1..aaaa", where=provided_by("existing", "doks")),
        written("cluster.kubeconfigSecret", "access", where=provided_by("doks", "oke")),
        written("cluster.kubernetes", "1.34", where=provided_by("doks", "oke")),
        written("cluster.autoUpgrade", True, where=provided_by("oke", "existing")),
        written("cluster.cni", "flannel", where=provided_by("doks", "existing")),
        written("cluster.pools[0].contractedNodes", 4, where=provided_by("oke", "existing")),
        written("cluster.pools[0].availabilityDomain", "AD-1", where=provided_by("doks", "existing")))),
    Kind("a key of a taint is misspelt", "SPC001", together(
        written_below("cluster.pools[0].taints", "[0].Effect", [{"key": "nvidia.com/gpu", "Effect": "NoSchedule"}]),
        written_below("cluster.pools[0].taints", "[0].operator", [{"key": "gpu", "operator": "Exists"}]),
        written_below("cluster.pools[0].taints", "[1].name", [{"key": "gpu"}, {"key": "a", "name": "b"}]))),
    Kind("a key of a machine type of one's own is misspelt", "SPC001", together(
        misspelt(f"{_OWN}.gpus", "gpu"),
        misspelt(f"{_OWN}.nics", "nic", "rdmaNics"),
        misspelt(f"{_OWN}.nicModel", "nicmodel"),
        misspelt(f"{_OWN}.gpus.count", "number"),
        misspelt(f"{_OWN}.nicModel.deviceId", "deviceID"),
        misspelt(f"{_OWN}.nics[3].interface", "iface", "name"),
        misspelt(f"{_OWN}.nics[0].nearestGpu", "gpu"))),
    Kind("a key of a rail's entry is misspelt", "SPC001", together(
        written_below("fabric.rails", "[0].pciAddress", [{"rail": 0, "pciAddress": "0000:0c:00.0"}]),
        written_below("fabric.rails", "[0].nic", [{"rail": 0, "nic": "rdma0"}]),
        written_below("fabric.rails", "[1].rdma_device", [{"rail": 0}, {"rail": 1, "rdma_device": "mlx5_1"}]))),
    Kind("a key of a namespace's entry is misspelt", "SPC001", together(
        written_below("fabric.namespaces", "[0].created", [{"name": "jobs", "created": True}]),
        written_below("fabric.namespaces", "[1].Create", ["default", {"name": "jobs", "Create": True}]))),
    Kind("a switch of an operator has another name", "SPC001", together(
        written("software.gpuOperator.drivers", True),
        written("software.gpuOperator.nfd", False),
        written("software.networkOperator.multus-cni", False),
        written("software.networkOperator.version", "26.4.1"),
        written("software.spiderpool.Multus", False))),
    Kind("there is no section cluster", "SPC003", missing("cluster")),
    Kind("the cluster has no provider", "SPC003", missing("cluster.provider")),
    Kind("a key that the cluster needs is missing", "SPC003", _cluster_keys_missing),
    Kind("a pool lacks its name, shape or number of nodes", "SPC003",
        missing("cluster.pools[0].name", "cluster.pools[0].shape", "cluster.pools[0].nodes")),
    Kind("a second pool lacks its name or number of nodes", "SPC003",
        lambda base: (Mistake({"cluster.pools": [base.pool, {**{k: v for k, v in base.pool.items() if k != key},
            **rest}]}, f"cluster.pools[1].{key}") for key, rest in (("name", {}), ("nodes", {"name": "more"})))),
    Kind("a taint has no key", "SPC003",
        written_below("cluster.pools[0].taints", "[0].key", [{}], [{"value": "present"}], [{"effect": "NoExecute"}])),
    Kind("a rail's entry does not say which rail", "SPC003",
        written_below("fabric.rails", "[0].rail", [{"pci": "0000:0c:00.0"}], [{"interface": "rdma0"}])),
    Kind("a namespace has no name", "SPC003", written_below("fabric.namespaces", "[0].name", [{"create": True}], [{}])),
    Kind("a machine type of one's own lacks a fact that it needs", "SPC003",
        missing(f"{_OWN}.gpus", f"{_OWN}.gpus.count", f"{_OWN}.gpus.vendor", f"{_OWN}.nicModel.linkType")),
)  # fmt: skip
