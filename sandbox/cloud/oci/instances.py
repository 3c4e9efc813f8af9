"""Single machines, compute clusters that hold some of them, and reserved capacity."""

from __future__ import annotations

from ..resource import Call
from ..schema import Change
from ..store import Record
from ..wire import Properties
from . import facts
from .machines import bring_about, check_capacity, check_launch, machine_of, tell_who_joined
from .stored import Stored
from .tenancy import invalid

# What is for life on bare metal alone.
_ON_BARE_METAL = frozenset(
    f"platformConfig.{name}" for name in ("type", "configMap", "isSymmetricMultiThreadingEnabled")
)


class Instance(Stored):
    """One machine. It becomes a node if its metadata name a cluster, and a policy lets it."""

    kind, collection, active = "Instance", "instance", "RUNNING"
    takes_s, removal_s, limit_s = 3 * 60, 60, 45 * 60
    guarded = False

    def check(self, inputs: Properties, record: Record | None) -> None:
        if not (inputs.get("createVnicDetails") or {}).get("subnetId"):
            raise invalid("createVnicDetails names no subnetId")
        check_launch(self.tenancy, inputs, inputs["availabilityDomain"])
        if record is None:
            check_capacity(self.tenancy, inputs["shape"])

    def adjust(self, changes: dict[str, Change], state: Properties, news: Properties) -> dict[str, Change]:
        if not str(news.get("shape", "")).startswith("BM."):
            changes |= {path: Change(changes[path].kind, False) for path in _ON_BARE_METAL & changes.keys()}
        return changes

    def extras(self, record: Record) -> Record:
        inputs = record["inputs"]
        subnet = inputs["createVnicDetails"]["subnetId"]
        return machine_of(
            self.tenancy,
            record["id"],
            inputs,
            subnet,
            faultDomain=inputs.get("faultDomain") or facts.fault_domains()[0],
            rdma="computeClusterId" in inputs,
            hears=not self.tenancy.faults.happens("nodes-never-join"),
        )

    def outputs(self, record: Record) -> Properties:
        return instance_outputs(self.tenancy.region, record)

    def bring_about(self, call: Call, record: Record) -> None:
        if record["cluster"]:
            bring_about(self.tenancy, record["cluster"])
            tell_who_joined(self.tenancy, call, [record])

    def removed(self, call: Call, record: Record) -> None:
        if record["cluster"]:
            bring_about(self.tenancy, record["cluster"])


class ComputeCluster(Stored):
    """One RDMA network, in which machines are placed one by one."""

    kind, collection, active = "ComputeCluster", "computecluster", "ACTIVE"

    def check(self, inputs: Properties, record: Record | None) -> None:
        domains = facts.domains(self.tenancy.account.tenancy, self.tenancy.region)
        if inputs["availabilityDomain"] not in domains:
            raise invalid(f"there is no availability domain {inputs['availabilityDomain']}")


class ComputeCapacityReservation(Stored):
    """Reserved capacity, kept and shown."""

    kind, collection, active = "ComputeCapacityReservation", "capacityreservation", "ACTIVE"
    guarded = False

    def outputs(self, record: Record) -> Properties:
        return {"reservedInstanceCount": "0", "usedInstanceCount": "0", "isDefaultReservation": False}


def instance_outputs(region: str, record: Record) -> Properties:
    """A machine's outputs beyond its inputs."""
    return {
        "privateIp": record["address"],
        "publicIp": record["public"],
        "region": region,
        "faultDomain": record["faultDomain"],
        "launchMode": "PARAVIRTUALIZED",
        "bootVolumeId": record["id"].replace("ocid1.instance.", "ocid1.bootvolume."),
    }
