"""Answers as the sections of a stack file, and what validation, rules and plan find in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from gpu_fabric.base.tables import read_table
from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.catalog.release import newest_line
from gpu_fabric.catalog.support import Support
from gpu_fabric.findings import ConfigurationError, Finding, Severity
from gpu_fabric.plan import Plan
from gpu_fabric.plan.managers import MANAGERS
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.not_asked_for import optional_keys
from gpu_fabric.spec.places import Location, dotted, within_place
from gpu_fabric.spec.stack_text import StackDocument

Answers = Mapping[str, str]
"""Answers as they were typed, by the name of the question; an empty one leaves the key out."""

POOL: Location = ("cluster", "pools", 0)
FABRIC: Location = ("fabric",)
SUPERNET: Location = ("fabric", "addressing", "supernet")

TABLE = Path(__file__).with_name("questions.yaml")
"""The questions, each with the place of its answer."""

_SUPERNETS = ("192.168.0.0/16", "172.16.0.0/16", "10.64.0.0/16", "172.16.0.0/12", "100.64.0.0/10")


@cache
def places() -> dict[str, Location]:
    """Where each answer is written, by the name of its question; that on the purpose is in several places."""
    return {name: tuple(row["at"]) for name, row in read_table(TABLE).items() if "at" in row}


class Outcome(NamedTuple):
    """What became of answers: a plan, or none, and all findings."""

    plan: Plan | None
    findings: tuple[Finding, ...]

    def errors_at(self, *places: Location) -> tuple[Finding, ...]:
        """The errors at these places of the file, and inside of them."""
        return tuple(entry for entry in self.at(*places) if entry.severity is Severity.ERROR)

    def at(self, *places: Location) -> tuple[Finding, ...]:
        """The findings at these places of the file, and inside of them."""
        return tuple(entry for entry in self.findings if any(within_place(entry.path, place) for place in places))


def sections(answers: Answers) -> dict[str, Any]:
    """The sections of the stack file that the answers make."""
    found: dict[str, Any] = {}
    for name, place in places().items():
        if answers.get(name):
            _put(found, place, _value(name, answers[name]))
    cluster = found.get("cluster", {})
    if "endpoint" in cluster:
        cluster["endpoint"] = {"public": True, **cluster["endpoint"]}
    for pool in cluster.get("pools", ()):
        shape = shape_of(answers)
        if shape is not None and cluster.get("provider") == "oke" and _needs_memory_fabric(shape):
            pool["placement"] = "gpu-memory-cluster"
    if _claims_whole_nics(answers):
        # The image's virtual functions would keep their NICs on the host.
        _put(found, ("fabric", "vfsPerNic"), 0)
    for row in optional_keys():
        measured = row.key == "verification.enabled" and "verification" in found
        can_have = row.is_for(cluster.get("provider", ""), answers.get("manager"))
        if (measured or answers.get("purpose") in row.purposes) and can_have:
            _put(found, row.place, row.value)
    return {**found, "software": {"releaseLine": _release_line(answers)}}


def _release_line(answers: Answers) -> str:
    """The newest line, or the newest one for an older Kubernetes: a file keeps its line until its owner changes it."""
    lines = catalog().releases
    newest = newest_line(lines)
    version = answers.get("kubernetes-version", "")
    try:
        return next((name for name, line in lines.items() if version in line.kubernetes), newest)
    except ValueError:
        # None stated, or `latest`.
        return newest


def outcome(answers: Answers, root: Path) -> Outcome:
    """The plan of the answers so far, or why there is none; relative paths start from `root`."""
    return _outcome(json.dumps(sections(answers)), answers.get("name") or "new", root)


# Questions, suggestions and their checks ask for the same plans: half of a conversation's are made again.
@lru_cache(maxsize=128)
def _outcome(written: str, name: str, root: Path) -> Outcome:
    file = f"Pulumi.{name}.yaml"
    document = StackDocument(name=name, file=file, root=root, sections=json.loads(written), text="")
    try:
        plan = prepare(document, for_up=False).plan
    except ConfigurationError as error:
        return Outcome(None, error.findings)
    return Outcome(plan, plan.findings)


def shape_of(answers: Answers) -> Shape | None:
    """The machine type of the answers; None if it is not known."""
    return catalog().find(answers["shape"]) if answers.get("shape") else None


def fitting_models(answers: Answers, root: Path) -> Iterator[Support]:
    """The models of the provider that can be planned on these machines with the given answers alone."""
    support = catalog().support
    wanted = [row for row in support if row.manager == answers.get("manager")]
    for row in wanted or support:
        if MANAGERS[row.manager].by_profile:
            # It needs a profile, for which there is no question.
            continue
        chosen = {**answers, "model": row.model, "manager": row.manager}
        if answers.get("provider") in row.providers and not refusals(chosen, root):
            yield row


def refusals(answers: Answers, root: Path) -> tuple[Finding, ...]:
    """The errors of machines and model together; not those of addresses, which are asked for later."""
    given = {name: text for name, text in answers.items() if text}
    found = outcome({"nodes": "1", **given}, root)
    later = found.at(SUPERNET)
    return tuple(entry for entry in found.errors_at(POOL, FABRIC) if entry not in later)


def default_model(answers: Answers, fitting: Iterable[Support], root: Path) -> Support | None:
    """The model that a stack has without the key, if it fits; else the first that can be created, or planned."""
    rows = tuple(fitting)
    plan = next((found for text in _SUPERNETS if (found := _plan_with(answers, text, root)) is not None), None)
    if plan is not None:
        chosen = (plan.choices.model, plan.choices.manager)
        rows = (*(row for row in rows if (row.model, row.manager) == chosen), *rows)
    created = (row for row in rows if answers.get("provider") in row.up_providers)
    return next(created, next(iter(rows), None))


def without_defaults(answers: Answers, root: Path) -> dict[str, str]:
    """The answers without model and manager, as far as the stack has the same ones without these keys."""
    wanted = (answers.get("model"), answers.get("manager"))
    for left_out in ({"model": "", "manager": ""}, {"manager": ""}):
        plan = outcome({**answers, **left_out}, root).plan
        if plan is not None and (plan.choices.model, plan.choices.manager) == wanted:
            return {**answers, **left_out}
    return dict(answers)


def free_supernet(answers: Answers, root: Path) -> str | None:
    """A range in which the plan finds nothing wrong with these answers; None if none of the usual ones is."""
    for text in _SUPERNETS:
        found = outcome({**answers, "supernet": text}, root)
        if found.plan is not None and not found.at(SUPERNET):
            return text
    return None


def _plan_with(answers: Answers, supernet: str, root: Path) -> Plan | None:
    return outcome({**answers, "supernet": supernet, "model": "", "manager": ""}, root).plan


def _claims_whole_nics(answers: Answers) -> bool:
    """Whether pods claim the NICs of machines that come with virtual functions."""
    shape = shape_of(answers)
    claims = any(found.dra_driver for name, found in MANAGERS.items() if name == answers.get("manager"))
    return claims and shape is not None and shape.vfs_per_nic > 0


def _needs_memory_fabric(shape: Shape) -> bool:
    return (shape.gpus.model or "") in catalog().oke_clusters.memory_fabric_gpus


def _value(name: str, text: str) -> Any:
    if name == "nodes":
        return int(text) if text.isascii() and text.isdigit() else text
    return [part.strip() for part in text.split(",")] if name == "api-from" else text


def _put(sections: dict[str, Any], place: Location, value: Any) -> None:
    here: Any = sections
    for key, after in pairwise(place):
        if isinstance(key, int):
            if not here:
                here.append({"name": "gpu"})
            here = here[key]
        else:
            here = here.setdefault(key, [] if isinstance(after, int) else {})
    here[place[-1]] = value


def path_of(name: str) -> str | None:
    """The dotted place of an answer; None of one that is in several places."""
    return dotted(places()[name]) if name in places() else None
