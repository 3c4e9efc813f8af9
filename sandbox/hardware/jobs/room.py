"""Whether all pods of a job would fit on nodes before any is created, as gang scheduling requires. Pure functions.

Each pod is placed on the first node that has room for it. This is not an optimal placement, which pods that use whole
nodes do not need. Quantities are whole numbers of thousandths.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sandbox.hardware.device_plugins import labels_of
from sandbox.kubernetes_api import Object
from sandbox.nodes import is_ready

Amounts = Counter[str]
"""Resource -> thousandths of its unit: a CPU is 1000, a GPU is 1000, a byte of memory is 1000."""

_UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_UNITS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")


def thousandths(quantity: str | int | float) -> int:
    """A quantity as Kubernetes writes it, `100m` or `64Gi`, rounded up. Raises ValueError for any other text."""
    found = _QUANTITY.fullmatch(str(quantity))
    if found is None or found[2] not in {**_UNITS, **_BINARY_UNITS}:
        raise ValueError(f"{quantity!r} is not a quantity")
    unit = found[2]
    factor = Decimal(2) ** _BINARY_UNITS[unit] if unit in _BINARY_UNITS else Decimal(10) ** _UNITS[unit]
    exact = Decimal(found[1]) * factor * 1000
    return int(exact.to_integral_value(rounding="ROUND_CEILING"))


def written(amount: int) -> str:
    """Thousandths as a quantity."""
    return f"{amount}m" if amount % 1000 else str(amount // 1000)


def amounts_of(quantities: Mapping[str, Any] | None) -> Amounts:
    """A list of resources by name, in thousandths."""
    return Counter({name: thousandths(quantity) for name, quantity in (quantities or {}).items()})


def requests_of(spec: Mapping[str, Any]) -> Amounts:
    """What a pod of a spec asks for: the sum of its containers, or the largest init container where that is more.

    A limit without a request is a request. Sidecars (init containers that always restart) count as containers.
    """
    total, largest = amounts_of(spec.get("overhead")), Amounts()
    for container in spec.get("containers") or ():
        total.update(_container(container))
    for container in spec.get("initContainers") or ():
        asked = _container(container)
        if container.get("restartPolicy") == "Always":
            total.update(asked)
        else:
            largest |= asked
    return Amounts({name: amount for name, amount in (total | largest).items() if amount > 0})


def summed(several: Iterable[Mapping[str, int]]) -> Amounts:
    """The sum of amounts."""
    total = Amounts()
    for one in several:
        total.update(one)
    return total


def times(amounts: Mapping[str, int], count: int) -> Amounts:
    """So many of the same."""
    return Amounts({name: amount * count for name, amount in amounts.items()})


def _container(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


_ENDED = ("Succeeded", "Failed")
_OPERATORS: dict[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
    "Gt": lambda value, values: value is not None and int(value) > int(values[0]),
    "Lt": lambda value, values: value is not None and int(value) < int(values[0]),
}


class Room:
    """What nodes have left, given the pods that are bound to them."""

    def __init__(self, nodes: Iterable[Object], pods: Iterable[Object]) -> None:
        usable = [node for node in nodes if is_ready(node) and not node["spec"].get("unschedulable")]
        self._nodes = {node["metadata"]["name"]: node for node in usable}
        self._free = {name: amounts_of(node["status"]["allocatable"]) for name, node in self._nodes.items()}
        for pod in pods:
            node = pod["spec"].get("nodeName")
            if node in self._free and (pod.get("status") or {}).get("phase") not in _ENDED:
                self._free[node].subtract(_with_pod(pod["spec"]))

    def take(self, specs: Iterable[Mapping[str, Any]], selector: Mapping[str, str | None] | None = None) -> list[str]:
        """Put a pod of each spec on a node that has the selector's labels, as many as fit; gives their nodes.

        A label of the selector without a value may have any.
        """
        found = []
        for spec in specs:
            node = next((name for name in self._nodes if self._takes(name, spec, selector or {})), None)
            if node is not None:
                self._free[node].subtract(_with_pod(spec))
                found.append(node)
        return found

    def copy(self) -> Room:
        """The same room, for trying something out."""
        room = Room((), ())
        room._nodes = self._nodes
        room._free = {name: Amounts(free) for name, free in self._free.items()}
        return room

    def become(self, other: Room) -> None:
        """Take over what another room has left."""
        self._nodes, self._free = other._nodes, other._free

    def domains(self, keys: Sequence[str]) -> list[dict[str, str]]:
        """Every combination of values that nodes have of these labels; a node without one of them is in none."""
        found = []
        for node in self._nodes.values():
            domain = {key: labels_of(node)[key] for key in keys if key in labels_of(node)}
            if len(domain) == len(keys) and domain not in found:
                found.append(domain)
        return found

    def _takes(self, name: str, spec: Mapping[str, Any], selector: Mapping[str, str | None]) -> bool:
        node, free = self._nodes[name], self._free[name]
        wanted = {**(spec.get("nodeSelector") or {}), **selector}
        return (
            all(free[resource] >= amount for resource, amount in _with_pod(spec).items())
            and all(_has(node, key, value) for key, value in wanted.items())
            and tolerates(spec, node["spec"].get("taints") or ())
            and _has_affinity(spec, node)
        )


def _has(node: Object, key: str, value: str | None) -> bool:
    return key in labels_of(node) and value in (None, labels_of(node)[key])


def tolerates(spec: Mapping[str, Any], taints: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a pod may be bound in spite of taints."""
    tolerations = spec.get("tolerations") or ()
    hard = (taint for taint in taints if taint["effect"] in ("NoSchedule", "NoExecute"))
    return all(any(_covers(toleration, taint) for toleration in tolerations) for taint in hard)


def _covers(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return (toleration.get("key"), toleration.get("value") or "") == (taint["key"], taint.get("value") or "")


def _has_affinity(spec: Mapping[str, Any], node: Object) -> bool:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        all_hold(term.get("matchExpressions"), labels_of(node)) and all_hold(term.get("matchFields"), fields)
        for term in required["nodeSelectorTerms"]
    )


def all_hold(expressions: Iterable[Mapping[str, Any]] | None, values: Mapping[str, str]) -> bool:
    """Whether labels match every expression of a selector."""
    return all(
        _OPERATORS[expression["operator"]](values.get(expression["key"]), expression.get("values") or ())
        for expression in expressions or ()
    )


def _with_pod(spec: Mapping[str, Any]) -> Amounts:
    return Amounts({**requests_of(spec), "pods": thousandths(1)})
