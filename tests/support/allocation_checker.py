"""Which devices the claims of a pod can have on a node: every possibility is tried, and nothing is known of any plan.

Claims mean what Kubernetes 1.36 makes of them (k8s.io/dynamic-resource-allocation, structured): a device serves one
claim, all selectors of class and request must hold, and a device without the attribute of a constraint does not meet
it. What is not judged here (allocationMode All, firstAvailable, taints, capacity) is refused, never passed over.
`tests/sandbox/test_claims.py` compares the answers with those of the scheduler's own allocator.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpu_fabric.base.cel import condition

Json = Mapping[str, Any]
Id = tuple[str, str, str]
"""Driver, pool and name of a device."""

Allocation = list[tuple[str, Id]]
"""The devices of a claim, each with the request that it serves."""

_Constraint = tuple[frozenset[str], str]
"""Names of requests, none for all, and the attribute that must be equal."""

_REQUEST_KEYS = {"deviceClassName", "count", "allocationMode", "selectors"}


@dataclass(frozen=True)
class Device:
    """A published device; attributes have their domains, and values their types."""

    id: Id
    attributes: Mapping[str, tuple[str, Any]]

    def variables(self) -> Json:
        """What a selector reads of it: attributes by domain; a domain of which it has none is empty."""
        domains: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for name, (_, value) in self.attributes.items():
            domain, _, own = name.partition("/")
            domains[domain][own] = value
        return {"device": {"driver": self.id[0], "attributes": domains}}


@dataclass
class Node:
    """What a pod's claims can have: a node's slices, the classes of the cluster, and the devices that are taken."""

    slices: Sequence[Json]
    classes: Sequence[Json] = ()
    taken: frozenset[Id] = frozenset()
    devices: list[Device] = field(init=False)

    def __post_init__(self) -> None:
        self.devices = [device for item in self.slices for device in _devices(item)]
        self._classes = {item["metadata"]["name"]: item["spec"] for item in self.classes}

    def allocation(self, claims: Sequence[Json]) -> list[Allocation] | None:
        """The devices of each claim, None if they cannot be had together.

        Raises CelRuntimeError for a selector without a value, by which the scheduler gives up the pod.
        """
        picks = [
            _Pick(place, name, candidates)
            for place, claim in enumerate(claims)
            for name, exactly in _requests(claim)
            for candidates in [self._candidates(exactly)] * _count(exactly)
        ]
        constraints = [_constraints(claim) for claim in claims]
        # What cannot be for a simple reason need not be tried in every way.
        if len(claims) > 1 and any(self.allocation([claim]) is None for claim in claims):
            return None
        offered = [frozenset(device.id for device in pick.candidates) for pick in picks]
        if any(sum(others <= own for others in offered) > len(own) for own in offered):
            return None
        chosen = next(_choices(picks, constraints, (), frozenset(self.taken)), None)
        if chosen is None:
            return None
        given: list[Allocation] = [[] for _ in claims]
        for pick, device in zip(picks, chosen, strict=True):
            given[pick.claim].append((pick.request, device.id))
        return given

    def violations(self, claims: Sequence[Json], given: Sequence[Allocation]) -> list[str]:
        """What is wrong with an allocation that somebody made; empty if nothing."""
        known = {device.id: device for device in self.devices}
        every = [device for allocation in given for _, device in allocation]
        found = [f"{device} is no device of the node" for device in every if device not in known]
        found += [f"{device} is taken" for device in every if device in self.taken]
        found += [f"{device} serves two requests" for device in set(every) if every.count(device) > 1]
        if len(claims) != len(given):
            return [*found, f"{len(given)} allocations for {len(claims)} claims"]
        if found:
            return found
        for claim, allocation in zip(claims, given, strict=True):
            found += self._of_claim(claim, [(name, known[device]) for name, device in allocation])
        return found

    def _of_claim(self, claim: Json, allocation: Sequence[tuple[str, Device]]) -> Iterator[str]:
        for name, exactly in _requests(claim):
            served = [device for request, device in allocation if request == name]
            if len(served) != _count(exactly):
                yield f"request {name} has {len(served)} devices and asks for {_count(exactly)}"
            for device in served:
                if not self._matches(device, exactly):
                    yield f"{device.id} is not what request {name} selects"
        for names, attribute in _constraints(claim):
            values = {
                device.attributes.get(attribute) for request, device in allocation if not names or request in names
            }
            if None in values or len(values) > 1:
                yield f"{attribute} differs or is missing: {values}"

    def _candidates(self, exactly: Json) -> list[Device]:
        return [device for device in self.devices if device.id not in self.taken and self._matches(device, exactly)]

    def _matches(self, device: Device, exactly: Json) -> bool:
        spec = self._classes[exactly["deviceClassName"]]
        variables = device.variables()
        return all(
            condition(selector["cel"]["expression"])(variables)
            for selector in (*spec.get("selectors", ()), *exactly.get("selectors", ()))
        )


def _devices(item: Json) -> Iterator[Device]:
    spec = item["spec"]
    for entry in spec.get("devices", ()):
        if left := set(entry) - {"name", "attributes", "capacity"}:
            raise ValueError(f"devices with {', '.join(sorted(left))} are not judged")
        attributes = {
            name if "/" in name else f"{spec['driver']}/{name}": next(iter(typed.items()))
            for name, typed in entry.get("attributes", {}).items()
        }
        yield Device((spec["driver"], spec["pool"]["name"], entry["name"]), attributes)


def _requests(claim: Json) -> Iterator[tuple[str, Json]]:
    """Names and exact requests of a claim, or of a template, whose specification is one level deeper."""
    for request in _spec(claim)["requests"]:
        exactly = request.get("exactly")
        if (
            exactly is None
            or set(exactly) - _REQUEST_KEYS
            or exactly.get("allocationMode", "ExactCount") != "ExactCount"
        ):
            raise ValueError(f"request {request['name']} is not judged: {request}")
        yield request["name"], exactly


def _constraints(claim: Json) -> list[_Constraint]:
    entries = _spec(claim).get("constraints", ())
    if wrong := [entry for entry in entries if set(entry) - {"requests", "matchAttribute"}]:
        raise ValueError(f"constraints are not judged: {wrong}")
    return [(frozenset(entry.get("requests", ())), entry["matchAttribute"]) for entry in entries]


def _spec(claim: Json) -> Json:
    spec: Json = claim["spec"]
    devices: Json = spec["spec"]["devices"] if "spec" in spec else spec["devices"]
    return devices


def _count(exactly: Json) -> int:
    return int(exactly.get("count", 1))


class _Pick(NamedTuple):
    """One device to be chosen: for which claim and request, and of which devices."""

    claim: int
    request: str
    candidates: list[Device]


def _choices(
    picks: Sequence[_Pick],
    constraints: Sequence[Sequence[_Constraint]],
    chosen: tuple[Device, ...],
    taken: frozenset[Id],
) -> Iterator[tuple[Device, ...]]:
    """Every way to serve the picks that are left. Those of one request have their devices in the order of the node."""
    if len(chosen) == len(picks):
        yield chosen
        return
    pick = picks[len(chosen)]
    follows = bool(chosen) and picks[len(chosen) - 1][:2] == pick[:2]
    start = pick.candidates.index(chosen[-1]) + 1 if follows else 0
    before = [(other, device) for other, device in zip(picks, chosen, strict=False) if other.claim == pick.claim]
    for device in pick.candidates[start:]:
        if device.id not in taken and all(_agrees(device, pick, before, one) for one in constraints[pick.claim]):
            yield from _choices(picks, constraints, (*chosen, device), taken | {device.id})


def _agrees(device: Device, pick: _Pick, before: Iterable[tuple[_Pick, Device]], constraint: _Constraint) -> bool:
    """Whether a device has the value that the devices before it have by a constraint of their claim."""
    names, attribute = constraint
    if names and pick.request not in names:
        return True
    value = device.attributes.get(attribute)
    concerned = (other for other_pick, other in before if not names or other_pick.request in names)
    return value is not None and all(other.attributes[attribute] == value for other in concerned)
