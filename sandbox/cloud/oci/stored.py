"""What most of Oracle's resource types have in common: an object that is kept, shown, changed and deleted."""

from __future__ import annotations

import time
from typing import ClassVar, Literal

from ..clock import Stopwatch
from ..resource import Call, CloudError, HalfMade, OutOfTime, ResourceType
from ..schema import with_defaults
from ..store import Record
from ..wire import Properties
from .fields import fields_of
from .tenancy import OciError, Tenancy, conflict, not_found

_BUSY_RETRY_S = 10


class Stored(ResourceType):
    """An object with an id of its `collection`, which is the kind in its id.

    The cloud needs `takes_s` to create an object and `removal_s` to delete it; `limit_s` is the default time limit.
    A `guarded` object is not deleted while others refer to it. `failed_is` is the place of an object whose creation
    failed: `kept` in the stack's state and at Oracle, `gone` from Oracle and still in the state, `lost` to the state
    and still at Oracle. An object whose creation timed out is kept in both.
    """

    kind: ClassVar[str]
    collection: ClassVar[str]
    active: ClassVar[str] = "AVAILABLE"
    regional: ClassVar[bool] = True
    guarded: ClassVar[bool] = True
    failed_is: ClassVar[Literal["kept", "gone", "lost"]] = "kept"
    takes_s: ClassVar[float] = 0
    removal_s: ClassVar[float] = 0
    limit_s: ClassVar[float] = 20 * 60
    delete_limit_s: ClassVar[float] = 2 * 60
    time_limits = ("create", "update", "delete")

    def __init__(self, tenancy: Tenancy) -> None:
        self.tenancy = tenancy
        self.fields = fields_of(self.kind)
        self.autonamed = "name" in self.fields and self.fields["name"].given != "never"

    def check(self, inputs: Properties, record: Record | None) -> None:
        """Raises Refused where the API would; `record` is the object as it is, None for a new one. Inside a request."""

    def outputs(self, record: Record) -> Properties:
        """A new object's outputs beyond the inputs. Inside a request."""
        return {}

    def extras(self, record: Record) -> Record:
        """What the cloud remembers of a new object and does not show. Inside a request."""
        return {}

    def bring_about(self, call: Call, record: Record) -> None:
        """What happens when the object has been made or changed. Raises CloudError where that fails."""

    def removed(self, call: Call, record: Record) -> None:
        """What happens when the object is gone."""

    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        watch = self.tenancy.clock.stopwatch()
        record = self.tenancy.request(call, f"Create{self.kind}", lambda: self._new(inputs))
        identifier = record["id"]
        try:
            self.bring_about(call, record)
            self.pass_time(call, watch, self.takes_s, call.limit(self.limit_s))
        except CloudError as error:
            raise self.failed(call, record, error) from None
        self.tenancy.change(self.collection, identifier, lambda each: each["outputs"].update(state=self.active))
        return identifier, self.shown(self._get(call, identifier))

    def failed(self, call: Call, record: Record, error: CloudError) -> CloudError:
        """The provider's error for a creation that failed or timed out; `HalfMade` carries the state it keeps."""
        identifier = record["id"]
        if isinstance(error, OutOfTime):
            # what came late comes when the next update asks for it
            self.tenancy.change(self.collection, identifier, lambda each: each.update(stuck=False))
        else:
            self.tenancy.change(self.collection, identifier, lambda each: each["outputs"].update(state="FAILED"))
            if self.failed_is == "lost":
                return error
        kept = self.shown(self.tenancy.store.get(self.collection, identifier) or record)
        if self.failed_is == "gone" and not isinstance(error, OutOfTime):
            self.tenancy.store.remove(self.collection, identifier)
            self.removed(call, record)
        return HalfMade(str(error), kept, identifier)

    def read(self, call: Call, identifier: str, state: Properties) -> Properties | None:
        try:
            return self.shown(self._get(call, identifier))
        except OciError as error:
            if error.status == 404:
                return None
            raise

    def update(self, call: Call, identifier: str, state: Properties, news: Properties) -> Properties:
        record = self.tenancy.request(call, f"Update{self.kind}", lambda: self._changed(identifier, news))
        self.bring_about(call, record)
        self.tenancy.change(self.collection, identifier, lambda each: each["outputs"].update(state=self.active))
        return self.shown(self._get(call, identifier))

    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        watch, waited = self.tenancy.clock.stopwatch(), 0
        limit = call.limit(max(self.delete_limit_s, self.removal_s))
        while True:
            try:
                record = self.tenancy.request(call, f"Delete{self.kind}", lambda: self._remove(identifier))
                break
            except OciError as error:
                if error.status == 404:
                    return
                if error.status != 409 or watch.reached(limit):
                    raise
            waited += _BUSY_RETRY_S
            call.say(f"{state.get('displayName') or identifier} is still in use, trying again")
            watch.wait_until(min(waited, limit), call.cancelled)
        self.removed(call, record)
        self.pass_time(call, self.tenancy.clock.stopwatch(), self.removal_s, limit)

    def shown(self, record: Record) -> Properties:
        """An object as the provider shows it."""
        return {**record["outputs"], **record["inputs"]}

    def in_use(self, identifier: str, holder: Record) -> str:
        """The cloud's error when an object cannot be deleted because another refers to it."""
        return f"{identifier} is in use by {holder['id']}"

    def pass_time(self, call: Call, watch: Stopwatch, takes: float, limit: float) -> None:
        """Let the time pass that something takes. Raises OutOfTime where the time limit is shorter."""
        watch.wait_until(min(takes, limit), call.cancelled)
        call.check_cancelled()
        if limit < takes:
            raise OutOfTime(f"timeout while waiting for state to become '{self.active}' (last state: 'CREATING')")

    def _new(self, inputs: Properties) -> Record:
        given = self._given(inputs)
        self.tenancy.check_references(given)
        self.check(given, None)
        record: Record = {
            "id": self.new_id(),
            "inputs": given,
            "outputs": {},
            "busy_until": 0.0,
        }
        named = {} if "displayName" not in self.fields else {"displayName": f"{self.collection}{time.time_ns()}"}
        common = {"timeCreated": self.tenancy.stamp(), "state": "CREATING", **named}
        record["outputs"] = {name: value for name, value in common.items() if name in self.fields}
        record |= self.extras(record)
        record["outputs"] |= self.outputs(record)
        return self.tenancy.store.add(self.collection, record)

    def _given(self, inputs: Properties) -> Properties:
        stated = {name: value for name, value in inputs.items() if value is not None and not name.startswith("__")}
        return with_defaults(self.fields, stated)

    def new_id(self) -> str:
        return self.tenancy.new_id(self.collection, regional=self.regional)

    def _changed(self, identifier: str, news: Properties) -> Record:
        record = self._found(identifier)
        given = self._given(news)
        self.tenancy.check_references(given)
        self.check(given, record)
        kept = (name for name in record["inputs"] if name not in self.fields or self.fields[name].computed)
        record["inputs"] = {**{name: record["inputs"][name] for name in kept}, **given}
        self.tenancy.store.put(self.collection, record)
        return record

    def _remove(self, identifier: str) -> Record:
        record = self._found(identifier)
        if busy := self._made_busy():
            record["busy_until"] = self.tenancy.clock.real_deadline(busy)
            self.tenancy.store.put(self.collection, record)
        held = next(self.tenancy.holders(identifier), None) if self.guarded else None
        if held is not None:
            raise conflict(self.in_use(identifier, held))
        if time.time() < record["busy_until"]:
            raise conflict(f"{identifier} is in use by a network interface")
        self.tenancy.store.remove(self.collection, identifier)
        return record

    def _made_busy(self) -> int:
        return self.tenancy.faults.seconds("subnet-busy") if self.collection == "subnet" else 0

    def _get(self, call: Call, identifier: str) -> Record:
        return self.tenancy.request(call, f"Get{self.kind}", lambda: self._found(identifier))

    def _found(self, identifier: str) -> Record:
        record = self.tenancy.store.get(self.collection, identifier)
        if record is None:
            raise not_found(identifier)
        return record
