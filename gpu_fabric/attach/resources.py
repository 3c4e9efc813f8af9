"""The resources of the GPU container: requests equal to limits, in addition to the user's own."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from gpu_fabric.attach.place import Place, shown
from gpu_fabric.contract import FabricContract

_AMOUNT = re.compile(r"([+-]?\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,2}))?(m|k|[MGTPE]i?|Ki)?")
_SUFFIXES = {"m": Fraction(1, 1000), "k": Fraction(10**3), "Ki": Fraction(2**10)}
_SUFFIXES |= {letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("MGTPE", start=2)}
_SUFFIXES |= {f"{letter}i": Fraction(2 ** (10 * power)) for power, letter in enumerate("MGTPE", start=2)}


def amount(value: Any) -> Fraction | None:
    """A Kubernetes quantity as a number; None if it is not a valid quantity."""
    match = _AMOUNT.fullmatch(str(value)) if isinstance(value, str | int | float) else None
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    return Fraction(number) * Fraction(10) ** int(exponent or 0) * _SUFFIXES.get(suffix, Fraction(1))


def gpu_resource(contract: FabricContract) -> str:
    """The extended resource of the contract's GPUs; older contracts do not name it: no network uses that resource."""
    if contract.gpu_resource is not None:
        return contract.gpu_resource
    of_networks = {network.resource for network in contract.networks}
    return next(name for name in contract.devices if name not in of_networks)


def asks_for(container: Place, resource: str) -> bool:
    """Whether a container requests a resource, in an amount other than 0."""
    resources = container.found("resources")
    sides = [] if resources is None else [resources.found("limits"), resources.found("requests")]
    asked = (side.content.get(resource) for side in sides if side is not None)
    return any(value is not None and amount(value) != 0 for value in asked)


def attach_resources(container: Place, contract: FabricContract) -> None:
    """Add the contract's resources as requests and limits; amounts that the user set stay."""
    gpu = gpu_resource(contract)
    for name, wanted in contract.resources.items():
        _attach(container, name, wanted, is_gpu=name == gpu)


def _attach(container: Place, name: str, wanted: str, *, is_gpu: bool) -> None:
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
                f"the request {shown(request)} is not the limit {shown(limit)}, which it must be",
                "write the limit alone",
            )
        else:
            message = f"keeps {shown(request)}, which is not the limit; the fabric's value is {wanted}"
            requests.note("ATT051", name, message)
    there, needed = amount(asked), amount(wanted)
    if there == needed:
        return
    if is_gpu and there is not None and needed is not None and there > needed:
        message = f"asks for {shown(asked)}, but a node of the stack has {wanted}"
        limits.refuse("ATT027", name, message, f"write {wanted}, and more pods")
        return
    if device and not is_gpu and there is not None and needed is not None and there < needed:
        message = f"asks for {shown(asked)}, but the networks need {wanted}"
        limits.refuse("ATT020", name, message, "remove it, or write that many")
    else:
        limits.note("ATT051", name, f"keeps {shown(asked)}; the fabric's value is {wanted}")
