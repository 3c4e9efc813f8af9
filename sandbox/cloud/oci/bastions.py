"""Oracle's Bastion service: kept and shown; nothing listens there, since simulated clusters are on this machine."""

from __future__ import annotations

from sandbox.cloud.oci.stored import Stored
from sandbox.cloud.oci.tenancy import invalid
from sandbox.cloud.store import Record
from sandbox.cloud.wire import Properties


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
