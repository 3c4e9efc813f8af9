"""Check the devices that pods request and that the stack does not provide: other accelerators, other NICs, claims."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from gpu_fabric.attach.networks import had_once
from gpu_fabric.attach.place import Malformed, Place
from gpu_fabric.attach.resources import amount, asks_for, gpu_resource
from gpu_fabric.contract import FabricContract
from gpu_fabric.model import FrozenModel

_TABLE = Path(__file__).parent / "accelerators.yaml"


class _Row(FrozenModel):
    names: tuple[str, ...]
    what: str
    source: str


class _Asked(NamedTuple):
    """A requested device, or a claim of devices, and its place in the container."""

    place: Place
    name: str
    is_claim: bool = False


def refuse_other_accelerators(container: Place, gpu: str, name: str) -> bool:
    """Record that a container requests accelerators that the stack does not provide; returns whether it does.

    A claim may be for any device, so it counts only if the container requests no GPUs. `name` is the container as a
    value of --container.
    """
    try:
        beside, asked = asks_for(container, gpu), list(_asked(container, gpu))
    except Malformed as error:
        container.said.problems.append(error.problem)
        return True
    found = [one for one in asked if (not beside if one.is_claim else _accelerator(one.name) is not None)]
    for place, key, is_claim in found:
        what = "claims devices" if is_claim else f"asks for {_accelerator(key)}"
        remedy = f"ask for {gpu}, take another stack's contract, or name it: --container {name}"
        place.refuse("ATT021", key, f"{what}; the stack's nodes have {gpu}", remedy)
    return bool(found)


def judge_other_devices(template: Place, contract: FabricContract) -> None:
    """Note the devices of an attached pod that the contract does not name; refuse those of an earlier contract."""
    gpu = gpu_resource(contract)
    spec = template.seen("spec")
    for container in (*spec.entries("containers"), *spec.entries("initContainers")):
        for place, name, is_claim in _asked(container, gpu):
            if is_claim:
                message = "claims devices beside those of the fabric; where they are the same, the pod stays pending"
                place.note("ATT064", name, message)
            elif had_once(name, (device for device in contract.devices if device != gpu)):
                message = "the stack has no such device any more, and the pod would stay pending"
                place.refuse("ATT028", name, message, "remove it, or attach the manifest as it was before the fabric")
            elif name not in contract.devices:
                message = "the stack's nodes are not known to offer it; where none does, the pod stays pending"
                place.note("ATT064", name, message)


def _asked(container: Place, gpu: str) -> Iterator[_Asked]:
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


@cache
def _rows() -> tuple[_Row, ...]:
    return tuple(_Row.model_validate(row) for row in yaml.safe_load(_TABLE.read_text(encoding="utf-8")))


def _accelerator(name: str) -> str | None:
    """The kind of accelerator that an extended resource is; None if it is not one."""
    patterns = ((row.what, pattern) for row in _rows() for pattern in row.names)
    return next((what for what, pattern in patterns if fnmatchcase(name.lower(), pattern)), None)
