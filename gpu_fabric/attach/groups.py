"""Which fabric of several a manifest is for: by the labels of the nodes that it selects, or the devices it requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.several import Contracts, chosen_of

_SELECTORS, _SIDES = ("nodeSelector",), ("limits", "requests")


def contract_for(contracts: Contracts, names: Iterable[str], documents: Iterable[Any]) -> FabricContract:
    """The contract for manifests: of the named fabrics, or of those that the manifests themselves point to.

    A fabric is pointed to by a label of its nodes in a node selector or in a required node affinity, and by a request
    for one of its devices, such as an earlier attachment has made. One that a label excludes is not meant.

    Raises:
        InputError: it is not clear which fabric is meant, or a pod cannot have them together.
    """
    named = list(names)
    return chosen_of(contracts, named or _pointed_to(contracts, list(documents)))


def _pointed_to(contracts: Contracts, documents: list[Any]) -> list[str]:
    if len(contracts) == 1:
        return []
    found = [_facts(document) for document in documents]
    labels = {label for one, _ in found for label in one}
    devices = {name for _, one in found for name in one}
    compute = [name for name, one in contracts.items() if one.purpose is None and _is_meant(one, labels, devices)]
    storage = [name for name, one in contracts.items() if one.purpose is not None and devices & set(one.devices)]
    if not compute and storage:
        # One compute fabric alone needs no pointer.
        compute = [name for name, one in contracts.items() if one.purpose is None]
    return [*compute, *storage] if len(compute) == 1 else []


def _is_meant(contract: FabricContract, labels: set[tuple[str, str]], devices: set[str]) -> bool:
    wanted = contract.node_selector.items()
    if any(key == other and value != text for key, value in wanted for other, text in labels):
        return False
    own = set(contract.devices) - {contract.gpu_resource}
    return bool(own & devices) or any(label in labels for label in wanted)


def _facts(content: Any) -> tuple[set[tuple[str, str]], set[str]]:
    """Every label that a manifest's pods select nodes by, and every resource that they request."""
    labels: set[tuple[str, str]] = set()
    devices: set[str] = set()
    for key, value in _entries(content):
        if key in _SELECTORS and isinstance(value, dict):
            labels |= {(str(name), str(text)) for name, text in value.items()}
        elif key in _SIDES and isinstance(value, dict):
            devices |= set(map(str, value))
        elif key == "matchExpressions" and isinstance(value, list):
            for term in value:
                values = term.get("values") if isinstance(term, dict) and term.get("operator") == "In" else None
                if isinstance(values, list) and len(values) == 1:
                    labels.add((str(term.get("key")), str(values[0])))
    return labels, devices


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield str(key), value
            yield from _entries(value)
    elif isinstance(content, list):
        for value in content:
            yield from _entries(value)
