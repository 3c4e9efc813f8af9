"""DigitalOcean's API as its provider meets it: requests that may be refused, limited or fail, and are tried again."""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from pydantic.alias_generators import to_camel

from ..clock import Clock
from ..faults import Faults
from ..requests import Account, Clusters, Refused
from ..resource import Call, CloudError, ResourceType
from ..store import Record, Store
from ..wire import Properties
from .fields import fields_of

T = TypeVar("T")

_URL = "https://api.digitalocean.com"
DEFAULT_RETRIES = 4
_RETRY_S = 10
TOKEN_DAYS = 7


class ApiError(CloudError):
    """A request failed for good. `status` is that of the last answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Errors of requests begin with what the provider was doing."""
    try:
        yield
    except ApiError as error:
        raise ApiError(error.status, f"{what}: {error}") from None


@contextmanager
def gone_is_deleted() -> Iterator[None]:
    """What is not there any more counts as deleted."""
    try:
        yield
    except ApiError as error:
        if error.status != 404:
            raise


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
    reading: ClassVar[str]
    """What the provider was doing, in its words, where it could not read one."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.fields = fields_of(self.kind)

    def read(self, call: Call, identifier: str, state: Properties) -> Properties | None:
        try:
            with doing(self.reading):
                return self._shown_to(call, identifier, state)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    @abstractmethod
    def _shown_to(self, call: Call, identifier: str, state: Properties) -> Properties:
        """Its properties now. Raises ApiError, with 404 when it is gone."""

    def _delete(self, call: Call, limit: float, remove: Callable[[], Any], busy: Sequence[int], why: str = "") -> None:
        """Repeat a request while its answer is one of `busy`, until the time limit; what is gone is deleted."""
        watch, waited = self._api.clock.stopwatch(), 0
        while True:
            try:
                with gone_is_deleted():
                    remove()
                return
            except ApiError as error:
                if error.status not in busy or watch.reached(limit):
                    raise
            waited += _RETRY_S
            if why:
                call.say(why)
            watch.wait_until(min(waited, limit), call.cancelled)


def shown(record: Record, *names: str) -> Properties:
    """Fields of a record, by the provider's names for them."""
    return {to_camel(name): record[name] for name in names}


def new_id() -> str:
    return str(uuid.uuid4())
