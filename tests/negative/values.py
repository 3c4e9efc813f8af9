"""Values of the wrong type, words that are not in the list, numbers out of bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, empty, provided_by, together, with_addresses, written, written_below

_OWN = "cluster.shapes.guide-cx5"
_POOL = "cluster.pools[0]"
_AT = "fabric.addressing"
SECRET = "tok-4f1c9e-secret"

_existing, _doks, _oke = provided_by("existing"), provided_by("doks"), provided_by("oke")


def _own_shape(base: Base) -> bool:
    return base.has(_OWN)


def _bounds(place: str, *outside: int) -> Kind:
    return Kind(f"{place.rpartition('.')[2]} is out of bounds", "SPC002", written(place, *outside))


def _words(place: str, *others: str) -> Kind:
    key = place.rpartition(".")[2]
    return Kind(f"{key} is a word that {key} does not know", "SPC002", written(place, *others))


def _quoted(base: Base) -> Iterator[Mistake]:
    """Every number of the file in quotes, and some that could be in it."""
    yield from written(f"{_POOL}.nodes", str(base.nodes))(base)
    for key in ("mtu", "vfsPerNic", "podsPerNic"):
        yield from written(f"fabric.{key}", str(base.at(f"fabric.{key}", 2000)))(base)
    for key in ("prefixLength", "nodePrefixLength", "railSlots", "addressesPerNode", "spareNodes", "reservedFirst"):
        yield from written(f"{_AT}.{key}", str(base.addressing(key, 16)))(base)


def _pools_as_a_mapping(base: Base) -> Iterator[Mistake]:
    rest = {key: value for key, value in base.pool.items() if key != "name"}
    yield Mistake({"cluster.pools": {base.pool["name"]: rest}}, "cluster.pools")
    yield Mistake({"cluster.pools": base.pool}, "cluster.pools")


def _secrets(base: Base) -> Iterator[Mistake]:
    sealed: dict[str, Any] = {"secure": SECRET}
    places = [f"{_POOL}.{key}" for key in ("name", "nodes", "shape")]
    places += [f"{_AT}.supernet", "fabric.mtu", "fabric.model", "software.charts", "software.releaseLine"]
    if base.provider == "existing":
        places += ["cluster.kubeconfig", "cluster.kubeconfigSecret", "cluster.context", "cluster.ranges.pods"]
    for place in places:
        yield Mistake({place: sealed}, place)


def _plain_kubeconfig(base: Base) -> Iterator[Mistake]:
    if base.has("cluster.kubeconfig") and base.provider == "existing":
        named = {"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access"}
        text = "apiVersion: v1\nkind: Config\nusers: [{name: a, user: {token: abcdefgh}}]\n"
        yield Mistake({**named, "access": text}, "access")


TYPES = (
    Kind("a number stands in quotes", "SPC002", _quoted),
    Kind("a count is a fraction", "SPC002", together(
        written(f"{_POOL}.nodes", 2.5),
        written(f"{_AT}.railSlots", 8.5),
        written("fabric.mtu", 4220.5))),
    Kind("a word stands where a number belongs", "SPC002", together(
        written(f"{_POOL}.nodes", "four", "4 nodes", "auto"),
        written("fabric.mtu", "jumbo", "9k"),
        written(f"{_AT}.prefixLength", "/24", "auto"),
        written(f"{_AT}.reservedFirst", "192.168.0.10"))),
    Kind("true or false stands where a number belongs", "SPC002", together(
        written(f"{_POOL}.nodes", True),
        written(f"{_AT}.spareNodes", False),
        written("fabric.vfsPerNic", True))),
    Kind("a number stands where text belongs", "SPC002", together(
        written("software.releaseLine", 26.4, 26),
        written("cluster.kubernetes", 1.34, where=_existing),
        written("cluster.version", 1.35, where=provided_by("doks", "oke")),
        written("fabric.pkey", 17, 0x8001),
        written(f"{_POOL}.name", 1),
        written_below(f"{_POOL}.labels", ".rack", {"rack": 7}),
        written(f"{_AT}.supernet", 3232235520, 10.0))),
    Kind("text or a number stands where true or false belongs", "SPC002", together(
        written("software.gpuOperator.driver", "yes", "true", 1),
        written("software.networkOperator.multus", "no", 0),
        written("cluster.autoUpgrade", "false", where=_doks),
        written("cluster.enhanced", "basic", where=_oke),
        written_below("fabric.namespaces", "[0].create", [{"name": "jobs", "create": "yes"}]))),
    Kind("a list stands where a mapping belongs", "SPC002", together(
        written("cluster", [{"provider": "existing"}]),
        written("fabric", [{"model": "sriov"}]),
        written(_AT, ["192.168.0.0/16"]),
        written("cluster.ranges", ["10.244.0.0/16", "10.96.0.0/16"]),
        written(f"{_POOL}.labels", ["gpu"]),
        written("software", ["26.4"]),
        written("software.gpuOperator", ["driver"]))),
    Kind("text stands where a mapping belongs", "SPC002", together(
        written("cluster", "existing"),
        written("fabric", "sriov"),
        written(_AT, "192.168.0.0/16"),
        written("cluster.ranges", "10.0.0.0/8"),
        written_below("cluster.pools", "[0]", ["gpu"]),
        written("software", "26.4"))),
    Kind("the pools are a mapping", "SPC002", _pools_as_a_mapping),
    Kind("one entry stands where a list belongs", "SPC002", together(
        written(f"{_AT}.exclude", "192.168.0.10", where=with_addresses),
        written("cluster.ranges.reserved", "172.20.0.0/16"),
        written(f"{_POOL}.nodeNames", "gpu-node-0"),
        written("cluster.installed", "nfd"),
        written("fabric.namespaces", "default"),
        written("fabric.rails", {"rail": 0}),
        written(f"{_POOL}.taints", {"key": "gpu"}))),
    Kind("a list stands where one value belongs", "SPC002", together(
        written(f"{_AT}.supernet", ["192.168.0.0/16"]),
        written(f"{_POOL}.shape", ["BM.GPU.H100.8"]),
        written("fabric.model", ["sriov", "macvlan"]),
        written("cluster.ranges.pods", ["10.244.0.0/16"]))),
    Kind("a key has no value after it", "SPC002",
        empty(f"{_POOL}.name", f"{_POOL}.shape", f"{_POOL}.nodes", "cluster.pools", "cluster.ranges",
            "fabric.addressing", "software.releaseLine", "software.charts", "cluster.region", "cluster.version")),
    Kind("an encrypted value stands where plain text belongs", "SPC002", _secrets),
    Kind("a kubeconfig is in plain text under the key of its secret", "SPC006", _plain_kubeconfig),
)  # fmt: skip

WORDS = (
    _words("cluster.provider", "aws", "OKE", "Existing", "digitalocean", "kubernetes"),
    _words("fabric.model", "SRIOV", "sr-iov", "mac-vlan", "ipvlan", "hostNetwork", "rdma"),
    _words("fabric.manager", "networkOperator", "nvidia", "helm"),
    _words("fabric.rdmaMode", "Exclusive", "isolated", "netns"),
    _words("fabric.linkType", "roce", "ib", "ethernet", "InfiniBand"),
    _words(f"{_AT}.layout", "perRail", "per_node", "rail", "Flat"),
    _words(f"{_AT}.ipam", "nvipam", "host-local", "dhcp"),
    _words(f"{_AT}.gateway", "yes", "First", "192.168.0.1"),
    Kind("a taint has an effect that Kubernetes does not know", "SPC002",
        written_below(f"{_POOL}.taints", "[0].effect", *([{"key": "nvidia.com/gpu", "effect": word}]
            for word in ("noSchedule", "NoEviction", "Never")))),
    Kind("software is said to be there that nobody knows", "SPC002", together(
        written_below("cluster.installed", "[0]", ["node-feature-discovery"], ["NFD"], ["gpu_operator"]),
        written_below("cluster.installed", "[1]", ["nfd", "istio"]))),
)  # fmt: skip

BOUNDS = (
    _bounds(f"{_POOL}.nodes", 0, -1, 8193, 100000),
    _bounds("fabric.mtu", 0, 1279, 1500 * 10, 9601),
    _bounds("fabric.vfsPerNic", -1, 129),
    _bounds("fabric.podsPerNic", 0, -4, 1001),
    _bounds(f"{_AT}.railSlots", 0, 65, 128),
    _bounds(f"{_AT}.prefixLength", 0, -24, 128),
    _bounds(f"{_AT}.nodePrefixLength", 0, 129),
    _bounds(f"{_AT}.addressesPerNode", 0, -1),
    _bounds(f"{_AT}.reservedFirst", -1, 65536),
    _bounds(f"{_AT}.reservedLast", -1, 70000),
    _bounds(f"{_AT}.spareNodes", -1, 65537),
    _bounds(f"{_AT}.surgeNodes", -2, 65537),
    _bounds(f"{_AT}.growthStep", 0, 8193),
    Kind("the number of a rail is out of bounds", "SPC002",
        written_below("fabric.rails", "[0].rail", *([{"rail": number, "interface": "rdma0"}] for number in (-1, 64)))),
    Kind("a machine type of one's own has an impossible count", "SPC002", together(
        written(f"{_OWN}.gpus.count", 0, -8, where=_own_shape),
        written(f"{_OWN}.mtu", 500, 65520, where=_own_shape),
        written(f"{_OWN}.nicSpeedGbps", 0, 400_000, where=_own_shape),
        written(f"{_OWN}.vfsPerNic", -1, 256, where=_own_shape),
        written(f"{_OWN}.nics[0].nearestGpu", -1, where=_own_shape))),
)  # fmt: skip

KINDS = (*TYPES, *WORDS, *BOUNDS)
