"""The resource type Vpc."""

from __future__ import annotations

import time
from ipaddress import IPv4Network
from typing import Any

from ..requests import Refused
from ..resource import Call
from ..store import Record
from ..wire import Properties
from .api import Api, ApiResource, doing, new_id, unprocessable
from .validation import check_vpc, check_vpc_name, taken_ranges

_DELETE_LIMIT_S = 2 * 60
_POOL_OF_RANGES = IPv4Network("10.128.0.0/9")
_CHOSEN_PREFIX = 20


class Vpc(ApiResource):
    """A VPC; its region and its range are for life."""

    time_limits = ("delete",)
    kind, reading = "Vpc", "Error reading VPC"

    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        with doing("Error creating VPC"):
            record = self._api.request(call, "POST", "/v2/vpcs", lambda: new_vpc(self._api, inputs))
        return record["id"], _properties(record)

    def _shown_to(self, call: Call, identifier: str, state: Properties) -> Properties:
        path = f"/v2/vpcs/{identifier}"
        return _properties(self._api.request(call, "GET", path, lambda: self._api.found("vpcs", identifier)))

    def update(self, call: Call, identifier: str, state: Properties, news: Properties) -> Properties:
        def put() -> Record:
            record = self._api.found("vpcs", identifier)
            check_vpc_name(self._api, news["name"], identifier)
            record |= {"name": news["name"], "description": news.get("description", "")}
            self._api.store.put("vpcs", record)
            return record

        with doing("Error updating VPC"):
            return _properties(self._api.request(call, "PUT", f"/v2/vpcs/{identifier}", put))

    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        def remove() -> None:
            self._api.request(call, "DELETE", f"/v2/vpcs/{identifier}", lambda: _remove(self._api, identifier))

        with doing("Error deleting VPC"):
            why = "the VPC still has members, trying again"
            self._delete(call, call.limit(_DELETE_LIMIT_S), remove, (403, 409), why)


def new_vpc(api: Api, inputs: Properties, *, default: bool = False) -> Record:
    """Make a VPC, inside a request."""
    ip_range, region = inputs.get("ipRange"), inputs["region"].lower()
    check_vpc(api, inputs["name"], region, ip_range)
    return _add(api, new_id(), {**inputs, "region": region}, default=default)


def existing_vpc(api: Api, identifier: str, region: str, ip_range: str | None) -> Record:
    """Create another owner's VPC by its id, inside a request."""
    return _add(api, identifier, {"name": f"existing-{identifier}", "region": region, "ipRange": ip_range})


def _add(api: Api, identifier: str, inputs: Properties, *, default: bool = False) -> Record:
    ip_range = inputs.get("ipRange")
    record = {
        "id": identifier,
        "name": inputs["name"],
        "region": inputs["region"],
        "description": inputs.get("description", ""),
        "ip_range": str(IPv4Network(ip_range)) if ip_range else _free_range(api),
        "default": default,
        "created_at": api.stamp(),
        "busy_until": 0.0,
    }
    return api.store.add("vpcs", record)


def default_vpc(api: Api, region: str) -> Record:
    """The region's own VPC, which every account has, inside a request."""
    found = (vpc for vpc in api.store.list("vpcs") if vpc["default"] and vpc["region"] == region)
    return next(found, None) or new_vpc(api, {"name": f"default-{region}", "region": region}, default=True)


def _free_range(api: Api) -> str:
    taken = taken_ranges(api).values()
    for network in _POOL_OF_RANGES.subnets(new_prefix=_CHOSEN_PREFIX):
        if not any(network.overlaps(other) for other in taken):
            return str(network)
    raise unprocessable("no address range is left for another VPC")


def _remove(api: Api, identifier: str) -> None:
    record = api.found("vpcs", identifier)
    if busy := api.faults.seconds("vpc-busy"):
        record["busy_until"] = api.clock.real_deadline(busy)
        api.store.put("vpcs", record)
    has_clusters = any(cluster["vpc_uuid"] == identifier for cluster in api.store.list("clusters"))
    if has_clusters or time.time() < record["busy_until"]:
        raise Refused(409, "Can not delete VPC with members")
    api.store.remove("vpcs", identifier)


def _properties(record: Record) -> dict[str, Any]:
    return {
        "name": record["name"],
        "region": record["region"],
        "description": record["description"],
        "ipRange": record["ip_range"],
        "vpcUrn": f"do:vpc:{record['id']}",
        "default": record["default"],
        "createdAt": record["created_at"],
    }
