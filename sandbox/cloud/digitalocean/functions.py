"""The functions that a program may ask: versions, sizes, a cluster by its name."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from ..resource import Call, CloudError, Function
from ..wire import Properties, Secret
from . import facts
from .api import Api, new_id
from .cluster_records import PLUGINS, cluster_properties
from .kubernetes_clusters import fetch_credentials
from .pool_records import pool_properties

_PAGE = 20
"""Clusters on the first page of the API's list, the only one that the provider looks at."""


def functions(api: Api) -> dict[str, Function]:
    """The functions by Pulumi's tokens."""
    answers = {"getKubernetesVersions": _versions, "getKubernetesCluster": _cluster, "getSizes": _sizes}
    return {f"digitalocean:index/{name}:{name}": partial(answer, api) for name, answer in answers.items()}


def _versions(api: Api, call: Call, given: Properties) -> Properties:
    prefix = given.get("versionPrefix") or ""
    offered = api.request(call, "GET", "/v2/kubernetes/options", facts.versions)
    valid = [version for version in offered if version.startswith(prefix)]
    answer = {"id": new_id(), "validVersions": valid, "latestVersion": valid[0] if valid else ""}
    return answer | ({"versionPrefix": prefix} if prefix else {})


def _cluster(api: Api, call: Call, given: Properties) -> Properties:
    name = given.get("name")
    listed = api.request(call, "GET", "/v2/kubernetes/clusters", lambda: api.store.list("clusters"))[:_PAGE]
    cluster = next((each for each in listed if each["name"] == name), None)
    if cluster is None:
        raise CloudError(f"Unable to find cluster with name: {name}")
    properties = cluster_properties(cluster)
    firewall = properties.pop("controlPlaneFirewall", None)
    blocks = {plugin: {"enabled": cluster["plugins"].get(plugin, False)} for plugin in PLUGINS}
    credentials = fetch_credentials(api, call, cluster, given.get("kubeconfigExpireSeconds") or 0)
    return {
        **properties,
        **blocks,
        "id": cluster["id"],
        "urn": properties["clusterUrn"],
        "maintenancePolicies": [properties["maintenancePolicy"]],
        "controlPlaneFirewalls": [firewall] if firewall else [],
        "nodePools": [
            {"id": pool["id"], **pool_properties(pool, with_count=True)} for pool in api.pools(cluster["id"])
        ],
        "kubeConfigs": Secret([credentials]),
    }


def _sizes(api: Api, call: Call, given: Properties) -> Properties:
    offered = api.request(call, "GET", "/v2/sizes", facts.sizes)
    shown = [_size(size) for size in offered.values()]
    for rule in given.get("filters") or []:
        shown = [size for size in shown if _passes(size, rule)]
    for order in reversed(given.get("sorts") or []):
        key = _key(order["key"])
        shown.sort(key=lambda size: size[key], reverse=order.get("direction") == "desc")
    return {"id": new_id(), "sizes": shown, "filters": given.get("filters") or [], "sorts": given.get("sorts") or []}


def _size(size: facts.Size) -> Properties:
    gpu = {
        "count": size.gpus,
        "model": f"{size.vendor}_{(size.gpu_model or '').lower().replace(' ', '_')}",
        "vrams": [{"amount": size.gpu_memory_gib, "unit": "gib"}],
        "supportedPartitionModes": [],
    }
    return {
        "slug": size.slug,
        "available": True,
        "vcpus": size.vcpus or 0,
        "memory": size.memory_mib or 0,
        "regions": list(size.regions or facts.regions()),
        "gpuInfos": [gpu] if size.gpus else [],
        # the simulated account has no costs
        "priceHourly": 0.0,
        "priceMonthly": 0.0,
        "disk": 0,
        "transfer": 0.0,
    }


def _passes(size: Properties, rule: Properties) -> bool:
    key, wanted = _key(rule["key"]), [str(value) for value in rule["values"]]
    value = size[key]
    present = [_text(part) for part in value] if isinstance(value, list) else [_text(value)]
    how = rule.get("matchBy") or "exact"
    hits = [any(_matches(how, text, want) for text in present) for want in wanted]
    return all(hits) if rule.get("all") else any(hits)


def _matches(how: str, text: str, wanted: str) -> bool:
    if how == "re":
        return re.search(wanted, text) is not None
    return wanted in text if how == "substring" else text == wanted


def _key(name: str) -> str:
    # filters name fields as Terraform does
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
