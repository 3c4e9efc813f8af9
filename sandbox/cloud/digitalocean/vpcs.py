"""The resource type Vpc."""

from __future__ import annotations

import time
from ipaddress import IPv4Network
from typing import Any

from ..resource import Call
from ..store import Record
from ..wire import Properties
from .api import Api, ApiError, ApiResource, Refused, new_id, unprocessable
from .validation import check_vpc, check_vpc_name, taken_ranges

_DELETE_LIMIT_S = 2 * 60
_RETRY_S = 10
_POOL_OF_RANGES = IPv4Network("10.128.0.0/9")
_CHOSEN_PREFIX = 20


class Vpc(ApiResource):
    """A VPC; its region and its range are for life."""

    time_limits = ("delete",)
    kind = "Vpc"

    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        try:
            record = self._api.request(call, "POST", "/v2/vpcs", lambda: new_vpc(self._api, inputs))
        except ApiError as error:
            raise error.after("Error creating VPC") from None
        return record["id"], _properties(record)

    def read(self, call: Call, identifier: str, state: Properties) -> Properties | None:
        try:
            return _properties(
                self._api.request(call, "GET", f"/v2/vpcs/{identifier}", lambda: self._api.found("vpcs", identifier))
            )
        except ApiError as error:
            if error.status == 404:
                return None
            raise error.after("Error reading VPC") from None

    def update(self, call: Call, identifier: str, state: Properties, news: Properties) -> Properties:
        def put() -> Record:
            record = self._api.found("vpcs", identifier)
            check_vpc_name(self._api, news["name"], identifier)
            record |= {"name": news["name"], "description": news.get("description", "")}
            self._api.store.put("vpcs", record)
            return record

        try:
            return _properties(self._api.request(call, "PUT", f"/v2/vpcs/{identifier}", put))
        except ApiError as error:
            raise error.after("Error updating VPC") from None

    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        limit, watch, waited = call.limit(_DELETE_LIMIT_S), self._api.clock.stopwatch(), 0
        while True:
            try:
                self._api.request(call, "DELETE", f"/v2/vpcs/{identifier}", lambda: _remove(self._api, identifier))
                return
            except ApiError as error:
                if error.status == 404:
                    return
                if error.status not in (403, 409) or watch.reached(limit):
                    raise error.after("Error deleting VPC") from None
            waited += _RETRY_S
            call.say("the VPC still has members, trying again")
            watch.wait_until(min(waited, limit), call.cancelled)


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
