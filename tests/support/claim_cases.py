"""Random nodes and claims, as Kubernetes' objects: machines of the catalog and made-up ones, whole and in part.

Of every three cases one takes a whole node, one a part of a node, and one cannot be satisfied.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from allocation_checker import Id, Json, Node
from cluster_objects import Object

from gpu_fabric.catalog import catalog
from sandbox.hardware.inventory import inventory_annotation
from sandbox.hardware.resource_slices import DRANET, NVIDIA_GPU, devices_of_driver, slices_of

ROOT, NUMA = "resource.kubernetes.io/pcieRoot", f"{DRANET}/numaNode"
NIC = f'device.attributes["{DRANET}"]'
SHAPES = ("BM.GPU.H100.8", "BM.GPU.A100-v2.8", "BM.GPU4.8", "BM.GPU.H200.8", "BM.GPU.GB200.4")
_UID = "7e4a0d7c-7d06-4c3f-9f5c-8a1b6d1d9e10"


def device_class(name: str, expression: str) -> Object:
    """A DeviceClass with one selector."""
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


CLASSES = [
    device_class("nic", f'device.driver == "{DRANET}" && {NIC}.rdma'),
    device_class("gpu", f'device.driver == "{NVIDIA_GPU}" && device.attributes["{NVIDIA_GPU}"].type == "gpu"'),
]


@dataclass(frozen=True)
class Case:
    """A node with what is published and taken there, and the claims of one pod."""

    slices: list[Object]
    taken: frozenset[Id]
    claims: list[Object]

    @property
    def node(self) -> Node:
        return Node(self.slices, CLASSES, self.taken)

    @property
    def question(self) -> Object:
        """The case as the program around the scheduler's allocator is asked."""
        return {
            "node": {"metadata": {"name": "node"}},
            "slices": self.slices,
            "classes": CLASSES,
            "taken": [dict(zip(("driver", "pool", "device"), device, strict=True)) for device in sorted(self.taken)],
            "claims": self.claims,
        }


def cases(seed: int, count: int) -> Iterator[Case]:
    """So many cases; whether one can be satisfied is what the checker says."""
    random = Random(seed)  # noqa: S311
    for number in range(count):
        draw, satisfied = ((_whole, True), (_part, True), (_any, False))[number % 3]
        while True:
            slices = _slices(random)
            case = draw(random, slices)
            if (case.node.allocation(case.claims) is not None) is satisfied:
                yield case
                break


def _slices(random: Random) -> list[Object]:
    if random.random() < 0.5:
        return _of_shape(random.choice(SHAPES))
    return _made_up(random)


@cache
def _of_shape(name: str) -> list[Object]:
    shape = catalog().shapes[name].model_copy(update={"vfs_per_nic": 0})
    rails = ", ".join(f'"{nic.pci}"' for nic in shape.nics if nic.pci)
    only = f'attributes["{DRANET}/pciAddress"].StringValue in [{rails}]' if rails else "true"
    arguments = [f'--filter="{DRANET}/pciAddress" in attributes && {only}']
    node = {"metadata": {"name": "node", "uid": _UID, "labels": {}, "annotations": inventory_annotation(shape)}}
    pod = {"metadata": {"namespace": "n"}, "spec": {"containers": [{"image": "i", "args": arguments}]}}
    drivers = [catalog().dra_drivers[driver] for driver in (DRANET, NVIDIA_GPU)]
    return [
        item for driver in drivers for item in slices_of(driver.name, node, devices_of_driver(driver, pod, node), 1)
    ]


def _made_up(random: Random) -> list[Object]:
    """Up to four roots with up to two GPUs and three NICs each; of some devices the place is not known."""
    nics: list[Object] = []
    gpus: list[Object] = []
    for root in range(random.randint(1, 4)):
        for _ in range(random.randint(0, 3)):
            number = len(nics)
            attributes: Object = {
                f"{DRANET}/pciAddress": {"string": f"0000:{root:02x}:00.{number % 8}"},
                f"{DRANET}/ifName": {"string": f"rdma{number}"},
                f"{DRANET}/rdma": {"bool": random.random() < 0.9},
                **({NUMA: {"int": root // 2}, ROOT: {"string": f"pci{root}"}} if random.random() < 0.9 else {}),
            }
            nics.append({"name": f"nic-{number}", "attributes": attributes})
        for _ in range(random.randint(0, 2)):
            place = {ROOT: {"string": f"pci{root}"}} if random.random() < 0.95 else {}
            gpus.append({"name": f"gpu-{len(gpus)}", "attributes": {"type": {"string": "gpu"}, **place}})
    node = {"metadata": {"name": "node", "uid": _UID}}
    return [*slices_of(DRANET, node, nics, 1), *slices_of(NVIDIA_GPU, node, gpus, 1)]


def request(name: str, device_class: str, count: int = 1, *selectors: str) -> Object:
    """A request for so many devices, with all that a server would fill in."""
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    chosen = [{"cel": {"expression": text}} for text in selectors]
    return {"name": name, "exactly": {**exactly, **({"selectors": chosen} if chosen else {})}}


def claim(name: str, requests: Sequence[Object], *matched: str, among: Sequence[str] = ()) -> Object:
    """A claim whose devices, of all or of some requests, have these attributes in common."""
    constraints = [
        {"matchAttribute": attribute, **({"requests": list(among)} if among else {})} for attribute in matched
    ]
    devices = {"requests": list(requests), **({"constraints": constraints} if constraints else {})}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": devices},
    }


def _devices(slices: Sequence[Json], driver: str) -> list[Json]:
    return [device for item in slices if item["spec"]["driver"] == driver for device in item["spec"]["devices"]]


def _whole(random: Random, slices: list[Object]) -> Case:
    """All NICs, one by one or by their number, and mostly all GPUs."""
    nics = [nic for nic in _devices(slices, DRANET) if nic["attributes"][f"{DRANET}/rdma"]["bool"]]
    addresses = [nic["attributes"][f"{DRANET}/pciAddress"]["string"] for nic in nics]
    gpus = len(_devices(slices, NVIDIA_GPU))
    requests = [request(f"rail-{rail}", "nic", 1, f'{NIC}.pciAddress == "{pci}"') for rail, pci in enumerate(addresses)]
    if random.random() < 0.4 or not nics:
        requests = [request("nics", "nic", max(1, len(nics)))]
    gpu = [request("gpus", "gpu", gpus)] if gpus and random.random() < 0.8 else []
    claims = [claim("a", [*gpu, *requests])] if random.random() < 0.5 else [claim("a", requests)]
    if gpu and len(claims[0]["spec"]["devices"]["requests"]) == len(requests):
        claims.append(claim("b", gpu))
    return Case(slices, _taken(random, slices, 0.0 if random.random() < 0.7 else 0.1), claims)


def _part(random: Random, slices: list[Object]) -> Case:
    """Up to three claims for NICs at one root or NUMA node, with a GPU or without, narrowed by selectors."""
    claims = []
    for number in range(random.choice((1, 1, 1, 2, 3))):
        nics = request("nic", "nic", random.randint(1, 3), *_selectors(random, slices))
        kind = random.randrange(5)
        if kind == 0:
            claims.append(claim(f"c{number}", [nics], NUMA))
        elif kind == 1:
            claims.append(claim(f"c{number}", [nics, request("other", "nic")], ROOT, among=["nic"]))
        elif kind == 2:
            claims.append(claim(f"c{number}", [request("gpu", "gpu", random.randint(1, 2)), nics]))
        else:
            claims.append(claim(f"c{number}", [request("gpu", "gpu"), nics], ROOT))
    return Case(slices, _taken(random, slices, random.choice((0.0, 0.2, 0.5))), claims)


def _any(random: Random, slices: list[Object]) -> Case:
    return _part(random, slices) if random.random() < 0.7 else _whole(random, slices)


def _taken(random: Random, slices: Sequence[Json], share: float) -> frozenset[Id]:
    every = [(driver, "node", device["name"]) for driver in (DRANET, NVIDIA_GPU) for device in _devices(slices, driver)]
    return frozenset(device for device in every if random.random() < share)


def _selectors(random: Random, slices: Sequence[Json]) -> list[str]:
    """Up to two selectors, mostly none; each has a value for every NIC."""
    names = [nic["attributes"][f"{DRANET}/ifName"]["string"] for nic in _devices(slices, DRANET)] or ["rdma0"]
    node, digit = random.randrange(2), random.randrange(9)
    forms = (
        f'{NIC}.ifName == "{random.choice(names)}"',
        f"{NIC}.ifName in {random.sample(names, random.randint(1, len(names)))}".replace("'", '"'),
        f'!{NIC}.ifName.startsWith("{random.choice(names)[:-1]}")',
        f"has({NIC}.numaNode) && {NIC}.numaNode <= {node}",
        f'"numaNode" in {NIC} ? {NIC}.numaNode != {node} : {NIC}.pciAddress.contains("{digit}")',
        f'{NIC}.pciAddress.matches("^0000:0[0-{digit}]:") || {NIC}.ifName.endsWith("{digit}")',
        f"{NIC}.numaNode == 1 || {NIC}.rdma",
        f"{NIC}.nothing == 1 && false",
    )
    return random.sample(forms, random.choice((0, 0, 0, 1, 1, 2)))
