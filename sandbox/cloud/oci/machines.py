"""What happens behind the API: machines start, join a cluster or do not, and its nodes and device plug-ins follow."""

from __future__ import annotations

import base64
import binascii
import hashlib
import time
from functools import partial
from ipaddress import IPv4Network
from typing import Any

from ..requests import Refused
from ..resource import Call
from ..store import Record
from ..wire import Properties
from . import facts
from .images import check_image
from .policies import may_join
from .tenancy import Tenancy, invalid

# A machine tries twenty times to join, a quarter of a minute apart (OKE quick-start).
_JOIN_WITHIN_S = 20 * 15
# The first addresses of a subnet are Oracle's own.
_RESERVED = 2


def check_launch(tenancy: Tenancy, details: Properties, domain: str) -> None:
    """Raises Refused for a machine that cannot be launched. Inside a request."""
    from gpu_fabric.catalog import catalog

    shape = details.get("shape") or ""
    if not facts.is_shape(shape):
        raise invalid(f"there is no shape {shape}")
    if domain not in facts.domains(tenancy.account.tenancy, tenancy.region):
        raise invalid(f"there is no availability domain {domain} in region {tenancy.region}")
    if shape.endswith(".Flex") and not (details.get("shapeConfig") or {}).get("ocpus"):
        raise invalid(f"shape {shape} needs a shapeConfig with ocpus")
    keys = {**(details.get("metadata") or {}), **(details.get("extendedMetadata") or {})}
    size, limit = (
        sum(len(f"{key}{text}".encode()) for key, text in keys.items()),
        (catalog().oke_clusters.instances.metadata_limit),
    )
    if size > limit:
        raise invalid(f"metadata have {size} bytes, and {limit} are the most")
    source = details.get("sourceDetails") or {}
    image = source.get("imageId") or source.get("sourceId") or details.get("image")
    if not image:
        raise invalid("sourceDetails names no image")
    check_image(tenancy, image, shape)


def check_capacity(tenancy: Tenancy, shape: str) -> None:
    """Raises Refused where the fault leaves no host free; it affects GPU machines only. Inside a request."""
    if facts.shape_of(shape) is not None and tenancy.faults.happens("out-of-capacity"):
        raise Refused(500, "InternalError, Out of host capacity.")


def machine_of(tenancy: Tenancy, identifier: str, details: Properties, subnet: str, **more: Any) -> Record:
    """What a machine is beyond its inputs: addresses, and the cluster that its metadata name. Inside a request."""
    public = str((details.get("createVnicDetails") or {}).get("assignPublicIp", "false")).lower() == "true"
    address = free_address(tenancy, subnet, identifier)
    return {
        "subnet": subnet,
        "address": address,
        # of a range that is for documentation only
        "public": f"203.0.113.{1 + int(address.rpartition('.')[2]) % 254}" if public else "",
        "cluster": _named_cluster(tenancy, details.get("metadata") or {}),
        # counted from the first try on, since the sandbox may need a while until then
        "join_until": None,
        "joined": False,
        "hears": True,
        "fabric": "",
        "pool": "",
        "rdma": False,
        **more,
    }


def free_address(tenancy: Tenancy, subnet: str, identity: str) -> str:
    """An address of a subnet that no machine has. Inside a request; raises Refused when none is left."""
    network = IPv4Network(tenancy.found(subnet)["inputs"]["cidrBlock"])
    taken = {machine["address"] for machine in tenancy.store.list("instance")}
    taken |= {node["address"] for pool in tenancy.store.list("nodepool") for node in pool["nodes"]}
    room = network.num_addresses - _RESERVED - 1
    start = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:4])
    for step in range(max(0, room)):
        address = str(network.network_address + _RESERVED + (start + step) % room)
        if address not in taken:
            return address
    raise invalid(f"subnet {subnet} has no address left")


def bring_about(tenancy: Tenancy, cluster_id: str) -> None:
    """Make the cluster's nodes those that its pools have and that have joined. Does not wait for nodes."""
    from .oke_nodes import node_objects
    from .plugins import plugin_objects

    with tenancy.store.lock(f"machines-{cluster_id}"):
        cluster = tenancy.store.get("cluster", cluster_id)
        if cluster is None or not cluster["endpoint"]:
            return
        pools = [pool for pool in tenancy.store.list("nodepool") if pool["inputs"]["clusterId"] == cluster_id]
        machines = [machine for machine in tenancy.store.list("instance") if machine["cluster"] == cluster_id]
        for machine in machines:
            if not machine["joined"] and (tried := _tried(tenancy, machine, cluster)):
                tenancy.change("instance", machine["id"], partial(_remember, tried))
                machine |= tried
        joined = [machine for machine in machines if machine["joined"]]
        tenancy.clusters.set_nodes(cluster_id, node_objects(tenancy, cluster, pools, joined))
        shapes = sorted({pool["inputs"]["nodeShape"] for pool in pools} | {each["inputs"]["shape"] for each in joined})
        addons = sorted(each["inputs"]["addonName"] for each in addons_of(tenancy, cluster_id))
        tenancy.install("cluster", cluster, [shapes, addons], plugin_objects)


def join_all(tenancy: Tenancy) -> None:
    """Let machines join that may by now, in every cluster."""
    for cluster in tenancy.store.list("cluster"):
        bring_about(tenancy, cluster["id"])


def addons_of(tenancy: Tenancy, cluster_id: str) -> list[Record]:
    """A cluster's add-ons, the oldest first."""
    return [each for each in tenancy.store.list("addon") if each["inputs"]["clusterId"] == cluster_id]


def tell_who_joined(tenancy: Tenancy, call: Call, machines: list[Record]) -> None:
    """Report for a resource whether its machines joined: the provider itself waits for none of them."""
    now = [tenancy.store.get("instance", machine["id"]) or machine for machine in machines]
    waiting = [machine for machine in now if not machine["joined"]]
    if not waiting:
        return
    if any(machine["cluster"] for machine in waiting):
        call.say(f"{len(waiting)} of {len(now)} machines run and have not joined: no policy lets them (CLUSTER_JOIN)")
    else:
        call.say(f"{len(waiting)} of {len(now)} machines run and join no cluster: their metadata name none")


def _tried(tenancy: Tenancy, machine: Record, cluster: Record) -> Record:
    """What a machine's try to join changes of it; empty when it tries no longer."""
    until = machine["join_until"]
    if not machine["hears"] or (until is not None and time.time() > until):
        return {}
    joined = cluster["inputs"].get("type") == "ENHANCED_CLUSTER" and may_join(tenancy, machine, cluster)
    return {"joined": joined, "join_until": tenancy.clock.real_deadline(_JOIN_WITHIN_S) if until is None else until}


def _remember(changes: Record, record: Record) -> None:
    record.update(changes)


def _named_cluster(tenancy: Tenancy, metadata: Properties) -> str:
    """The cluster whose address and authority the metadata have; empty for none."""
    host = metadata.get("apiserver_host", "")
    try:
        authority = base64.b64decode(metadata.get("cluster_ca_cert", ""), validate=True).decode().strip()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    for cluster in tenancy.store.list("cluster"):
        known = cluster["endpoint"].removeprefix("https://").rpartition(":")[0]
        if cluster["endpoint"] and (host, authority) == (known, cluster["authority"].strip()):
            return str(cluster["id"])
    return ""
