"""Clusters that DigitalOcean makes: sizes, contracts, versions, ranges, plug-ins and access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, Mistakes, missing, provided_by, together, written, written_below

_POOL, _GPU = "cluster.pools[0]", "software.gpuOperator"
_doks = provided_by("doks")


def _at(place: str, *values: Any) -> Mistakes:
    return written(place, *values, where=_doks)


def _below(place: str, below: str, *values: Any) -> Mistakes:
    return written_below(place, below, *values, where=_doks)


def _pool(at: str, **more: Any) -> Mistakes:
    """The first pool with more keys, faulty at one of them."""

    def made(base: Base) -> Iterator[Mistake]:
        if _doks(base):
            yield Mistake({f"{_POOL}.{key}": value for key, value in more.items()}, f"{_POOL}.{at}")

    return made


def _cluster(path: str, **more: Any) -> Mistakes:
    """The cluster with more keys, faulty at one place."""

    def made(base: Base) -> Iterator[Mistake]:
        if _doks(base):
            yield Mistake({f"cluster.{key}": value for key, value in more.items()}, f"cluster.{path}")

    return made


def _without_operator(base: Base) -> Iterator[Mistake]:
    """The GPUs are left to an operator that does not come."""
    if _doks(base):
        at = "cluster.plugins.gpu"
        yield Mistake({at: "operator", "software.gpuOperator.install": False}, at)


def _gpus_are(maker: str, mistakes: Mistakes) -> Mistakes:
    """Only where the GPUs are of that maker: AMD's sizes begin with gpu-mi."""

    def made(base: Base) -> Iterator[Mistake]:
        if _doks(base) and ("gpu-mi" in base.pool["shape"]) == (maker == "amd"):
            yield from mistakes(base)

    return made


READING = (
    Kind("a region of DigitalOcean is spelt as none", "SPC002",
        _at("cluster.region", "NYC2", "nyc", "us-ashburn-1", "")),
    Kind("a version of DigitalOcean's Kubernetes is spelt as none", "SPC002",
        _at("cluster.version", "v1.36", "1.36.1-do", "1.36.x", "stable", "1.36.1-gke.0")),
    Kind("the kubeconfig of a cluster to be made is a path", "SPC002",
        _at("cluster.kubeconfig", "kubeconfig", "~/.kube/config")),
    Kind("a tag has characters that tags do not have", "SPC002", together(
        _below("cluster.tags", "[0]", ["my tag"], ["a/b"], [""]),
        _below(f"{_POOL}.tags", "[1]", ["a", "b.c"]))),
    Kind("a plug-in is brought by somebody unknown", "SPC002", together(
        _at("cluster.plugins.gpu", "nvidia", "true", "off"),
        _at("cluster.plugins.rdma", "on", "operator"),
        _at("cluster.kubeconfig.mode", "admin", "oidc"),
        _at(f"{_POOL}.gpuPartitionMode", "SPX", "CPX"))),
    Kind("the system pool or a lifetime has an impossible size", "SPC002", together(
        _at("cluster.systemPool.nodes", -1, 513),
        _at("cluster.systemPool.size", ""),
        _at("cluster.kubeconfig.expireSeconds", -1),
        _at("cluster.dropletQuota", 0),
        _at(f"{_POOL}.contractedNodes", 0))),
    Kind("nobody may reach the API server", "SPC002", _at("cluster.controlPlaneFirewall.allowed", [])),
    Kind("automatic scaling or single sign-on lacks a key that it needs", "SPC003", together(
        _below(f"{_POOL}.autoScale", ".minNodes", {"maxNodes": 8}),
        _below(f"{_POOL}.autoScale", ".maxNodes", {"minNodes": 1}),
        _below("cluster.singleSignOn", ".issuerUrl", {"clientId": "x"}),
        _below("cluster.singleSignOn", ".clientId", {"issuerUrl": "https://idp"}),
        _below("cluster.controlPlaneFirewall", ".allowed", {}))),
    Kind("a key of a part of DigitalOcean's cluster is misspelt", "SPC001", together(
        _at("cluster.systemPool.count", 2),
        _at("cluster.vpc.uuid", "c33931f2"),
        _at("cluster.plugins.nvidia", "managed"),
        _at("cluster.ha", True),
        _at("cluster.nodePools", []))),
    Kind("an id of DigitalOcean's is a name", "SPC002", together(
        *(_at(place, "my-own") for place in ("cluster.vpc.id", "cluster.adopt.vpc", "cluster.adopt.cluster")),
        _below("cluster.project", ".id", {"id": "my-own"}))),
    Kind("a new cluster has no region or version", "SPC003",
        lambda base: missing("cluster.region", "cluster.version")(base) if _doks(base) else iter(())),
)  # fmt: skip

RULES = (
    Kind("pools together have more nodes than a fabric has", "DOK004",
        lambda base: (Mistake({"cluster.pools": [{**base.pool, "nodes": 40},
            {**base.pool, "name": "more", "nodes": nodes}]}, "cluster.pools") for nodes in (25, 40) if _doks(base))),
    Kind("there are more nodes than a cluster may have", "DOK005", together(
        _cluster("pools", **{"pools[0].nodes": 511}),
        _cluster("pools", **{"pools[0].nodes": 999, "ranges.pods": "10.128.0.0/15"}))),
    Kind("a pool is larger than its contract", "DOK007", together(
        _pool("nodes", contractedNodes=1),
        _pool("nodes", contractedNodes=4, nodes=5))),
    Kind("the number of nodes is outside the bounds of automatic scaling", "DOK009", together(
        _pool("autoScale", contractedNodes=64, autoScale={"minNodes": 5, "maxNodes": 8}),
        _pool("autoScale", contractedNodes=64, autoScale={"minNodes": 1, "maxNodes": 1}),
        _pool("autoScale", contractedNodes=64, autoScale={"minNodes": 8, "maxNodes": 1}))),
    Kind("a version that is set at every run is upgraded automatically", "DOK017",
        _cluster("autoUpgrade", autoUpgrade=True, versionApplies="always", protect=True)),
    Kind("a version that is set at every run may replace an unprotected cluster", "DOK039",
        _cluster("versionApplies", versionApplies="always", protect=False)),
    Kind("nobody advertises the GPUs", "DOK019", together(
        _at("cluster.plugins.gpu", "dra"),
        _gpus_are("amd", _at("cluster.plugins.gpu", "operator")),
        _gpus_are("nvidia", _without_operator))),
    Kind("a range of DigitalOcean's cluster is not private", "DOK025", together(
        _at("cluster.ranges.pods", "100.64.0.0/16", "fd00:20::/64"),
        _at("cluster.ranges.services", "172.32.0.0/19"),
        _at("cluster.ranges.nodes", "198.18.0.0/20", "11.0.0.0/16"))),
    Kind("two ranges of DigitalOcean's cluster overlap", "DOK026", together(
        _at("cluster.ranges.services", "10.156.0.0/19"),
        _at("cluster.ranges.nodes", "10.156.16.0/20", "10.157.0.0/20"),
        _cluster("ranges.nodes", **{"ranges.reserved": ["10.158.0.0/16"]}))),
    Kind("the pod range is too small for the nodes", "DOK027",
        _at("cluster.ranges.pods", "10.156.0.0/24", "10.156.0.0/25", "10.156.0.0/26")),
    Kind("required single sign-on locks the stack out", "DOK030",
        together(*(_cluster("kubeconfig.mode", singleSignOn={"required": True, "issuerUrl": "https://idp",
            "clientId": "x"}, kubeconfig={"mode": mode}) for mode in ("token", "raw")))),
    Kind("a tag is reserved", "DOK033", together(
        _below("cluster.tags", "[0]", ["k8s"], ["terraform:default-node-pool"]),
        _below("cluster.tags", "[1]", ["mine", "k8s:worker"]),
        _below(f"{_POOL}.tags", "[0]", ["k8s"]))),
    Kind("a label lies in DigitalOcean's own domain", "DOK034",
        together(*(_below(f"{_POOL}.labels", f".{key}", {"team": "a", key: "x"})
            for key in ("doks.digitalocean.com/node-pool", "doks.digitalocean.com/gpu-brand")))),
    Kind("the vendor's taint is declared a second time", "DOK036", together(
        _gpus_are("nvidia", _below(f"{_POOL}.taints", "[0]", [{"key": "nvidia.com/gpu"}])),
        _gpus_are("amd", _below(f"{_POOL}.taints", "[1]", [{"key": "team"}, {"key": "amd.com/gpu"}])))),
    Kind("the GPU Operator brings what DigitalOcean manages", "DOK037", _gpus_are("nvidia", together(
        written_below(_GPU, ".driver", {"install": True, "driver": True}),
        written_below(_GPU, ".toolkit", {"install": True, "toolkit": True}),
        written_below(_GPU, ".values.devicePlugin.enabled",
            {"install": True, "values": {"devicePlugin": {"enabled": True}}})))),
)  # fmt: skip

KINDS = (*READING, *RULES)
