"""Oracle's APIs as the provider meets them: requests that may be refused, limited or fail, and are tried again."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import TypeVar

from ..clock import Clock
from ..faults import Faults
from ..requests import Account, Clusters, Refused
from ..resource import Call, CloudError
from ..store import Record, Store
from .credentials import Credentials
from .ids import ids_in, kind_of, new_ocid

T = TypeVar("T")

DEFAULT_RETRIES = 7
DEFAULT_REGION = "us-ashburn-1"

HOLDERS = (
    "internetgateway",
    "natgateway",
    "servicegateway",
    "routetable",
    "securitylist",
    "subnet",
    "networksecuritygroup",
    "cluster",
    "nodepool",
    "clusternetwork",
    "instancepool",
    "computegpumemorycluster",
    "computecluster",
    "instance",
    "bastion",
)
"""Kinds whose objects keep those that they name from being deleted."""

_KEPT_HERE = (*HOLDERS, "vcn", "instanceconfiguration")
"""Kinds of which no object exists but those made here; images and reservations, say, may be another user's."""


class OciError(CloudError):
    """A request failed for good. `status` is that of the last answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Tenancy(Account):
    """The simulated account, as one instance of the provider uses it, in one region."""

    outages = {
        "rate-limited": (429, "TooManyRequests, too many requests for the user"),
        "server-error": (500, "InternalServerError, an internal server error occurred"),
    }

    def __init__(self, store: Store, faults: Faults, clock: Clock, clusters: Clusters, account: Credentials) -> None:
        super().__init__(store, faults, clock, clusters, DEFAULT_RETRIES)
        self.account = account
        self.folder = account.key_file.parent
        self.region = DEFAULT_REGION

    def request(self, call: Call, operation: str, action: Callable[[], T]) -> T:
        """Carry out one request; no other runs in between. Raises OciError."""

        def failed(status: int, message: str, tries: int) -> OciError:
            given_up = f" ({tries} tries)" if tries > 1 else ""
            return OciError(
                status,
                f"{status}-{message}{given_up}\nOperation Name: {operation}\nOPC request ID: {secrets.token_hex(16)}",
            )

        return self.attempt(call, action, failed)

    def found(self, identifier: str) -> Record:
        """The object of this id, inside a request. Raises Refused (404)."""
        record = self.store.get(kind_of(identifier) or "none", identifier)
        if record is None:
            raise not_found(identifier)
        return record

    def check_references(self, inputs: object) -> None:
        """Raises Refused (404) unless everything exists here that inputs name by id, inside a request."""
        for identifier in ids_in(inputs):
            if kind_of(identifier) in _KEPT_HERE:
                self.found(identifier)

    def holders(self, identifier: str) -> Iterator[Record]:
        """The objects that name this one and so keep it, inside a request."""
        for kind in HOLDERS:
            for record in self.store.list(kind):
                if identifier in ids_in(record["inputs"]) and not record.get("default") and record["id"] != identifier:
                    yield record

    def new_id(self, kind: str, *, regional: bool = True) -> str:
        return new_ocid(kind, self.region if regional else "")

    def stamp(self) -> str:
        """The date as the provider shows it."""
        return self.clock.today().strftime("%Y-%m-%d %H:%M:%S.%f +0000 UTC")


def work_request_failed(tenancy: Tenancy, entity: str, message: str) -> str:
    """The provider's error when Oracle accepted a creation and then did not carry it out."""
    work = tenancy.new_id("clustersworkrequest")
    return f"work request did not succeed, workId: {work}, entity: {entity}, action: CREATED. Message: {message}"


def not_found(identifier: str) -> Refused:
    return Refused(404, f"NotAuthorizedOrNotFound, authorization failed or {identifier} not found")


def invalid(message: str) -> Refused:
    return Refused(400, f"InvalidParameter, {message}")


def over_limit(message: str) -> Refused:
    return Refused(400, f"LimitExceeded, {message}")


def conflict(message: str) -> Refused:
    return Refused(409, f"Conflict, {message}")
