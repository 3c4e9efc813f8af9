"""Which pod templates get the fabric, and which container of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fabric.attach.kinds import Template, Workload, containers, templates
from fabric.attach.place import Malformed, Place, Said
from fabric.attach.problem import Problem
from fabric.attach.resources import asks_for
from fabric.attach.train_job import template_of


class Chosen(NamedTuple):
    """A container that gets the fabric, in its pod template."""

    workload: Workload
    template: Place
    container: Place


class _Candidate(NamedTuple):
    workload: Workload
    template: Template
    containers: tuple[Place, ...]
    asking: tuple[Place, ...]

    @property
    def names(self) -> list[str]:
        return [_name(container) for container in self.containers]

    @property
    def role(self) -> str:
        return self.template.role or ""

    @property
    def possible(self) -> bool:
        kind = self.workload.kind
        makes_workers = kind.unless and _field(self.workload.place, kind.unless) is True
        return makes_workers or self.role not in kind.never

    def said(self) -> str:
        """The containers as they can be written behind --container."""
        prefix = f"{self.role}/" if self.role else ""
        return ", ".join(f"{prefix}{name}" for name in self.names)


def choose(workloads: Sequence[Workload], wishes: Sequence[str], gpu: str, said: Said) -> list[Chosen]:
    """The containers to attach the fabric to.

    Each wish is a role, a container's name, or both as `role/name`. Without one it is the container that asks for
    `gpu`; and where nothing in the input asks for any, the only container of the only workload. What cannot be told
    is recorded as a problem with the list of what there is.
    """
    candidates = [candidate for workload in workloads for candidate in _candidates(workload, gpu, said)]
    unused = [wish for wish in wishes if not any(_is_meant(candidate, wish) for candidate in candidates)]
    for wish in unused:
        there = "; ".join(f"{entry.workload.name}: {entry.said()}" for entry in candidates) or "none"
        message = f"no role and no container is named {wish!r}"
        said.problems.append(Problem("ATT009", 0, "", message, f"there are {there}"))
    known = [wish for wish in wishes if wish not in unused]
    meant = [candidate for candidate in candidates if any(_is_meant(candidate, wish) for wish in known)]
    some_ask = any(candidate.asking and candidate.possible for candidate in candidates) or bool(meant)
    if not some_ask and len(workloads) > 1 and not wishes:
        for workload in workloads:
            workload.place.refuse(
                "ATT010",
                "",
                f"nothing here asks for {gpu}, so it is not clear which of {len(workloads)} workloads trains",
                f"ask for {gpu} in those that do, or name their container: --container NAME",
            )
        return []
    chosen = []
    for workload in workloads:
        own = [candidate for candidate in candidates if candidate.workload is workload]
        for candidate in _templates_of(workload, own, known, some_ask=some_ask, gpu=gpu):
            container = _container_of(candidate, known, gpu)
            if container is not None:
                chosen.append(Chosen(workload, candidate.template.place, container))
    return chosen


def has_meant(workloads: Sequence[Workload], wishes: Sequence[str], gpu: str, said: Said) -> bool:
    """Whether a container of the workloads asks for `gpu`, or is one of the wishes."""
    candidates = [candidate for workload in workloads for candidate in _candidates(workload, gpu, said)]
    meant = any(_is_meant(candidate, wish) for candidate in candidates for wish in wishes)
    return meant or any(candidate.asking and candidate.possible for candidate in candidates)


def _candidates(workload: Workload, gpu: str, said: Said) -> list[_Candidate]:
    found = []
    try:
        # What a TrainJob runs trains, whether it says with how many GPUs or its runtime does.
        job = workload.kind.of_a_train_job
        for template in [template_of(workload)] if job else templates(workload):
            inside = tuple(containers(template.place))
            asking = tuple(container for container in inside if job or asks_for(container, gpu))
            found.append(_Candidate(workload, template, inside, asking))
    except Malformed as error:
        said.problems.append(error.problem)
        return []
    if not found:
        message = f"there is no pod template where a {workload.kind.kind} has one"
        workload.place.refuse("ATT008", "spec", message, "add it")
    return found


def _templates_of(
    workload: Workload, own: Sequence[_Candidate], wishes: Sequence[str], *, some_ask: bool, gpu: str
) -> Sequence[_Candidate]:
    roles = [entry for entry in own if any(_is_role(entry, wish) for wish in wishes)]
    if roles:
        return roles
    possible = [entry for entry in own if entry.possible]
    named = [entry for entry in possible or own if any(wish in entry.names for wish in wishes)]
    if named:
        return named
    asking = [entry for entry in possible if entry.asking]
    if asking or some_ask:
        for entry in own:
            if entry not in asking and entry.possible:
                entry.template.place.note("ATT055", "", f"asks for no {gpu}, and is left as it is")
        return asking
    likely = [entry for entry in possible if entry.role not in workload.kind.only_asking]
    if len(likely) > 1 and not workload.kind.alike:
        workload.place.refuse(
            "ATT010",
            "",
            f"none of its {len(likely)} pod templates asks for {gpu}: {'; '.join(entry.said() for entry in likely)}",
            f"ask for {gpu} in those that train, or name one: --container ROLE",
        )
        return []
    if own and not likely:
        workload.place.refuse("ATT010", "", f"none of its pods asks for {gpu}", "name one: --container ROLE")
    return likely


def _container_of(candidate: _Candidate, wishes: Sequence[str], gpu: str) -> Place | None:
    place = candidate.template.place
    by_role = [wish.rpartition("/")[2] for wish in wishes if "/" in wish and _is_role(candidate, wish)]
    names = [name for name in (*by_role, *wishes) if name in candidate.names]
    named = [entry for entry in candidate.containers if _name(entry) in names]
    if len(named) > 1:
        message = f"several of its containers are named: {', '.join(dict.fromkeys(names))}"
        place.refuse("ATT011", "spec.containers", message, "the devices of a pod go to one container: name that")
        return None
    if named:
        return named[0]
    likely = candidate.asking or candidate.containers
    if len(likely) == 1:
        return likely[0]
    fact = f"{len(likely)} containers ask for {gpu}" if candidate.asking else f"no container asks for {gpu}"
    place.refuse(
        "ATT011",
        "spec.containers",
        f"{fact}: {', '.join(_name(entry) for entry in likely)}",
        f"name one: --container {candidate.said().partition(',')[0]}",
    )
    return None


def _is_meant(candidate: _Candidate, wish: str) -> bool:
    return _is_role(candidate, wish) or wish in candidate.names


def _is_role(candidate: _Candidate, wish: str) -> bool:
    role, slash, name = wish.partition("/")
    if not candidate.role or role.lower() != candidate.role.lower():
        return False
    return not slash or name in candidate.names


def _name(container: Place) -> str:
    return str(container.content.get("name", "(without a name)"))


def _field(place: Place, path: Sequence[str]) -> object:
    *folders, last = path
    here: Place | None = place
    for key in folders:
        here = None if here is None else here.found(key)
    return None if here is None else here.content.get(last)
