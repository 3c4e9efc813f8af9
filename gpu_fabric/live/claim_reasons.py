"""Why claims cannot be allocated: which request, which selector, and what which node lacks.

Judged as Kubernetes' allocator does (k8s.io/dynamic-resource-allocation/structured, 1.36): the selectors of the class,
then those of the request, on every device of a whole pool; a device goes to one claim; a taint must be tolerated; all
devices of a constraint have one value of its attribute; everything on one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from gpu_fabric.base.enumeration import grouped, quantity
from gpu_fabric.k8s.device_selector import MissingAttribute, NotEvaluated, selects
from gpu_fabric.k8s.resource_slices import Device, DeviceId
from gpu_fabric.live.cluster import Json, field
from gpu_fabric.live.published import Holder
from gpu_fabric.live.several import some

_MOST_VALUES = 4
_MOST_ALTERNATIVES = 64
# What is another while a NIC is in a pod, though it is there (dranet 1.4.0, pkg/inventory/db.go, addRDMAAttributes).
_LOST = frozenset({"dra.net/rdma"})
# More choices of values than claims of a fabric have: then it is not decided.
_MOST_CHOICES = 4096


class Why(NamedTuple):
    """Why claims are not allocated. `waits`: they would be, if other claims did not hold the devices."""

    text: str
    remedy: str
    waits: bool = False


class _Toleration(NamedTuple):
    """A toleration of a request; empty parts fit everything."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Mapping[str, Any]) -> bool:
        return (
            self.key in ("", taint.get("key"))
            and self.effect in ("", taint.get("effect"))
            and (self.operator == "Exists" or self.value == (taint.get("value") or ""))
        )


class _Request(NamedTuple):
    """A request of a claim; `wanted` is None where it wants all devices.

    The claim has no name where the pod names resources.
    """

    claim: str
    name: str
    class_name: str
    selectors: tuple[str, ...]
    wanted: int | None
    tolerations: tuple[_Toleration, ...]

    def __str__(self) -> str:
        return f"request {self.name} of claim {self.claim}" if self.claim else f"request {self.name}"


class _Constraint(NamedTuple):
    """All devices of these requests, or of all, have one value of an attribute."""

    claim: str
    requests: tuple[str, ...]
    attribute: str

    def is_of(self, request: _Request) -> bool:
        if request.claim != self.claim:
            return False
        # A request's name, or that of one of its alternatives below it.
        return not self.requests or bool({request.name, request.name.partition("/")[0]} & {*self.requests})


class Published(NamedTuple):
    """What claims are allocated from: devices, DeviceClasses by name, and who holds each allocated device.

    `incomplete` are pools of which a slice is missing.
    """

    devices: tuple[Device, ...]
    classes: Mapping[str, Json]
    holders: Mapping[DeviceId, Holder]
    incomplete: tuple[str, ...] = ()


_Matches = dict[_Request, tuple[Device, ...]]


def why_not_allocated(claims: Mapping[str, Json], published: Published) -> Why:
    """The first reason that keeps claims, by the pod's names for them, from being allocated, or that none is seen.

    Of alternatives (`firstAvailable`) those count that can be met.
    """
    options: list[list[tuple[_Request, tuple[Device, ...]]]] = []
    for alternatives in (request for name, claim in claims.items() for request in _requests(name, claim)):
        tried = [(request, _matching(request, published)) for request in alternatives]
        good = [(request, found) for request, found in tried if not isinstance(found, Why)]
        if not good:
            first = next(found for _, found in tried if isinstance(found, Why))
            more = f"; of {quantity(len(tried) - 1, 'alternative')} none can be met either" if len(tried) > 1 else ""
            return first._replace(text=first.text + more)
        options.append(good)
    constraints = [constraint for name, claim in claims.items() for constraint in _constraints(name, claim)]
    choices = islice(product(*options), _MOST_ALTERNATIVES)
    reasons = [_together(dict(choice), constraints, published) for choice in choices]
    return next((why for why in reasons if why.waits), reasons[0])


def _requests(of: str, claim: Json) -> Iterator[tuple[_Request, ...]]:
    """The requests of a claim, each with its alternatives; v1beta1 has no level `exactly`."""
    for row in field(claim, "spec", "devices", "requests") or ():
        name = str(row.get("name"))
        rows = [(f"{name}/{one.get('name')}", one) for one in row.get("firstAvailable") or ()]
        exact = [_request(of, *one) for one in rows or [(name, row.get("exactly") or row)]]
        if not any(one.get("adminAccess") for _, one in rows) and not field(row, "exactly", "adminAccess"):
            yield tuple(exact)


def _request(of: str, name: str, row: Json) -> _Request:
    return _Request(
        claim=of,
        name=name,
        class_name=str(row.get("deviceClassName")),
        selectors=_expressions(row.get("selectors")),
        wanted=None if row.get("allocationMode") == "All" else int(row.get("count") or 1),
        tolerations=tuple(
            _Toleration(*(str(one.get(key) or "") for key in _Toleration._fields))
            for one in row.get("tolerations") or ()
        ),
    )


def _expressions(selectors: Iterable[Json] | None) -> tuple[str, ...]:
    return tuple(str(field(entry, "cel", "expression") or "") for entry in selectors or ())


def _constraints(of: str, claim: Json) -> Iterator[_Constraint]:
    for row in field(claim, "spec", "devices", "constraints") or ():
        if attribute := row.get("matchAttribute"):
            yield _Constraint(of, tuple(row.get("requests") or ()), str(attribute))


def _matching(request: _Request, published: Published) -> tuple[Device, ...] | Why:
    """The devices that the selectors of a request choose, or why there is none."""
    device_class = published.classes.get(request.class_name)
    if device_class is None:
        return Why(
            f"{request}: the cluster has no DeviceClass {request.class_name}",
            f"create it, or name another one; the cluster has {some(sorted(published.classes)) or 'none'}",
        )
    left: tuple[Device, ...] = published.devices
    of_class = [(f"DeviceClass {request.class_name}", text) for text in _expressions(_selectors(device_class))]
    for owner, expression in [*of_class, *((str(request), text) for text in request.selectors)]:
        chosen, reads = [], set[str]()
        for device in left:
            holder, of_it = published.holders.get(device.id), set[str]()
            try:
                is_chosen = selects(expression, device.facts, of_it)
            except NotEvaluated:
                # Nothing is concluded from what is not evaluated here.
                is_chosen = True
            except MissingAttribute as missing:
                # A device that is in use is passed over before its selectors are evaluated.
                if holder is None:
                    return _ends_in_an_error(owner, expression, device, missing.name)
                is_chosen = False
            if holder is not None and holder.device_class == request.class_name:
                # DRANET does not publish the interface of a NIC that is in a pod, and that it has RDMA.
                is_chosen = is_chosen or bool((of_it & _LOST) | (of_it - device.facts.attributes.keys()))
            reads |= of_it
            if is_chosen:
                chosen.append(device)
        if not chosen:
            return _selects_none(request, owner, expression, left, sorted(reads), published)
        left = tuple(chosen)
    return left


def _selectors(device_class: Json) -> list[Json]:
    return field(device_class, "spec", "selectors") or []


def _ends_in_an_error(owner: str, expression: str, device: Device, attribute: str) -> Why:
    domain, _, name = attribute.rpartition("/")
    return Why(
        f"{owner}: the selector `{_short(expression)}` reads {attribute}, which device {device.id} does not have; its "
        "evaluation ends in an error (`no such key`), and the scheduler gives that node up, or the whole try",
        f'test it first: `"{name}" in device.attributes["{domain}"] && …`, or narrow the class to devices that have it',
    )


def _selects_none(
    request: _Request,
    owner: str,
    expression: str,
    left: Sequence[Device],
    reads: Sequence[str],
    published: Published,
) -> Why:
    """Why a selector chooses none of the devices that the ones before it chose."""
    if not left:
        missing = f"; {some(published.incomplete)} lacks a slice" if published.incomplete else ""
        return Why(
            f"{request}: no device is published on any node{missing}",
            "see that the DRA driver's pods run on the nodes, and what they say: `kubectl get resourceslices`",
        )
    facts = []
    for attribute in reads:
        values = sorted({device.text(attribute) for device in left if attribute in device.facts.attributes})
        if values:
            facts.append(
                f"{attribute} is {', '.join(values[:_MOST_VALUES])}{' …' if len(values) > _MOST_VALUES else ''}"
            )
        elif not any(attribute in device.facts.capacity for device in left):
            facts.append(f"none has {attribute}")
    drivers = sorted({device.id.driver for device in left})
    incomplete = f"; {some(published.incomplete)} lacks a slice" if published.incomplete else ""
    return Why(
        f"{request}: the selector `{_short(expression)}` of {owner} selects none of {quantity(len(left), 'device')} of "
        f"{some(drivers)}{': ' if facts else ''}{'; '.join(facts)}{incomplete}",
        "write what the devices have, as `kubectl get resourceslices -o yaml` shows it, or see why the driver does not "
        "publish the device: its pod on the node, its filter, a NIC that did not come back from an ended pod",
    )


def _short(expression: str) -> str:
    text = " ".join(expression.split())
    return text if len(text) <= 120 else f"{text[:120]} …"


def _together(matches: _Matches, constraints: Sequence[_Constraint], published: Published) -> Why:
    """Why no node has devices for all requests, first of all devices, then of the free ones."""
    nodes = sorted({device.node for found in matches.values() for device in found} - {""})
    usable = {request: _usable(request, found) for request, found in matches.items()}
    lacking = {node: _lacks(node, usable, matches) for node in nodes}
    able = [node for node in nodes if lacking[node] is None]
    if matches and not able:
        reasons = grouped(nodes, lambda node: lacking[node])
        said = "; ".join(f"{some(names)}: {reason}" for reason, names in list(reasons.items())[:_MOST_VALUES])
        return Why(
            f"no node has the devices, even if all were free: {said}",
            "ask for what a node has, take the taint off the device, or see why the driver does not publish the others",
        )
    unmet = {node: _unmet(_on(node, usable), constraints) for node in able}
    if able and all(unmet.values()):
        return Why(
            f"{some(able)}: {unmet[able[0]]}",
            "leave the constraint out, or ask for devices that share a value",
        )
    free = {
        request: tuple(one for one in found if one.id not in published.holders) for request, found in usable.items()
    }
    waiting = [node for node in able if _unmet(_on(node, free), constraints) or _lacks(node, free, matches)]
    if able and len(waiting) == len(able):
        there = [one for found in usable.values() for one in found if one.node in able]
        held = {holder.claim for one in there if (holder := published.holders.get(one.id)) is not None}
        return Why(
            f"devices on {some(able)} would do, and other claims hold them: {some(sorted(held))}",
            "wait until a pod with one of these claims ends, or free them",
            waits=True,
        )
    able = [node for node in able if node not in waiting]
    where = f" on {some(able)}" if able else ""
    return Why(
        f"by what is published the claims can be met{where}: something else keeps the pod off, or a selector was not "
        "evaluated here",
        "see what the scheduler says of the pod in addition to its claims: taints, node selectors, other resources",
        waits=True,
    )


def _usable(request: _Request, found: Iterable[Device]) -> tuple[Device, ...]:
    return tuple(
        device
        for device in found
        if all(any(one.tolerates(taint) for one in request.tolerations) for taint in device.taints)
    )


def _at(node: str, found: Iterable[Device]) -> list[Device]:
    return [device for device in found if device.node in (node, "")]


def _on(node: str, found: _Matches) -> dict[_Request, list[Device]]:
    return {request: _at(node, devices) for request, devices in found.items()}


def _lacks(node: str, usable: _Matches, matches: _Matches) -> str | None:
    """What a node lacks of one request; None where each by itself is met."""
    for request, found in usable.items():
        there, all_there = _at(node, found), _at(node, matches[request])
        wanted = max(1, len(all_there)) if request.wanted is None else request.wanted
        if len(there) < wanted:
            taints = sorted({str(taint.get("key")) for device in all_there for taint in device.taints})
            tainted = f", {len(all_there) - len(there)} tainted ({some(taints)})" if len(all_there) > len(there) else ""
            return f"{len(there)} of {wanted} devices for {request}{tainted}"
    return None


def _unmet(there: dict[_Request, list[Device]], constraints: Sequence[_Constraint]) -> str:
    """Why a node's devices do not meet all requests at once; empty where they do, or it was not decided.

    Every choice of a value for each constraint is tried; whether devices suffice then is a matching.
    """
    used = [one for one in constraints if any(one.is_of(request) for request in there)]
    values = [_values(one, there) for one in used]
    for one, of_one in zip(used, values, strict=True):
        if not of_one:
            return f"no value of {one.attribute} is on devices of all of {_named(one, there)}"
    for tries, choice in enumerate(product(*values)):
        if tries > _MOST_CHOICES or _suffices(_narrowed(there, used, choice)):
            return ""
    if not used:
        return f"too few devices for {some([str(request) for request in there])} at once"
    for one, of_one in zip(used, values, strict=True):
        if not any(_suffices(_narrowed(there, [one], (value,))) for value in of_one):
            counts = [
                f"{value} {' and '.join(str(len(found)) for found in _of(one, _narrowed(there, [one], (value,))))}"
                for value in of_one[:_MOST_VALUES]
            ]
            return (
                f"no value of {one.attribute} has enough devices for all of {_named(one, there)}: {', '.join(counts)}"
            )
    return f"the constraints on {some([one.attribute for one in used])} cannot be met at once"


def _of(one: _Constraint, there: dict[_Request, list[Device]]) -> list[list[Device]]:
    return [found for request, found in there.items() if one.is_of(request)]


def _named(one: _Constraint, there: dict[_Request, list[Device]]) -> str:
    return some([request.name for request in there if one.is_of(request)])


def _values(one: _Constraint, there: dict[_Request, list[Device]]) -> list[str]:
    """The values that devices of every request of a constraint have."""
    sets = [{device.text(one.attribute) for device in found} - {""} for found in _of(one, there)]
    return sorted(set.intersection(*sets)) if sets else []


def _narrowed(
    there: dict[_Request, list[Device]], constraints: Sequence[_Constraint], choice: Sequence[str]
) -> dict[_Request, list[Device]]:
    chosen = list(zip(constraints, choice, strict=True))
    return {
        request: [
            device
            for device in found
            if all(device.text(one.attribute) == value for one, value in chosen if one.is_of(request))
        ]
        for request, found in there.items()
    }


def _suffices(there: dict[_Request, list[Device]]) -> bool:
    """Whether each request gets as many devices as it wants, and no device goes to two: a matching."""
    places = [request for request, found in there.items() for _ in range(request.wanted or max(1, len(found)))]
    given: dict[DeviceId, int] = {}

    def finds(place: int, tried: set[DeviceId]) -> bool:
        for device in there[places[place]]:
            if device.id in tried:
                continue
            tried.add(device.id)
            if device.id not in given or finds(given[device.id], tried):
                given[device.id] = place
                return True
        return False

    return all(finds(place, set()) for place in range(len(places)))
