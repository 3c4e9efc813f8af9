"""Clouds whose clusters exist already: their machines, what they install, and what a pod asks for (`clouds/*.yaml`)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from gpu_fabric.base.repeats import repeated
from gpu_fabric.catalog.distribution import Distribution
from gpu_fabric.catalog.nccl import NcclSetting
from gpu_fabric.catalog.shape import Gpus, LinkType, Nic, NicModel, Shape
from gpu_fabric.model import FrozenModel

RAIL = "{rail}"
"""The place in a resource's name where the number of the NIC is, if each NIC has a resource of its own."""

Part = Literal["gpu-driver", "container-toolkit", "gpu-plugin", "nic-driver", "nic-plugin", "dra-driver", "nccl-plugin"]


def _has_a_rail(text: str) -> str:
    if RAIL not in text:
        raise ValueError(f"this names no NIC; write {RAIL} where its number is")
    return text


class CloudMachine(FrozenModel):
    """A machine type: its GPUs, how many NICs the fabric has on it, and the line rate of one in Gb/s.

    `nic_model` and `link_type` are those of the profile, unless a machine has others. `notes` are what authors of stack
    files should know of it.
    """

    gpus: Gpus
    nics: int = Field(ge=1, le=64)
    nic_speed_gbps: int | None = Field(default=None, ge=1)
    nic_model: str | None = None
    link_type: LinkType | None = None
    notes: tuple[str, ...] = ()
    source: str = Field(min_length=1)


class CloudPart(FrozenModel):
    """Software that a node or a cluster of the cloud has already (`has`), or that its user installs (`how`)."""

    part: Part
    has: bool
    how: str = ""
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _says_how(self) -> Self:
        if self.has == bool(self.how):
            raise ValueError(f"{self.part}: `how` is for what the cloud has not, and is missing otherwise")
        return self


class CloudPlugin(FrozenModel):
    """NICs by a device plug-in.

    `resource` has the place `{rail}` where each NIC has a resource of its own. `count` is what a pod that takes a node
    requests of it: as many as the machine has NICs or GPUs, `one` where the resource stands for all of them, or none
    where the cloud adds the request by the pod's annotations.
    """

    resource: str = Field(min_length=3, pattern=r"^[a-z0-9.-]+/[a-z0-9_.{}-]+$")
    count: Literal["nics", "gpus", "one", "none"]
    source: str = Field(min_length=1)

    def resources(self, nics: int) -> tuple[str, ...]:
        """The names of the resource, one for each NIC; the same where they share one."""
        return tuple(self.resource.replace(RAIL, str(rail)) for rail in range(nics))

    def requested(self, nics: int, gpus: int) -> dict[str, int]:
        """What a pod that takes a node requests."""
        names = Counter(self.resources(nics))
        amounts = {"nics": nics, "gpus": gpus, "one": 1, "none": 0}
        single = len(names) == 1
        return {name: amounts[self.count] if single else 1 for name in names} if self.count != "none" else {}


class CloudClaims(FrozenModel):
    """NICs by claims of a class that the cloud's DRA driver or its chart defines; `kubernetes` is the first version."""

    device_class: str = Field(min_length=1)
    driver: str = Field(min_length=1)
    kubernetes: str = Field(pattern=r"^1\.[0-9]{1,2}$")
    source: str = Field(min_length=1)


class CloudMount(FrozenModel):
    """A folder of the node that the pod's container mounts."""

    name: str = Field(min_length=1)
    host_path: str = Field(pattern=r"^/")
    mount_path: str = Field(pattern=r"^/")
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)


class CloudRequest(FrozenModel):
    """An amount that the container requests in addition to GPUs and NICs; on the machines named, or on all.

    `limit` is whether it is a limit as well.
    """

    resource: str = Field(min_length=1)
    amount: str = Field(min_length=1)
    limit: bool = True
    machines: tuple[str, ...] = ()
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)


class CloudInterfaces(FrozenModel):
    """Interfaces that a pod names by annotations (GKE's multi-networking): the first of the fabric's, and its network.

    `first` is the number of the first interface; `network` has the place `{rail}`.
    """

    default_annotation: str
    annotation: str
    default_interface: str
    default_network: str
    prefix: str
    first: int = Field(ge=0)
    network: Annotated[str, AfterValidator(_has_a_rail)]
    source: str = Field(min_length=1)

    def name(self, rail: int) -> str:
        """The interface of a NIC in the pod."""
        return f"{self.prefix}{self.first + rail}"

    def annotations(self, nics: int) -> dict[str, str]:
        """The annotations of a pod that gets all NICs."""
        own = [{"interfaceName": self.default_interface, "network": self.default_network}]
        own += [
            {"interfaceName": self.name(rail), "network": self.network.replace(RAIL, str(rail))} for rail in range(nics)
        ]
        named = json.dumps(own, separators=(",", ":"))
        return {self.default_annotation: self.default_interface, self.annotation: named}


class JobVariable(FrozenModel):
    """A variable that the cloud's own example sets, and that a job or its image must set itself, with the reason."""

    name: str = Field(min_length=1)
    value: str = Field(min_length=1)
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)


class CloudProfile(FrozenModel):
    """A cloud: everything that a plan, a contract and a look at its clusters need of it.

    `nodes` are the marks of its nodes, where `distributions.yaml` has no row of it. `machine_label` is the label in
    which nodes have the machine type. `model` is how NICs get into pods: `rdma-device`, an RDMA device without an
    interface, or `host-device`, a NIC with its interface. `ip` says whose addresses the NICs have: `none`, the fabric
    is not an IP network, or pods use none of it; `cloud`, the cloud gives them; `ip_why` says so in words. `links`
    names the protocol of its NICs, where that is neither RoCE nor InfiniBand. `with_gpus` is whether a pod with all
    GPUs of a node gets the devices of its NICs unasked, `privileged` whether it must be privileged for them. `charts`
    are values of charts on its nodes. `topology` are labels of nodes that say how close they are, the widest first.
    `bar_unknown` is why no bar follows from the line rate of its NICs, `unknown` what no source says. `source` is that
    of what has none of its own.
    """

    name: str
    title: str
    nodes: Distribution | None = None
    machine_label: str | None = None
    bar_unknown: str | None = None
    model: Literal["rdma-device", "host-device"]
    nic: NicModel
    ip: Literal["none", "cloud"]
    ip_why: str = Field(min_length=1)
    links: str | None = None
    software: tuple[CloudPart, ...] = Field(min_length=1)
    plugin: CloudPlugin | None = None
    claims: CloudClaims | None = None
    interfaces: CloudInterfaces | None = None
    requests: tuple[CloudRequest, ...] = ()
    mounts: tuple[CloudMount, ...] = ()
    with_gpus: bool = False
    privileged: bool = False
    settings: tuple[NcclSetting, ...] = ()
    job_variables: tuple[JobVariable, ...] = ()
    charts: dict[str, dict[str, JsonValue]] = {}
    charts_why: str = ""
    topology: tuple[str, ...] = ()
    topology_source: str = ""
    kubernetes: str | None = Field(default=None, pattern=r"^1\.[0-9]{1,2}$")
    advice: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    machines: dict[str, CloudMachine] = Field(min_length=1)
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.plugin is None and self.claims is None and not (self.privileged or self.with_gpus):
            raise ValueError("pods get no NICs: neither by a plug-in, nor by claims, nor with their GPUs")
        if (self.model == "host-device") != (self.interfaces is not None or self.ip == "cloud"):
            raise ValueError("an interface in the pod belongs to the model host-device, and to no other")
        if bool(self.charts) != bool(self.charts_why):
            raise ValueError("values of charts need their reason (chartsWhy), and no others do")
        if bool(self.topology) != bool(self.topology_source):
            raise ValueError("labels of a topology need their source (topologySource), and nothing else does")
        if found := repeated([entry.part for entry in self.software]):
            raise ValueError(f"software: {', '.join(found)} is there twice")
        for request in self.requests:
            if other := sorted(set(request.machines) - self.machines.keys()):
                raise ValueError(f"{request.resource}: no such machine: {', '.join(other)}")
        return self

    def has(self, part: Part) -> bool:
        """Whether nodes or cluster have this software already."""
        return any(entry.part == part and entry.has for entry in self.software)

    def requests_on(self, machine: str, *, limited: bool) -> dict[str, str]:
        """What a container requests in addition to GPUs and NICs: `limited`, or without a limit."""
        rows = (row for row in self.requests if not row.machines or machine in row.machines)
        return {row.resource: row.amount for row in rows if row.limit == limited}

    def shapes(self) -> dict[str, Shape]:
        """The machine types as shapes, by name: their NICs have no names and no PCI addresses that are published."""
        return {name: self._shape(name, row) for name, row in self.machines.items()}

    def _shape(self, name: str, row: CloudMachine) -> Shape:
        own = {"model": row.nic_model, "link_type": row.link_type}
        nic = self.nic.model_copy(update={key: value for key, value in own.items() if value is not None})
        return Shape(
            name=name,
            provider="cloud",
            cloud=self.name,
            type_label=self.machine_label,
            bar_unknown=self.bar_unknown,
            gpus=row.gpus,
            nic_model=nic,
            nic_speed_gbps=row.nic_speed_gbps,
            nics=tuple(Nic() for _ in range(row.nics)),
            notes=row.notes,
            advice=self.advice,
            source=row.source,
        )
