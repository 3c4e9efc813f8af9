"""Edits of committed stacks that make their cluster, for the table of all edits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from changes import Changes

POOL = "cluster.pools[0]"
NODES = f"{POOL}.nodes"
H200 = "gpu-h200x8-1128gb-fabric-contracted"


class Edit(NamedTuple):
    """A stack with some values changed before, and more of them after; and the resources that the guard names."""

    name: str
    stack: str
    after: Changes
    before: Changes = {}
    guarded: tuple[str, ...] = ()


def of_rails(name: str, rails: Iterable[int]) -> tuple[str, ...]:
    """The names of some rails' objects."""
    return tuple(name.format(f"{rail:02d}") for rail in rails)


def _scaled(bounds: dict[str, int] | None) -> list[dict[str, Any]]:
    """Two nodes under a contract for 16, which may scale within bounds."""
    pool = {"name": "gpu", "shape": H200, "nodes": 2, "contractedNodes": 16}
    return [pool if bounds is None else {**pool, "autoScale": bounds}]


_MACHINES = {f"{POOL}.placement": "compute-cluster-instances"}
_TWO_POOLS = [
    {"name": "gpu", "shape": H200, "nodes": 2},
    {"name": "more", "shape": H200, "nodes": 4},
]
_REPLACING = {f"{POOL}.cycling": "instance-replace"}
_NOT_CYCLING = {f"{POOL}.cycling": None}
_RACKS = {
    **_NOT_CYCLING,
    f"{POOL}.placement": "gpu-memory-cluster",
    f"{POOL}.shape": "BM.GPU.GB200-v2.4",
    f"{POOL}.memoryFabricIds": [f"ocid1.computegpumemoryfabric.oc1.us-chicago-1.{name}" for name in ("one", "two")],
}
_OTHERS = "cluster.otherPools"
_INFERENCE = {"name": "inference", "size": "gpu-l40sx1-48gb", "nodes": 2}
_A10 = {"name": "inference", "shape": "VM.GPU.A10.1", "nodes": 2}
_SCALED = {
    "name": "cpu",
    "shape": "VM.Standard.E5.Flex",
    "ocpus": 4,
    "memoryGib": 32,
    "nodes": 1,
    "autoScale": {"minNodes": 1, "maxNodes": 4},
}
_IMAGE = "ocid1.image.oc1.us-chicago-1.aaaaaaaaanother"
_EXISTING = {
    "provider": "existing",
    "kubeconfig": "kubeconfig.yaml",
    "pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 4}],
    "ranges": {"pods": "10.240.0.0/12", "services": "10.96.0.0/16", "nodes": "10.140.0.0/16"},
}
_PRICES = {
    H200: {"hourly": 20, "hourlyMost": 25, "currency": "USD"},
    "s-4vcpu-8gb": {"hourly": 0.07143, "currency": "USD"},
}

CLOUD_EDITS = (
    Edit("DOKS nodes fewer", "doks-h200", {NODES: 2}, {NODES: 4}, ("cluster-pool-gpu",)),
    Edit(
        "DOKS nodes and nodes of the system pool fewer",
        "doks-h200",
        {NODES: 1, "cluster.systemPool.nodes": 1},
        guarded=("cluster-pool-gpu",),
    ),
    Edit(
        "DOKS nodes fewer and no longer highly available",
        "doks-h200",
        {NODES: 1, "cluster.highAvailability": False},
        {"cluster.highAvailability": True},
        ("cluster-pool-gpu",),
    ),
    Edit(
        "DOKS most nodes of a pool that scales fewer",
        "doks-h200",
        {"cluster.pools": _scaled({"minNodes": 1, "maxNodes": 4})},
        {"cluster.pools": _scaled({"minNodes": 1, "maxNodes": 8})},
        ("cluster-pool-gpu",),
    ),
    Edit(
        "DOKS pool that scales no longer",
        "doks-h200",
        {"cluster.pools": _scaled(None)},
        {"cluster.pools": _scaled({"minNodes": 1, "maxNodes": 8})},
        ("cluster-pool-gpu",),
    ),
    Edit(
        "DOKS pool that scales, with the system pool resized",
        "doks-h200",
        {"cluster.systemPool.size": "s-8vcpu-16gb"},
        {"cluster.pools": _scaled({"minNodes": 1, "maxNodes": 8})},
        ("cluster-doks",),
    ),
    Edit("DOKS region", "doks-h200", {"cluster.region": "atl1"}, guarded=("cluster-vpc", "cluster-doks")),
    Edit(
        "DOKS shape",
        "doks-h200",
        {f"{POOL}.shape": "gpu-h100x8-640gb-fabric-contracted"},
        guarded=("cluster-pool-gpu",),
    ),
    Edit(
        "DOKS version lowered",
        "doks-h200",
        {"cluster.versionApplies": "always", "cluster.version": "1.35.1-do.0"},
        {"cluster.protect": True},
        guarded=("cluster-doks",),
    ),
    Edit(
        "DOKS system pool resized while protected",
        "doks-h200",
        {"cluster.systemPool.size": "s-8vcpu-16gb"},
        {"cluster.protect": True},
        guarded=("cluster-doks",),
    ),
    Edit("DOKS system pool with more nodes", "doks-h200", {"cluster.systemPool.nodes": 3}),
    Edit("DOKS protected", "doks-h200", {"cluster.protect": True}),
    Edit("DOKS pool added at known prices", "doks-h200", {"cluster.pools": _TWO_POOLS}, {"cluster.prices": _PRICES}),
    Edit(
        "DOKS pool removed",
        "doks-h200",
        {"cluster.pools": _TWO_POOLS[:1]},
        {"cluster.pools": _TWO_POOLS},
        guarded=("cluster-pool-more",),
    ),
    Edit("DOKS pool beside the fabric added", "doks-h200", {_OTHERS: [_INFERENCE]}),
    Edit(
        "DOKS pool beside the fabric removed",
        "doks-inference",
        {f"{_OTHERS}[0]": None},
        guarded=("cluster-pool-inference",),
    ),
    Edit(
        "DOKS pool beside the fabric of another size, with other bounds",
        "doks-inference",
        {f"{_OTHERS}[0].size": "gpu-6000adax1-48gb", f"{_OTHERS}[0].autoScale.maxNodes": 6},
        guarded=("cluster-pool-inference",),
    ),
    Edit(
        "DOKS pool beside the fabric with other labels and taints",
        "doks-inference",
        {f"{_OTHERS}[0].labels": {"role": "serving"}, f"{_OTHERS}[0].taints": []},
    ),
    Edit("OKE pools beside the fabric added", "oke-h200", {_OTHERS: [_A10, _SCALED]}),
    Edit(
        "OKE pool beside the fabric removed, and with it the autoscaler",
        "oke-h200",
        {_OTHERS: [_A10]},
        {_OTHERS: [_A10, _SCALED]},
        guarded=("cluster-pool-cpu",),
    ),
    Edit("OKE bounds of a pool beside the fabric", "oke-pools", {f"{_OTHERS}[0].autoScale.maxNodes": 8}),
    Edit("OKE nodes more", "oke-h100", {NODES: 6}),
    Edit("OKE availability domain", "oke-h100", {f"{POOL}.availabilityDomain": "AD-2"}, guarded=("cluster-pool-gpu",)),
    Edit(
        "OKE machines fewer",
        "oke-h100",
        {NODES: 2},
        {NODES: 4, **_MACHINES},
        guarded=("cluster-pool-gpu-2", "cluster-pool-gpu-3"),
    ),
    Edit(
        "OKE racks with fewer nodes",
        "oke-h200",
        {NODES: 2},
        _RACKS,
        ("cluster-pool-gpu-0", "cluster-pool-gpu-1"),
    ),
    Edit("OKE shape", "oke-h100", {f"{POOL}.shape": "BM.GPU.A100-v2.8"}, guarded=("cluster-configuration-gpu",)),
    Edit(
        "OKE image of machines",
        "oke-h100",
        {f"{POOL}.imageId": "ocid1.image.oc1.iad.aaaaaaaaanother"},
        {NODES: 2, **_MACHINES},
        ("cluster-pool-gpu-0", "cluster-pool-gpu-1"),
    ),
    Edit(
        "OKE imported image of machines",
        "oke-h100",
        {f"{POOL}.imageUri": "https://objectstorage.example/another"},
        {NODES: 2, f"{POOL}.imageUri": "https://objectstorage.example/image", **_MACHINES},
        ("cluster-pool-gpu-0", "cluster-pool-gpu-1"),
    ),
    Edit("OKE placement", "oke-h100", {f"{POOL}.placement": "compute-cluster"}, guarded=("cluster-pool-gpu",)),
    Edit("OKE region", "oke-h100", {"cluster.region": "us-phoenix-1"}, guarded=("cluster-cluster",)),
    Edit("OKE cluster renamed", "oke-h100", {"cluster.name": "other"}, guarded=("cluster-vcn",)),
    Edit(
        "OKE public load balancers",
        "oke-h100",
        {"cluster.vcn.publicLoadBalancers": True},
        guarded=("cluster-cluster",),
    ),
    Edit("OKE internet cut", "oke-h100", {"cluster.vcn.internet": False}, guarded=("cluster-nat-gateway",)),
    Edit(
        "OKE ranges moved",
        "oke-h100",
        {"cluster.ranges.nodes": "10.141.0.0/16"},
        guarded=(
            "cluster-vcn",
            "cluster-subnet-control-plane",
            "cluster-subnet-internal-lb",
            "cluster-subnet-workers",
        ),
    ),
    Edit("OKE version raised", "oke-h100", {"cluster.version": "1.28.2"}),
    Edit(
        "OKE release line",
        "oke-h100",
        {"software.releaseLine": "26.4"},
        # The line's own namespace is left with everything in it.
        guarded=(
            "namespaces-network-operator",
            *of_rails("ip-pools-rail-{}-network-operator", range(16)),
            "release-line",
        ),
    ),
    Edit("OKE cycling pool with another image", "oke-h200", {f"{POOL}.imageId": _IMAGE}, guarded=("cluster-pool-gpu",)),
    Edit(
        "OKE cycling pool with another imported image",
        "oke-h200",
        {f"{POOL}.imageUri": "https://objectstorage.example/another"},
        {f"{POOL}.imageId": None, f"{POOL}.imageUri": "https://objectstorage.example/image"},
        ("cluster-pool-gpu",),
    ),
    Edit(
        "OKE cycling pool with other boot steps",
        "oke-h200",
        {f"{POOL}.boot": {"afterJoin": "touch /joined"}},
        guarded=("cluster-pool-gpu",),
    ),
    Edit(
        "OKE cycling pool with other labels",
        "oke-h200",
        {f"{POOL}.labels": {"team": "a"}},
        # Nodes that are not renewed yet have no such label, and lose their addresses at once.
        guarded=("cluster-pool-gpu", *of_rails("ip-pools-rail-{}-nvidia-network-operator", range(8))),
    ),
    Edit(
        "OKE version raised where machines are replaced",
        "oke-h200",
        {"cluster.version": "1.34.2"},
        _REPLACING,
        ("cluster-pool-gpu",),
    ),
    Edit(
        "OKE cycling switched on",
        "oke-h200",
        {f"{POOL}.cycling": "boot-volume-replace"},
        _NOT_CYCLING,
        ("cluster-pool-gpu",),
    ),
    Edit("OKE cycling in another mode", "oke-h200", _REPLACING, guarded=("cluster-pool-gpu",)),
    Edit("OKE cycling switched off with another image", "oke-h200", {**_NOT_CYCLING, f"{POOL}.imageId": _IMAGE}),
    Edit("OKE cycling pool with fewer nodes", "oke-h200", {NODES: 2}, guarded=("cluster-pool-gpu",)),
    Edit(
        "OKE stack on a cluster that exists",
        "oke-h100",
        {"cluster": _EXISTING},
        guarded=("cluster-vcn", "cluster-cluster"),
    ),
    Edit(
        "OKE scheduler removed",
        "oke-h100",
        {"software.schedulers": None},
        guarded=("namespaces-volcano-system",),
    ),
)
