"""What the API refuses. Texts that are not known from the real one are our own.

Sources: the DOKS guide, DigitalOcean's limits pages and the errors that users of the provider report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network
from typing import Any

from ..store import Record
from . import facts
from .api import Api, unprocessable

_PRIVATE = [IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
_VPC_NAME = re.compile(r"[A-Za-z0-9.-]+")
_PARTITION_MODES = ("AMD_PARTITION_MODE_SPX_NPS1", "AMD_PARTITION_MODE_DPX_NPS2")


def check_region(region: str) -> None:
    """Raises Refused for a region that is not DigitalOcean's."""
    if region not in facts.regions():
        raise unprocessable(f"invalid region {region}")


def check_vpc(api: Api, name: str, region: str, ip_range: str | None) -> None:
    """Raises Refused for a VPC that cannot be made."""
    from gpu_fabric.catalog import catalog

    check_region(region)
    check_vpc_name(api, name)
    if ip_range is None:
        return
    limits = catalog().doks_clusters.limits
    network = _private_network(ip_range, "ip_range")
    if network.prefixlen < limits.shortest_vpc_prefix:
        raise unprocessable(f"ip_range {ip_range} is too large: a VPC is at most a /{limits.shortest_vpc_prefix}")
    if network.prefixlen > limits.longest_vpc_prefix:
        raise unprocessable(f"ip_range {ip_range} is too small: a VPC is at least a /{limits.longest_vpc_prefix}")
    _check_free(network, taken_ranges(api), "ip_range")


def check_vpc_name(api: Api, name: str, own_id: str | None = None) -> None:
    """Raises Refused for a name that is taken or that no VPC can have."""
    if not _VPC_NAME.fullmatch(name):
        raise unprocessable("name may only contain alphanumeric characters, dashes, and periods")
    if any(vpc["name"] == name and vpc["id"] != own_id for vpc in api.store.list("vpcs")):
        raise unprocessable(f"a VPC with the name {name} exists already")


def check_cluster(api: Api, inputs: Mapping[str, Any]) -> None:
    """Raises Refused for a cluster that cannot be made, its default pool apart."""
    check_region(inputs["region"].lower())
    check_cluster_name(api, inputs["name"])
    if facts.resolve_version(inputs["version"]) is None:
        raise unprocessable("validation error: invalid version slug")
    vpc = None
    if vpc_id := inputs.get("vpcUuid"):
        vpc = api.store.get("vpcs", vpc_id)
        if vpc is None:
            raise unprocessable(f"VPC {vpc_id} does not exist")
        if vpc["region"] != inputs["region"].lower():
            raise unprocessable(f"VPC {vpc_id} is in region {vpc['region']}, not {inputs['region'].lower()}")
    if inputs.get("isolatedWorkers") and not (vpc or {}).get("nat_gateway"):
        raise unprocessable("isolated workers need a NAT gateway in the cluster's VPC")
    taken = taken_ranges(api)
    for key in ("clusterSubnet", "serviceSubnet"):
        if text := inputs.get(key):
            network = _private_network(text, key)
            _check_free(network, taken, key)
            taken[f"{key} of the same cluster"] = network


def check_cluster_name(api: Api, name: str, own_id: str | None = None) -> None:
    """Raises Refused for a name that another cluster has."""
    if any(cluster["name"] == name and cluster["id"] != own_id for cluster in api.store.list("clusters")):
        raise unprocessable(f"a cluster with the name {name} exists already")


def check_pool(api: Api, cluster: Record, others: Iterable[Record], pool: Mapping[str, Any]) -> None:
    """Raises Refused for a pool that a cluster cannot have besides its others; `pool` has the names of our records."""
    from gpu_fabric.catalog import catalog

    others = list(others)
    if any(other["name"] == pool["name"] for other in others):
        raise unprocessable(f"a node pool with the name {pool['name']} exists already in this cluster")
    size = facts.sizes().get(pool["size"])
    if size is None:
        raise unprocessable("invalid droplet size")
    if size.regions and cluster["region"] not in size.regions:
        raise unprocessable(f"size {size.slug} is not available in region {cluster['region']}")
    if (mode := pool.get("gpu_partition_mode")) and (size.vendor != "amd" or mode not in _PARTITION_MODES):
        raise unprocessable(f"gpu_partition_mode {mode} is not supported for size {size.slug}")
    if pool["auto_scale"] and not 0 < pool["max_nodes"] >= pool["min_nodes"]:
        raise unprocessable("max_nodes must be at least 1 and not less than min_nodes when auto_scale is true")
    if pool["count"] < 1 and not pool["auto_scale"]:
        raise unprocessable("a node pool must have at least one node")
    limits = catalog().doks_clusters.limits
    if size.multi_node:
        together = pool["count"] + sum(other["count"] for other in others if other["size"] == size.slug)
        if together > limits.multi_node_nodes:
            raise unprocessable(f"a cluster has at most {limits.multi_node_nodes} nodes of size {size.slug}")
    wide = IPv4Network(cluster["cluster_subnet"]).prefixlen <= limits.wide_pod_prefix
    most = limits.wide_nodes if wide else limits.nodes
    nodes = pool["count"] + sum(other["count"] for other in others)
    if nodes > most:
        raise unprocessable(f"a cluster has at most {most} nodes")
    vpc = IPv4Network(api.found("vpcs", cluster["vpc_uuid"])["ip_range"])
    if nodes > vpc.num_addresses - limits.vpc_addresses_taken:
        raise unprocessable(f"VPC {vpc} has no addresses for {nodes} nodes")


def check_account(api: Api, sizes: Iterable[str]) -> None:
    """Raises Refused where a fault lets the account have no Droplets, or none of a contracted size."""
    if api.faults.happens("not-enough-quota"):
        raise unprocessable("desired nodes exceed limits: the account's droplet limit would be exceeded")
    contracted = [slug for slug in sizes if (size := facts.sizes().get(slug)) and size.contracted]
    if contracted and api.faults.happens("contract-missing"):
        raise unprocessable(f"size {contracted[0]} is not available: the account has no contract for it")


def taken_ranges(api: Api) -> dict[str, IPv4Network]:
    """The account's address ranges: those of its VPCs and of its VPC-native clusters, by what they are."""
    found = {f"VPC {vpc['name']}": IPv4Network(vpc["ip_range"]) for vpc in api.store.list("vpcs")}
    for cluster in api.store.list("clusters"):
        if cluster["vpc_native"]:
            for key in ("cluster_subnet", "service_subnet"):
                found[f"{key} of cluster {cluster['name']}"] = IPv4Network(cluster[key])
    return found


def _private_network(text: str, key: str) -> IPv4Network:
    try:
        network = IPv4Network(text)
    except ValueError:
        raise unprocessable(f"{key} {text} is not an IPv4 range") from None
    if not any(network.subnet_of(private) for private in _PRIVATE):
        raise unprocessable(f"{key} {text} is not a private range (RFC 1918)")
    return network


def _check_free(network: IPv4Network, taken: Mapping[str, IPv4Network], key: str) -> None:
    for whose, other in taken.items():
        if network.overlaps(other):
            raise unprocessable(f"{key} {network} overlaps with {other} ({whose})")
