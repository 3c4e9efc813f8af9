"""A good stack file as a person reads it, without the program: what its mistakes are made from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

# RDMA NICs of the machines in the good stacks, from their vendors' tables.
_RAILS = {
    "BM.GPU.A100-v2.8": 16,
    "BM.GPU.H100.8": 16,
    "BM.GPU.H200.8": 8,
    "server.dgx-h100.8": 8,
    "server.mi300x.8": 8,
    "gpu-b300x8-2304gb-lc-fabric-contracted": 16,
    "gpu-h200x8-1128gb-fabric-contracted": 8,
    "gpu-mi325x8-2048gb-fabric-contracted": 8,
}
_VIRTUAL = ("sriov", "ib-sriov")
_SHARED = ("macvlan", "ipoib")


@cache
def parts(place: str) -> tuple[int | str, ...]:
    """The keys and list positions that a place such as `cluster.pools[0].nodes` leads through."""
    return tuple(int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", place))


def parent(place: str) -> str:
    """The place of the mapping that holds a place; empty for a section."""
    return place.rpartition(".")[0]


def sibling(place: str, key: str) -> str:
    """The place of another key in the same mapping."""
    return f"{parent(place)}.{key}".lstrip(".")


@dataclass(frozen=True)
class Base:
    """A good stack file. Choices that it leaves out are those of the configuration reference."""

    name: str
    sections: Mapping[str, Any]

    def at(self, place: str, default: Any = None) -> Any:
        """What is written at a place."""
        here: Any = self.sections
        for part in parts(place):
            if isinstance(here, Mapping):
                here = here.get(part)
            elif isinstance(here, list) and isinstance(part, int) and part < len(here):
                here = here[part]
            else:
                here = None
            if here is None:
                return default
        return here

    def has(self, place: str) -> bool:
        """Whether something is written at a place."""
        return self.at(place) is not None

    def addressing(self, key: str, default: Any = None) -> Any:
        """What is written for a key of `fabric.addressing`."""
        return self.at(f"fabric.addressing.{key}", default)

    @cached_property
    def provider(self) -> str:
        return str(self.at("cluster.provider"))

    @cached_property
    def manager(self) -> str:
        return str(self.at("fabric.manager", "doks" if self.provider == "doks" else "network-operator"))

    @cached_property
    def model(self) -> str:
        usual = "ib-sriov" if self.at("fabric.linkType") == "infiniband" else "sriov"
        return str(self.at("fabric.model", "host-device" if self.manager == "doks" else usual))

    @cached_property
    def layout(self) -> str:
        if self.manager == "doks" or self.model == "host-network":
            return "none"
        usual = "flat" if (self.manager, self.model) == ("spiderpool", "ib-sriov") else "per-rail"
        return str(self.addressing("layout", usual))

    @cached_property
    def ipam(self) -> str:
        usual = {"network-operator": "nv-ipam", "spiderpool": "spiderpool", "doks": "host"}[self.manager]
        return str(self.addressing("ipam", usual))

    @cached_property
    def line(self) -> str:
        return str(self.at("software.releaseLine", "26.4"))

    @cached_property
    def maker(self) -> str | None:
        """Who makes the virtual functions that the Network Operator hands out; None where it uses none."""
        if self.manager != "network-operator" or self.model not in _VIRTUAL:
            return None
        return str(self.at("fabric.virtualFunctions", "node-image"))

    @cached_property
    def choices(self) -> tuple[object, ...]:
        """What decides, with the wrong values, whether a mistake is one: stacks that are alike have it in common."""
        pools, shapes, fabrics = (self.at(key, {}) for key in ("cluster.pools", "cluster.shapes", "fabrics"))
        left_out = {name for name in self.at("software", {}) if self.at(f"software.{name}.install") is False}
        software = (self.line, frozenset(self.at("cluster.installed", ())), frozenset(left_out))
        machines = (self.amd, len(pools), frozenset(shapes), frozenset(fabrics))
        return (self.provider, self.manager, self.model, machines, software)

    @cached_property
    def pool(self) -> dict[str, Any]:
        """The first pool."""
        return dict(self.at("cluster.pools[0]"))

    @cached_property
    def nodes(self) -> int:
        return sum(int(pool["nodes"]) for pool in self.at("cluster.pools"))

    @cached_property
    def rails(self) -> int:
        own = self.at(f"cluster.shapes.{self.pool['shape']}") if "." not in self.pool["shape"] else None
        return len(own["nics"]) if own else _RAILS[self.pool["shape"]]

    @cached_property
    def amd(self) -> bool:
        """Whether the GPUs of the first pool are AMD's."""
        own = self.at(f"cluster.shapes.{self.pool['shape']}") if "." not in self.pool["shape"] else None
        return bool(own["gpus"]["vendor"] == "amd" if own else "mi3" in self.pool["shape"].lower())

    @cached_property
    def supernet(self) -> IPv4Network | IPv6Network | None:
        written = self.addressing("supernet")
        return ip_network(written) if written else None

    @cached_property
    def pods_per_nic(self) -> int:
        """Pods that one NIC serves: one per virtual function, as many as may share it, or the one that holds it."""
        if self.model in _VIRTUAL:
            return int(self.at("fabric.vfsPerNic", 1))
        return int(self.at("fabric.podsPerNic", 1)) if self.model in _SHARED else 1

    @cached_property
    def one_pool(self) -> bool:
        """Whether all rails take their addresses from one pool."""
        return self.layout == "flat" and self.manager != "spiderpool"

    @cached_property
    def share(self) -> int:
        """Addresses that a node gets from a pool that it shares with other nodes."""
        if self.addressing("addressesPerNode"):
            return int(self.addressing("addressesPerNode"))
        wanted = self.pods_per_nic * (self.addressing("railSlots", 16) if self.one_pool else 1)
        return wanted + (self.ipam == "nv-ipam" and self.addressing("gateway", "none") != "none")

    @cached_property
    def node_prefix(self) -> int:
        """Prefix length of a node's share of a rail, which every good stack with that layout states."""
        return int(self.addressing("nodePrefixLength"))

    @cached_property
    def prefix_room(self) -> int:
        """Addresses that pods may have of a node's IPv4 prefix: less those that the file keeps free at its start."""
        size = 1 << (32 - self.node_prefix)
        # Two addresses are a point-to-point network, which has neither network nor broadcast address.
        return (size if size <= 2 else size - 2) - self.kept_first

    @cached_property
    def kept_first(self) -> int:
        """Addresses at the start of a subnet that no pod gets: reserved ones, of which the router's may be one."""
        return max(int(self.addressing("reservedFirst", 0)), int(self.addressing("gateway") == "first"))

    @cached_property
    def kept_last(self) -> int:
        """The same at the end."""
        return max(int(self.addressing("reservedLast", 0)), int(self.addressing("gateway") == "last"))

    @cached_property
    def unnamed(self) -> dict[str, None]:
        """What takes the names of the first pool's nodes out, whose number must be that of the nodes."""
        return {"cluster.pools[0].nodeNames": None} if self.pool.get("nodeNames") else {}

    def part(self, supernet_prefix: int) -> int:
        """Prefix length of a pool's part of a supernet of that prefix length."""
        slots = int(self.addressing("railSlots", 16))
        cut = 0 if self.one_pool else (slots - 1).bit_length()
        return int(self.addressing("prefixLength", supernet_prefix + cut))

    def nodes_in(self, supernet_prefix: int) -> int:
        """How many nodes an IPv4 supernet of that prefix length serves."""
        part = self.part(supernet_prefix)
        if self.layout == "per-node":
            return 1 << (self.node_prefix - part)
        hosts = (1 << (32 - part)) - 2
        if self.ipam != "nv-ipam":
            hosts -= self.kept_first + self.kept_last
        return hosts // self.share
