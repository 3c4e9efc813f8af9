"""Who may do what: dynamic groups and policies, which the tenancy's identity service keeps."""

from __future__ import annotations

from typing import ClassVar

from ..requests import Refused
from ..resource import Call
from ..store import Record
from ..wire import Properties
from .policies import StatementError, group_of, statement_of
from .stored import Stored
from .tenancy import conflict, invalid


class _Identity(Stored):
    """What belongs to the whole tenancy, and is changed in its home region only."""

    regional = False
    guarded = False
    active = "ACTIVE"
    naming: ClassVar[str] = "name"

    def check(self, inputs: Properties, record: Record | None) -> None:
        if self.tenancy.faults.happens("not-home-region"):
            raise Refused(403, "NotAllowed, the tenancy's home region is another one, and only there is this changed")
        for other in self.tenancy.store.list(self.collection):
            if other["inputs"][self.naming] == inputs[self.naming] and (record is None or other["id"] != record["id"]):
                raise conflict(f"{inputs[self.naming]} exists already: {other['id']}")

    def bring_about(self, call: Call, record: Record) -> None:
        # machines try for a while to join, and may now
        from .machines import join_all

        join_all(self.tenancy)


class DynamicGroup(_Identity):
    """A group of instances, by a rule; it is in the tenancy's root compartment."""

    kind, collection = "DynamicGroup", "dynamicgroup"

    def check(self, inputs: Properties, record: Record | None) -> None:
        if not inputs["compartmentId"].startswith("ocid1.tenancy."):
            raise invalid("compartmentId: a dynamic group is in the tenancy")
        super().check(inputs, record)


class DomainsDynamicResourceGroup(_Identity):
    """A group of instances in an identity domain of its own."""

    kind, collection, naming = "DomainsDynamicResourceGroup", "dynamicresourcegroup", "displayName"

    def outputs(self, record: Record) -> Properties:
        return {
            "ocid": self.tenancy.new_id("dynamicgroup", regional=False),
            "tenancyOcid": self.tenancy.account.tenancy,
        }


class Policy(_Identity):
    """Statements; a group that one names by its name must be there."""

    kind, collection = "Policy", "policy"

    def check(self, inputs: Properties, record: Record | None) -> None:
        super().check(inputs, record)
        if not inputs["statements"]:
            raise invalid("statements: there is none")
        for text in inputs["statements"]:
            try:
                statement = statement_of(text)
            except StatementError as error:
                raise invalid(f"statements: {error}") from None
            by_name = statement.group and not statement.group.startswith("ocid1.")
            if by_name and group_of(self.tenancy, statement.group) is None:
                raise invalid(f"statements: there is no dynamic group {statement.group}")

    def outputs(self, record: Record) -> Properties:
        return {"policyHash": record["id"][-32:]}
