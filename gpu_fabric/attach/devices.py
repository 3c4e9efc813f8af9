"""The devices that pods request: the fabric's, which are added, and those that the stack does not provide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from gpu_fabric.attach.networks import is_former_name
from gpu_fabric.attach.place import Malformed, Place, display
from gpu_fabric.base.tables import read_rows
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.fabric import PodDomain, channel_of_pod, claim_of_pod
from gpu_fabric.k8s.amounts import amount
from gpu_fabric.model import FrozenModel


def gpu_resource(contract: FabricContract) -> str:
    """The extended resource of the contract's GPUs; older contracts do not name it: no network uses that resource."""
    if contract.gpu_resource is not None:
        return contract.gpu_resource
    of_networks = {network.resource for network in contract.networks}
    return next(name for name in contract.devices if name not in of_networks)


def asks_for(container: Place, resource: str | None) -> bool:
    """Whether a container requests a resource (any accelerator, where it is None), in an amount other than 0."""
    resources = container.found("resources")
    sides = [] if resources is None else [resources.found("limits"), resources.found("requests")]
    asked = ((str(name), value) for side in sides if side is not None for name, value in side.content.items())
    return any(
        value is not None and amount(value) != 0
        for name, value in asked
        if (_accelerator(name) is not None if resource is None else name == resource)
    )


def attach_resources(container: Place, contract: FabricContract) -> None:
    """Add the contract's resources as requests and limits, and its further requests; amounts that the user set stay."""
    gpu = gpu_resource(contract)
    for name, wanted in contract.resources.items():
        _attach_resource(container, name, wanted, is_gpu=name == gpu)
    for name, least in contract.requests.items():
        resources = container.made("resources")
        if name not in resources.seen("limits").content and name not in resources.seen("requests").content:
            resources.made("requests").content[name] = least


def _attach_resource(container: Place, name: str, wanted: str, *, is_gpu: bool) -> None:
    resources = container.made("resources")
    limits, requests = resources.made("limits"), resources.made("requests")
    limit, request = limits.content.get(name), requests.content.get(name)
    asked = wanted if limit is None and request is None else request if limit is None else limit
    if limit is None:
        limits.content[name] = asked
    if request is None:
        requests.content[name] = asked
    device = "/" in name
    if limit is not None and request is not None and amount(limit) != amount(request):
        if device or name.startswith("hugepages-"):
            requests.refuse(
                "ATT019",
                name,
                f"the request {display(request)} is not the limit {display(limit)}, which it must be",
                "write the limit alone",
            )
        else:
            message = f"keeps {display(request)}, which is not the limit; the fabric's value is {wanted}"
            requests.note("ATT051", name, message)
    there, needed = amount(asked), amount(wanted)
    if there == needed:
        return
    if is_gpu and there is not None and needed is not None and there > needed:
        message = f"asks for {display(asked)}, but a node of the stack has {wanted}"
        limits.refuse("ATT027", name, message, f"write {wanted}, and more pods")
        return
    if device and not is_gpu and there is not None and needed is not None and there < needed:
        message = f"asks for {display(asked)}, but the networks need {wanted}"
        limits.refuse("ATT020", name, message, "remove it, or write that many")
    else:
        limits.note("ATT051", name, f"keeps {display(asked)}; the fabric's value is {wanted}")


_TABLE = Path(__file__).with_name("accelerators.yaml")
_TEMPLATE = "resourceClaimTemplateName"


class _Row(FrozenModel):
    names: tuple[str, ...]
    what: str
    source: str


class _Asked(NamedTuple):
    """A requested device, or a claim of devices, and its place in the container."""

    place: Place
    name: str
    is_claim: bool = False


def own_claims(template: Place, known: Collection[str]) -> dict[str, str]:
    """The known templates that a pod claims already, by the claims' names in the pod."""
    entries = ((entry.text("name"), entry.text(_TEMPLATE)) for entry in template.seen("spec").entries("resourceClaims"))
    return {name: named for name, named in entries if name is not None and named is not None and named in known}


def attach_claim(template: Place, container: Place, contract: FabricContract, size: str | None) -> None:
    """Add the claim of a size to pod and container; without one, what the pod claims already, else the first size."""
    by_template = {claim.template: claim for claim in contract.claims}
    there = own_claims(template, by_template)
    if size is None:
        wanted = next((by_template[named] for named in there.values()), next(iter(contract.claims)))
    else:
        wanted = next(claim for claim in contract.claims if claim.size == size)
    spec = template.made("spec")
    for entry in spec.entries("resourceClaims"):
        named = entry.text(_TEMPLATE)
        if named in by_template and named != wanted.template:
            message = f"claims {named} already, and a pod takes one size: not {wanted.template} as well"
            entry.refuse("ATT033", _TEMPLATE, message, f"remove it, or attach with --claim {by_template[named].size}")
            return
        if entry.text("name") == wanted.name and named not in by_template:
            message = "is the name of the fabric's claim, and this is another one"
            entry.refuse("ATT033", "name", message, "give it another name")
            return
    _claim(spec, container, there, claim_of_pod(wanted))
    gpu = gpu_resource(contract)
    if wanted.gpus and asks_for(container, gpu):
        message = f"asks for {gpu} by a device plug-in; the stack's GPUs come with the claim {wanted.template}"
        remedy = f"remove it, and name the container: --container {container.name}"
        container.seen("resources").seen("limits").refuse("ATT033", gpu, message, remedy)


def _claim(spec: Place, container: Place, there: Mapping[str, str], entry: Mapping[str, JsonValue]) -> None:
    """Add an entry of `resourceClaims`, unless the pod has its template by another name, and name it in a container."""
    name = next((own for own, named in there.items() if named == entry[_TEMPLATE]), None)
    if name is None:
        name = str(entry["name"])
        spec.append("resourceClaims", dict(entry))
    resources = container.made("resources")
    if not any(own.text("name") == name for own in resources.entries("claims")):
        resources.append("claims", {"name": name})


def attach_channel(template: Place, container: Place, domain: PodDomain, others: Collection[str]) -> None:
    """Add the claim of a rack's channel to pod and container; `others` are the templates of the stack's other racks."""
    spec = template.made("spec")
    for entry in spec.entries("resourceClaims"):
        named = entry.text(_TEMPLATE)
        if named in others:
            message = f"claims the channel of another rack, and NVLink reaches the nodes of one: not of {domain.name}"
            entry.refuse("ATT033", _TEMPLATE, message, "remove it, or name that rack by --rack")
            return
        if entry.text("name") == domain.claim and named != domain.template:
            message = "is the name of the fabric's claim of a channel, and this is another one"
            entry.refuse("ATT033", "name", message, "give it another name")
            return
    _claim(spec, container, own_claims(template, (domain.template,)), channel_of_pod(domain))


def refuse_uncounted_claims(document: Place) -> None:
    """Record what Kueue does not count of a claim or of a template of claims: it admits no job with the first three.

    Source: kueue v0.19.2, pkg/dra/claims.go.
    """
    inner = {"ResourceClaimTemplate": ("spec", "spec"), "ResourceClaim": ("spec",)}.get(
        str(document.content.get("kind"))
    )
    if inner is None:
        return
    spec = document
    for key in inner:
        spec = spec.seen(key)
    for request in spec.seen("devices").entries("requests"):
        exactly = request.seen("exactly")
        for place, key, why in (
            (request, "firstAvailable", "alternatives"),
            (exactly, "allocationMode", "all devices of a node"),
            (exactly, "adminAccess", "access next to others"),
        ):
            if place.content.get(key) not in (None, False, "ExactCount"):
                message = f"{why} cannot be counted by Kueue, which admits no job with such a claim"
                place.refuse("ATT034", key, message, "write exactly with a count")
    if document.content.get("kind") == "ResourceClaim":
        message = "a claim that pods share is not counted by Kueue, and DRANET prepares it for one pod alone"
        document.refuse("ATT034", "kind", message, "write a ResourceClaimTemplate")


def refuse_other_accelerators(container: Place, gpu: str, name: str) -> bool:
    """Record that a container requests accelerators that the stack does not provide; returns whether it does.

    A claim may be for any device, so it counts only if the container requests no GPUs. `name` is the container as a
    value of --container.
    """
    try:
        beside, asked = asks_for(container, gpu), list(_requested_devices(container, gpu))
    except Malformed as error:
        container.said.append(error.finding)
        return True
    found = [one for one in asked if (not beside if one.is_claim else _accelerator(one.name) is not None)]
    for place, key, is_claim in found:
        what = "claims devices" if is_claim else f"asks for {_accelerator(key)}"
        remedy = f"ask for {gpu}, take another stack's contract, or name it: --container {name}"
        place.refuse("ATT021", key, f"{what}; the stack's nodes have {gpu}", remedy)
    return bool(found)


def check_other_devices(template: Place, contract: FabricContract) -> None:
    """Note the devices of an attached pod that the contract does not name; refuse those of an earlier contract."""
    known = {claim.template for claim in contract.claims} | {domain.template for domain in contract.domains}
    gpu, own = gpu_resource(contract), own_claims(template, known)
    spec = template.seen("spec")
    for container in (*spec.entries("containers"), *spec.entries("initContainers")):
        for place, name, is_claim in _requested_devices(container, gpu):
            if is_claim:
                # A channel of another rack has the same name, and is replaced.
                mine = {*own, *(domain.claim for domain in contract.domains)}
                if {entry.text("name") for entry in place.entries("claims")} <= mine:
                    continue
                message = "claims devices besides those of the fabric; where they are the same, the pod stays pending"
                place.note("ATT064", name, message)
            elif is_former_name(name, (device for device in contract.devices if device != gpu)):
                message = "the stack has no such device any more, and the pod would stay pending"
                place.refuse("ATT028", name, message, "remove it, or attach the manifest as it was before the fabric")
            elif name not in contract.devices:
                message = "the stack's nodes are not known to offer it; where none does, the pod stays pending"
                place.note("ATT064", name, message)


def _requested_devices(container: Place, gpu: str) -> Iterator[_Asked]:
    """The extended resources of a container except `gpu`, each once, and its claims."""
    resources = container.seen("resources")
    seen: set[str] = set()
    for side in (resources.seen("limits"), resources.seen("requests")):
        for name, value in side.content.items():
            domain, slash, _ = str(name).partition("/")
            # Kubernetes' own resources, such as kubernetes.io/batch-cpu, are not devices.
            if (
                slash
                and name != gpu
                and name not in seen
                and not domain.endswith("kubernetes.io")
                and amount(value) != 0
            ):
                seen.add(name)
                yield _Asked(side, str(name))
    if resources.values("claims"):
        yield _Asked(resources, "claims", is_claim=True)


def _accelerator(name: str) -> str | None:
    """The kind of accelerator that an extended resource is; None if it is not one."""
    patterns = ((row.what, pattern) for row in read_rows(_TABLE, _Row) for pattern in row.names)
    return next((what for what, pattern in patterns if fnmatchcase(name.lower(), pattern)), None)
