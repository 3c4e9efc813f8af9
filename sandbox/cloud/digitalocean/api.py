"""DigitalOcean's API as its provider meets it: requests that may be refused, limited or fail, and are tried again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import ClassVar, TypeVar

from pydantic.alias_generators import to_camel

from ..clock import Clock
from ..faults import Faults
from ..requests import Account, Clusters, Refused
from ..resource import Call, CloudError, ResourceType
from ..store import Record, Store
from ..wire import Properties
from .fields import fields_of

__all__ = ["Api", "ApiError", "ApiResource", "Clusters", "Refused", "new_id", "not_found", "shown", "unprocessable"]

T = TypeVar("T")

_URL = "https://api.digitalocean.com"
DEFAULT_RETRIES = 4
TOKEN_DAYS = 7


class ApiError(CloudError):
    """A request failed for good. `status` is that of the last answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def after(self, what: str) -> ApiError:
        """The same error with what the provider was doing before it."""
        return ApiError(self.status, f"{what}: {self}")


def not_found() -> Refused:
    return Refused(404, "The resource you requested could not be found.")


def unprocessable(message: str) -> Refused:
    return Refused(422, message)


class Api(Account):
    """One account of the simulated DigitalOcean, as one instance of the provider uses it."""

    outages = {"rate-limited": (429, "API rate limit exceeded."), "server-error": (500, "Server Error")}

    def __init__(self, store: Store, faults: Faults, clock: Clock, clusters: Clusters, account_token: str) -> None:
        super().__init__(store, faults, clock, clusters, DEFAULT_RETRIES)
        self.account_token = account_token

    def request(self, call: Call, method: str, path: str, action: Callable[[], T]) -> T:
        """Carry out one request; no other runs in between. Raises ApiError with the provider's words."""

        def failed(status: int, message: str, tries: int) -> ApiError:
            given_up = f"; giving up after {tries} attempt(s)" if tries > 1 else ""
            return ApiError(status, f'{method} {_URL}{path}: {status} (request "{new_id()}") {message}{given_up}')

        return self.attempt(call, action, failed)

    def found(self, collection: str, identifier: str) -> Record:
        """The record of this id, inside a request. Raises Refused (404)."""
        record = self.store.get(collection, identifier)
        if record is None:
            raise not_found()
        return record

    def pools(self, cluster_id: str) -> list[Record]:
        """A cluster's pools, the oldest first."""
        return [pool for pool in self.store.list("pools") if pool["cluster_id"] == cluster_id]

    def stamp(self) -> str:
        """The date as the provider shows it, which is how Go prints one."""
        return self.clock.today().strftime("%Y-%m-%d %H:%M:%S +0000 UTC")


class ApiResource(ResourceType):
    """A resource type whose operations are requests; `kind` is the last part of its token."""

    kind: ClassVar[str]

    def __init__(self, api: Api) -> None:
        self._api = api
        self.fields = fields_of(self.kind)


def shown(record: Record, *names: str) -> Properties:
    """Fields of a record, by the provider's names for them."""
    return {to_camel(name): record[name] for name in names}


def new_id() -> str:
    return str(uuid.uuid4())
