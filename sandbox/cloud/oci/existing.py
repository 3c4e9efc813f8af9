"""What a stack file names as existing at Oracle: VCN, subnets and route tables, by their ids."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.spec.oke import OkeClusterSpec
from .ids import kind_of
from .network import ranges_of, subnets_of
from .tenancy import Tenancy

_RANGE = IPv4Network("10.0.0.0/16")
"""That of a VCN of which the stack file gives none."""
_SUBNET_PREFIX = 24
_PUBLIC = ("public-lb", "bastion")


def place_existing(tenancy: Tenancy, cluster: OkeClusterSpec) -> list[str]:
    """Make what a stack file names and the simulated cloud does not have; gives what was made, in words."""
    if cluster.vcn.id is None:
        return []
    with tenancy.store.lock():
        return [*_vcn(tenancy, cluster, cluster.vcn.id), *_subnets(tenancy, cluster, cluster.vcn.id)]


def _vcn(tenancy: Tenancy, cluster: OkeClusterSpec, identifier: str) -> list[str]:
    made = []
    block = str(cluster.ranges.nodes or _RANGE)
    lists = {"defaultSecurityListId": "securitylist", "defaultRouteTableId": "routetable"}
    outputs = {name: tenancy.new_id(kind) for name, kind in lists.items()}
    outputs |= {"defaultDhcpOptionsId": tenancy.new_id("dhcpoptions"), "vcnDomainName": "", "cidrBlock": block}
    known = tenancy.store.get("vcn", identifier)
    if known is None:
        _add(tenancy, cluster, identifier, {"cidrBlocks": [block]}, {**outputs, "cidrBlocks": [block]})
        for name in lists:
            _add(tenancy, cluster, outputs[name], {"vcnId": identifier})
        made.append(f"VCN {identifier} of {block}")
    elif known.get("default") and ranges_of(known["inputs"]) != [block]:
        known["inputs"]["cidrBlocks"] = known["outputs"]["cidrBlocks"] = [block]
        tenancy.store.put("vcn", {**known, "outputs": {**known["outputs"], "cidrBlock": block}})
        made.append(f"VCN {identifier} has {block} now")
    tables = cluster.vcn.route_table_ids
    for table in filter(None, (tables.private, tables.public)):
        if tenancy.store.get("routetable", table) is None:
            _add(tenancy, cluster, table, {"vcnId": identifier})
            made.append(f"route table {table}")
    return made


def _subnets(tenancy: Tenancy, cluster: OkeClusterSpec, vcn: str) -> list[str]:
    made = []
    public = {*_PUBLIC, *(("control-plane",) if cluster.endpoint.public else ())}
    for name, identifier in cluster.vcn.subnet_ids.items():
        if tenancy.store.get("subnet", identifier) is not None:
            continue
        closed = name not in public
        block = _block(tenancy, cluster, vcn, name)
        inputs = {
            "vcnId": vcn,
            "cidrBlock": block,
            "prohibitPublicIpOnVnic": closed,
            "prohibitInternetIngress": closed,
        }
        of_vcn = (tenancy.store.get("vcn", vcn) or {})["outputs"]
        outputs = {"routeTableId": of_vcn["defaultRouteTableId"], "securityListIds": [of_vcn["defaultSecurityListId"]]}
        _add(tenancy, cluster, identifier, inputs, outputs)
        made.append(f"subnet {identifier} of {block}, for {name}")
    return made


def _block(tenancy: Tenancy, cluster: OkeClusterSpec, vcn: str, name: Any) -> str:
    """A subnet's range: as stated, else that of the published plan, else one of the VCN that is free."""
    whole = cluster.ranges.nodes or _RANGE
    stated = cluster.vcn.subnets.get(name) or catalog().oke_clusters.subnets[name].within(whole)
    taken = [IPv4Network(subnet["inputs"]["cidrBlock"]) for subnet in subnets_of(tenancy, vcn)]
    taken += [IPv4Network(str(network)) for other, network in cluster.vcn.subnets.items() if other != name]
    if stated is not None and not any(IPv4Network(str(stated)).overlaps(other) for other in taken):
        return str(stated)
    own = IPv4Network(str(whole))
    free = own.subnets(new_prefix=max(_SUBNET_PREFIX, own.prefixlen + 1))
    return str(next(part for part in reversed(list(free)) if not any(part.overlaps(other) for other in taken)))


def _add(
    tenancy: Tenancy,
    cluster: OkeClusterSpec,
    identifier: str,
    inputs: dict[str, Any],
    outputs: dict[str, Any] | None = None,
) -> None:
    # Existing resources belong to no stack: like a VCN's default lists they do not block other deletions.
    record = {
        "id": identifier,
        "inputs": {"compartmentId": cluster.compartment_id, **inputs},
        "outputs": {"state": "AVAILABLE", **(outputs or {})},
        "default": True,
        "busy_until": 0.0,
    }
    tenancy.store.add(kind_of(identifier), record)
