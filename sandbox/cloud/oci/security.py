"""Access in a VCN: security lists of subnets, security groups with their rules, and the Bastion service.

Bastions are kept and shown; nothing listens there, since simulated clusters are on this machine.
"""

from __future__ import annotations

import secrets

from ..resource import Call
from ..store import Record
from ..wire import Properties
from .stored import Stored
from .tenancy import invalid

_RULES = ("egressSecurityRules", "ingressSecurityRules")
_PROTOCOLS = ("all", "1", "6", "17", "58")
_PEERS = ("CIDR_BLOCK", "SERVICE_CIDR_BLOCK", "NETWORK_SECURITY_GROUP")


class SecurityList(Stored):
    """The rules of a subnet."""

    kind, collection = "SecurityList", "securitylist"

    def outputs(self, record: Record) -> Properties:
        return {name: [] for name in _RULES}


class DefaultSecurityList(Stored):
    """The list that a VCN has from its beginning: the resource takes it over, and gives it back when it is deleted."""

    kind, collection = "DefaultSecurityList", "securitylist"

    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        identifier = inputs["manageDefaultResourceId"]
        outputs = self.update(call, identifier, {}, inputs)
        return identifier, outputs

    def shown(self, record: Record) -> Properties:
        common = {"manageDefaultResourceId": record["id"], "state": self.active, **{name: [] for name in _RULES}}
        given = {name: value for name, value in record["inputs"].items() if name in self.fields}
        return {**common, **given}

    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        def give_back(record: Record) -> None:
            kept = ("vcnId", "compartmentId")
            record["inputs"] = {name: value for name, value in record["inputs"].items() if name in kept}

        self.tenancy.change(self.collection, identifier, give_back)


class NetworkSecurityGroup(Stored):
    """A group of network interfaces; its rules go with it."""

    kind, collection = "NetworkSecurityGroup", "networksecuritygroup"

    def removed(self, call: Call, record: Record) -> None:
        for rule in self.tenancy.store.list("securityrule"):
            if rule["inputs"]["networkSecurityGroupId"] == record["id"]:
                self.tenancy.store.remove("securityrule", rule["id"])


class NetworkSecurityGroupSecurityRule(Stored):
    """One rule of a group."""

    kind, collection, guarded = "NetworkSecurityGroupSecurityRule", "securityrule", False

    def check(self, inputs: Properties, record: Record | None) -> None:
        direction = inputs["direction"]
        if direction not in ("INGRESS", "EGRESS"):
            raise invalid(f"direction {direction}: allowed are INGRESS and EGRESS")
        peer, other = ("source", "destination") if direction == "INGRESS" else ("destination", "source")
        if not inputs.get(peer) or inputs.get(other):
            raise invalid(f"a rule of direction {direction} has a {peer}, and no {other}")
        kind = inputs.get(f"{peer}Type", "CIDR_BLOCK")
        if kind not in _PEERS:
            raise invalid(f"{peer}Type {kind}: allowed are {', '.join(_PEERS)}")
        if (kind == "NETWORK_SECURITY_GROUP") != inputs[peer].startswith("ocid1.networksecuritygroup."):
            raise invalid(f"{peer} {inputs[peer]} is not a valid {kind}")
        if inputs["protocol"] not in _PROTOCOLS:
            raise invalid(f"protocol {inputs['protocol']}: allowed are {', '.join(_PROTOCOLS)}")
        for protocol, options in (("6", "tcpOptions"), ("17", "udpOptions")):
            if options in inputs and inputs["protocol"] != protocol:
                raise invalid(f"{options} are for protocol {protocol}")

    def outputs(self, record: Record) -> Properties:
        return {"isValid": True, "stateless": False}

    def new_id(self) -> str:
        return secrets.token_hex(3).upper()


class Bastion(Stored):
    """A way into a subnet."""

    kind, collection, active = "Bastion", "bastion", "ACTIVE"
    takes_s = 60

    def check(self, inputs: Properties, record: Record | None) -> None:
        if not inputs.get("name", "").isalnum():
            raise invalid("name: letters and digits only")

    def outputs(self, record: Record) -> Properties:
        return {
            "targetVcnId": self.tenancy.found(record["inputs"]["targetSubnetId"])["inputs"]["vcnId"],
            "maxSessionTtlInSeconds": 10800,
            "privateEndpointIpAddress": "",
        }


class Session(Stored):
    """A session of a bastion."""

    kind, collection, active, guarded = "Session", "bastionsession", "ACTIVE", False

    def outputs(self, record: Record) -> Properties:
        bastion = self.tenancy.found(record["inputs"]["bastionId"])
        return {"bastionName": bastion["inputs"]["name"], "bastionUserName": record["id"], "sshMetadata": {}}
