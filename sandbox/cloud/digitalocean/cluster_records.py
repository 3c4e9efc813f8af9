"""Clusters as the API keeps them: what a request makes of one, and how the provider shows it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..store import Record
from ..wire import Properties
from . import facts
from .api import Api, new_id, shown, unprocessable
from .pool_records import new_pool
from .validation import check_account, check_cluster, check_cluster_name
from .vpcs import default_vpc

# Managed software that is switched on and off; several come on by themselves (see `switch_on_plugins`).
PLUGINS: tuple[str, ...] = (
    "amdGpuDevicePlugin",
    "amdGpuDeviceMetricsExporterPlugin",
    "amdGpuDraDriver",
    "corednsAutoscaler",
    "nfsCsiPlugin",
    "nvidiaGpuDevicePlugin",
    "nvidiaGpuDraDriver",
    "p2pOciRegistryPlugin",
    "rdmaSharedDevicePlugin",
    "routingAgent",
)
# What the API picks for a cluster that names no ranges (DOKS guide).
_POD_RANGE, _SERVICE_RANGE = "10.244.0.0/16", "10.245.0.0/16"
_WINDOW = {"day": "any", "startTime": "00:00", "duration": "4h0m0s"}
_FAILURE = "the cluster could not be provisioned"


def new_cluster(api: Api, inputs: Mapping[str, Any]) -> tuple[Record, Record]:
    """Make a cluster with its default pool, inside a request; it is yet to be provisioned. Raises Refused."""
    check_cluster(api, inputs)
    check_account(api, [inputs["nodePool"]["size"]])
    region = inputs["region"].lower()
    version = facts.resolve_version(inputs["version"]) or inputs["version"]
    ha, now = inputs.get("ha"), api.stamp()
    cluster = {
        "id": new_id(),
        "name": inputs["name"],
        "region": region,
        "version": version,
        "vpc_uuid": inputs.get("vpcUuid") or default_vpc(api, region)["id"],
        "worker_subnet_uuid": inputs.get("workerSubnetUuid") or "",
        "cluster_subnet": inputs.get("clusterSubnet") or _POD_RANGE,
        "service_subnet": inputs.get("serviceSubnet") or _SERVICE_RANGE,
        "vpc_native": bool(inputs.get("clusterSubnet") and inputs.get("serviceSubnet")),
        "isolated_workers": bool(inputs.get("isolatedWorkers")),
        "ha": facts.has_ha_by_default(version) if ha is None else ha,
        "plugins": {},
        "status": "provisioning",
        "message": "",
        "created_at": now,
        "updated_at": now,
        "endpoint": "",
        "authority": "",
        "tokens": {},
        "managed": None,
        "surge_upgrade": False,
        "tags": [],
        "maintenance_policy": dict(_WINDOW),
        "ssos": [],
    }
    cluster |= _settings(cluster, inputs)
    if facts.has_ha_by_default(version):
        cluster["plugins"].setdefault("corednsAutoscaler", True)
    pool = new_pool(api, cluster, inputs["nodePool"], default=True)
    if api.faults.happens("cluster-error"):
        cluster |= {"status": "error", "message": _FAILURE}
    return api.store.add("clusters", cluster), pool


def changed_cluster(api: Api, cluster: Record, inputs: Mapping[str, Any], state: Mapping[str, Any]) -> Record:
    """A cluster as an update wants it, inside a request. Raises Refused."""
    check_cluster_name(api, inputs["name"], cluster["id"])
    ha = inputs.get("ha")
    if cluster["ha"] and ha is False:
        raise unprocessable("high availability cannot be disabled once it is enabled")
    # blocks that the program no longer has are sent as they are in the state
    blocks = {name: state[name] for name in (*PLUGINS, "controlPlaneFirewall") if state.get(name) is not None}
    cluster |= _settings(cluster, {**blocks, **inputs})
    cluster |= {"ha": cluster["ha"] if ha is None else ha, "updated_at": api.stamp()}
    api.store.put("clusters", cluster)
    return cluster


def upgraded_cluster(api: Api, cluster: Record, version: str) -> Record:
    """A cluster of another version, inside a request. Raises Refused for one that is lower or not on offer."""
    if version not in facts.versions():
        raise unprocessable("validation error: invalid version slug")
    if facts.is_lower(version, cluster["version"]):
        raise unprocessable(f"version {version} is lower than the cluster's version {cluster['version']}")
    cluster |= {"version": version, "updated_at": api.stamp()}
    api.store.put("clusters", cluster)
    return cluster


def cluster_properties(cluster: Record) -> Properties:
    """A cluster as the provider shows it, without its default pool and its credentials."""
    plugins = cluster["plugins"]
    return {
        **shown(cluster, "name", "region", "version", "vpc_uuid", "worker_subnet_uuid", "cluster_subnet"),
        **shown(cluster, "service_subnet", "isolated_workers", "ha", "auto_upgrade", "surge_upgrade", "tags", "ssos"),
        **shown(cluster, "maintenance_policy", "endpoint", "status", "created_at", "updated_at"),
        "clusterUrn": cluster_urn(cluster),
        # several control-plane nodes have no address in common
        "ipv4Address": "" if cluster["ha"] or not cluster["endpoint"] else "127.0.0.1",
        "clusterAutoscalerConfigurations": cluster["autoscaler"],
        "controlPlaneFirewall": cluster["firewall"],
        # an add-on that was never switched on or off has no entry
        **{name: {"enabled": plugins[name]} if name in plugins else None for name in PLUGINS},
    }


def cluster_urn(cluster: Record) -> str:
    """A cluster's name (URN) in projects."""
    return f"do:kubernetes:{cluster['id']}"


def kubeconfig(cluster: Record, token: str, end: datetime) -> Properties:
    """An element of `kubeConfigs`: a kubeconfig with this token, and its parts."""
    from gpu_fabric.base.yaml_files import as_yaml

    authority = base64.b64encode(cluster["authority"].encode()).decode()
    name = f"do-{cluster['region']}-{cluster['name']}"
    user = f"{name}-admin"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"cluster": {"certificate-authority-data": authority, "server": cluster["endpoint"]}, "name": name}
        ],
        "contexts": [{"context": {"cluster": name, "user": user}, "name": name}],
        "current-context": name,
        "users": [{"name": user, "user": {"token": token}}],
    }
    return {
        "rawConfig": as_yaml(document),
        "host": cluster["endpoint"],
        "clusterCaCertificate": authority,
        "token": token,
        "clientKey": "",
        "clientCertificate": "",
        "expiresAt": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _settings(cluster: Record, inputs: Mapping[str, Any]) -> Record:
    """What can change in the life of a cluster, as a request sets it; what it leaves out stays."""
    plugins = {name: inputs[name]["enabled"] for name in PLUGINS if inputs.get(name) is not None}
    window = {key: value for key, value in (inputs.get("maintenancePolicy") or {}).items() if value is not None}
    if "day" in window:
        window["day"] = window["day"].lower()
    autoscaler = inputs.get("clusterAutoscalerConfigurations") or []
    return {
        "name": inputs["name"],
        # no request carries an empty list or a false value of these
        "tags": sorted(inputs.get("tags") or []) or cluster["tags"],
        "surge_upgrade": inputs.get("surgeUpgrade", True) or cluster["surge_upgrade"],
        "auto_upgrade": bool(inputs.get("autoUpgrade")),
        "maintenance_policy": {**cluster["maintenance_policy"], **window},
        "plugins": {**cluster["plugins"], **plugins},
        "firewall": inputs.get("controlPlaneFirewall"),
        # the first element is all that the provider sends
        "autoscaler": autoscaler[:1],
        "ssos": inputs.get("ssos") or cluster["ssos"],
    }
