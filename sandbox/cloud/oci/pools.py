"""Machines by the number: cluster networks, instance pools and GPU memory clusters, from instance configurations."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ..resource import Call, CloudError
from ..store import Record
from ..wire import Properties
from . import facts
from .instances import instance_outputs
from .machines import bring_about, check_capacity, check_launch, machine_of, tell_who_joined
from .stored import Stored
from .tenancy import Tenancy, invalid


class InstanceConfiguration(Stored):
    """What machines are made from. One that a pool uses is not deleted."""

    kind, collection = "InstanceConfiguration", "instanceconfiguration"

    def check(self, inputs: Properties, record: Record | None) -> None:
        details = inputs.get("instanceDetails")
        if details is None and "instanceId" not in inputs:
            raise invalid("an instance configuration needs instanceDetails or an instanceId")
        if details is not None and details["instanceType"] != "compute":
            raise invalid(f"instanceDetails: instanceType {details['instanceType']} is not played here")

    def in_use(self, identifier: str, holder: Record) -> str:
        return f"The Instance Configuration {identifier} is associated to one or more Instance Pools."


class _Pool(Stored):
    """A pool of machines: subclasses define the count, the placement and the configuration."""

    active = "RUNNING"
    guarded = False
    takes_s, removal_s = 10 * 60, 2 * 60
    rdma: ClassVar[bool] = False
    ends: ClassVar[str] = ""
    """The state in which one ends whose machines cannot be had; empty where that is not known."""

    @abstractmethod
    def size(self, inputs: Properties) -> int:
        """The pool's size in its inputs."""

    @abstractmethod
    def configuration(self, inputs: Properties) -> str:
        """The id of the instance configuration."""

    @abstractmethod
    def placement(self, inputs: Properties, number: int) -> tuple[str, str, str]:
        """Availability domain, subnet and fault domain of the machine with this number."""

    def check(self, inputs: Properties, record: Record | None) -> None:
        details = launch_details(self.tenancy, self.configuration(inputs))
        domain, subnet, _ = self.placement(inputs, 0)
        self.tenancy.check_references([subnet])
        check_launch(self.tenancy, details, domain)
        if self.rdma and not has_rdma(details["shape"]):
            raise invalid(f"shape {details['shape']} has no RDMA network")
        if self.size(inputs) < 0:
            raise invalid("the number of machines is negative")
        before = len(machines_of(self.tenancy, record["id"])) if record else 0
        if self.size(inputs) > before:
            # whole or not at all
            check_capacity(self.tenancy, details["shape"])

    def bring_about(self, call: Call, record: Record) -> None:
        tenancy = self.tenancy
        if record.get("fails"):
            raise CloudError(
                f"During creation, Terraform expected the resource to reach state(s): {self.active}, "
                f"but the service reported unexpected state: {self.ends}."
            )
        clusters = tenancy.request(call, "ListInstances", lambda: self._resize(record["id"]))
        for cluster in clusters:
            bring_about(tenancy, cluster)
        machines = machines_of(tenancy, record["id"])
        call.say(f"{len(machines)} of {self.size(record['inputs'])} machines run")
        tell_who_joined(tenancy, call, machines)

    def removed(self, call: Call, record: Record) -> None:
        machines = machines_of(self.tenancy, record["id"])
        for machine in machines:
            self.tenancy.store.remove("instance", machine["id"])
        for cluster in {machine["cluster"] for machine in machines if machine["cluster"]}:
            bring_about(self.tenancy, cluster)

    def extras(self, record: Record) -> Record:
        happens = self.tenancy.faults.happens
        return {"hears": not happens("nodes-never-join"), "fails": bool(self.ends) and happens("pool-fails")}

    def _resize(self, identifier: str) -> list[str]:
        """Launch what is missing and end what is too much, the newest first; gives the clusters that this concerns."""
        tenancy, record = self.tenancy, self._found(identifier)
        inputs = record["inputs"]
        machines = machines_of(tenancy, identifier)
        touched = machines[self.size(inputs) :]
        for machine in touched:
            tenancy.store.remove("instance", machine["id"])
        details = launch_details(tenancy, self.configuration(inputs))
        for number in range(len(machines), self.size(inputs)):
            domain, subnet, fault_domain = self.placement(inputs, number)
            identifier = tenancy.new_id("instance")
            machine = {
                "id": identifier,
                "inputs": {
                    "compartmentId": inputs["compartmentId"],
                    **details,
                    "availabilityDomain": domain,
                    "displayName": f"inst-{identifier[-5:]}-{inputs.get('displayName', self.collection)}",
                },
                "busy_until": 0.0,
                **machine_of(
                    tenancy,
                    identifier,
                    details,
                    subnet,
                    faultDomain=fault_domain,
                    rdma=self.rdma,
                    hears=record["hears"],
                    pool=record["id"],
                    fabric=inputs.get("gpuMemoryFabricId", ""),
                ),
            }
            own = {"timeCreated": tenancy.stamp(), "state": "RUNNING", **instance_outputs(tenancy.region, machine)}
            touched.append(tenancy.store.add("instance", {**machine, "outputs": own}))
        return sorted({machine["cluster"] for machine in touched if machine["cluster"]})


class ClusterNetwork(_Pool):
    """Machines on one RDMA network, with an instance pool inside."""

    kind, collection, rdma = "ClusterNetwork", "clusternetwork", True
    failed_is, ends = "gone", "TERMINATED"
    limit_s = 120 * 60

    def size(self, inputs: Properties) -> int:
        return int(inputs["instancePools"][0]["size"])

    def configuration(self, inputs: Properties) -> str:
        return str(inputs["instancePools"][0]["instanceConfigurationId"])

    def placement(self, inputs: Properties, number: int) -> tuple[str, str, str]:
        placement = inputs["placementConfiguration"]
        return placement["availabilityDomain"], _subnet(placement), facts.fault_domains()[0]

    def check(self, inputs: Properties, record: Record | None) -> None:
        if len(inputs["instancePools"]) != 1:
            raise invalid("instancePools: a cluster network has one")
        super().check(inputs, record)

    def shown(self, record: Record) -> Properties:
        shown = super().shown(record)
        own = {
            "id": record["id"].replace("ocid1.clusternetwork.", "ocid1.instancepool."),
            "compartmentId": record["inputs"]["compartmentId"],
            "state": "RUNNING",
            "currentSize": len(machines_of(self.tenancy, record["id"])),
        }
        return {**shown, "instancePools": [{**own, **pool} for pool in shown["instancePools"]]}


class InstancePool(_Pool):
    """Machines without an RDMA network."""

    kind, collection = "InstancePool", "instancepool"
    limit_s = 30 * 60

    def size(self, inputs: Properties) -> int:
        return int(inputs["size"])

    def configuration(self, inputs: Properties) -> str:
        return str(inputs["instanceConfigurationId"])

    def placement(self, inputs: Properties, number: int) -> tuple[str, str, str]:
        placements = inputs["placementConfigurations"]
        placement = placements[number % len(placements)]
        among = placement.get("faultDomains") or facts.fault_domains()
        return placement["availabilityDomain"], _subnet(placement), among[number % len(among)]

    def outputs(self, record: Record) -> Properties:
        return {"actualSize": int(record["inputs"]["size"])}

    def shown(self, record: Record) -> Properties:
        return {**super().shown(record), "actualSize": len(machines_of(self.tenancy, record["id"]))}


class ComputeGpuMemoryCluster(_Pool):
    """The machines of one memory fabric."""

    kind, collection, active, rdma = "ComputeGpuMemoryCluster", "computegpumemorycluster", "ACTIVE", True
    failed_is, ends = "lost", "FAILED"
    limit_s = 60 * 60

    def size(self, inputs: Properties) -> int:
        scale = inputs.get("gpuMemoryClusterScaleConfig") or {}
        return int(scale.get("targetSize") or inputs.get("size") or 0)

    def configuration(self, inputs: Properties) -> str:
        return str(inputs["instanceConfigurationId"])

    def placement(self, inputs: Properties, number: int) -> tuple[str, str, str]:
        details = launch_details(self.tenancy, self.configuration(inputs))
        subnet = (details.get("createVnicDetails") or {}).get("subnetId")
        if not subnet:
            raise invalid("the instance configuration names no subnet")
        return inputs["availabilityDomain"], subnet, facts.fault_domains()[0]

    def check(self, inputs: Properties, record: Record | None) -> None:
        from gpu_fabric.catalog import catalog

        super().check(inputs, record)
        name = launch_details(self.tenancy, self.configuration(inputs))["shape"]
        shape = facts.shape_of(name)
        if shape is None or (shape.gpus.model or "") not in catalog().oke_clusters.memory_fabric_gpus:
            raise invalid(f"shape {name} has no memory fabric")
        scale = inputs.get("gpuMemoryClusterScaleConfig") or {}
        if record is not None:
            present = len(machines_of(self.tenancy, record["id"]))
            switch = "isUpsizeEnabled" if self.size(inputs) > present else "isDownsizeEnabled"
            if self.size(inputs) != present and not scale.get(switch):
                raise invalid(f"the memory cluster is not to be resized: {switch} is not set")

    def outputs(self, record: Record) -> Properties:
        return {"gpuMemoryFabricId": self.tenancy.new_id("computegpumemoryfabric"), "size": "0"}


def launch_details(tenancy: Tenancy, configuration: str) -> Properties:
    """What an instance configuration launches. Raises Refused for one that is not there."""
    found: Properties = (tenancy.found(configuration)["inputs"].get("instanceDetails") or {}).get("launchDetails") or {}
    return found


def machines_of(tenancy: Tenancy, pool: str) -> list[Record]:
    """A pool's machines, the oldest first."""
    return [machine for machine in tenancy.store.list("instance") if machine["pool"] == pool]


def has_rdma(shape: str) -> bool:
    """Whether machines of a shape have NICs on an RDMA network."""
    found = facts.shape_of(shape)
    return found is not None and bool(found.nics)


def _subnet(placement: Properties) -> str:
    subnet = (placement.get("primaryVnicSubnets") or {}).get("subnetId") or placement.get("primarySubnetId")
    if not subnet:
        raise invalid("the placement names no subnet")
    return str(subnet)
