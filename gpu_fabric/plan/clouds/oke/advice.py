"""Advice for a record that Oracle refuses, and for machines of a pool that do not become nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.clouds.oke.resources import OkeResources, PlannedConstruct
from gpu_fabric.plan.clouds.record import Record, Text, Value

_UNKNOWN_CLUSTER = "id of the cluster"


class Advice(NamedTuple):
    """The meaning of an error and its remedy, to be shown after so many further `tries`."""

    means: str
    text: str
    tries: int


def advice_on(planned: OkeResources, name: str, said: str) -> Advice | None:
    """Advice on an error that Oracle, or its provider, has reported for the resource of this name.

    None if the resource is not in the plan, or the error is not known.
    """
    record = _record(planned, name)
    if record is None:
        return None
    row = next((row for row in catalog().oke_clusters.advice.refusals if row.fits(record.kind, said)), None)
    if row is None:
        return None
    words = {"what": _what(planned, record), "compartment": planned.compartment}
    means = row.means.format(**words)
    lines = [line.format(**words) for line in row.do]
    if row.statements:
        lines += _policy_lines(planned)
    return Advice(means, _listed(f"{means}. What to do:", lines), row.tries)


def joining_advice(planned: OkeResources, pool: PlannedConstruct, cluster_id: str) -> str:
    """Possible reasons why a pool's machines do not join the cluster of this id, and the remedies."""
    known = catalog().oke_clusters.advice.joining
    words = {
        "pool": pool.pool,
        "shape": pool.shape,
        "replacement": pool.replacement,
        "policy": "; ".join(_policy_lines(planned, ("join",), cluster_id)),
    }
    if not pool.self_managed:
        return _listed(f"What may keep nodes of pool {pool.pool} out:", _filled(known.managed, words))
    head = f"What may keep machines of pool {pool.pool} out although they run:"
    return _listed(head, _filled(known.self_managed, words))


def _policy_lines(
    planned: OkeResources, names: tuple[str, ...] = (), cluster_id: str = _UNKNOWN_CLUSTER
) -> Iterable[str]:
    """The statements that the cluster needs, or only those of the given names, and who must write them."""
    identity = planned.identity
    needed = [entry for entry in identity.needed if not names or entry.name in names]
    if not needed:
        return
    who = "the stack makes" if identity.policies else "an administrator is to make (identity.create is false)"
    if identity.nodes_rule is not None:
        yield f"{who} a dynamic group with the rule: {identity.nodes_rule}"
    made = {entry.logical_name: entry.name for entry in identity.policies}
    for entry in needed:
        where = made.get(f"policy-{entry.policy}")
        policy = f"policy {where} of the stack says" if where else "a policy is to say"
        yield f"{policy}: {_in_words(entry.statement, cluster_id)}"


def _in_words(statement: Value, cluster_id: str) -> str:
    return statement.text.format(cluster=cluster_id) if isinstance(statement, Text) else str(statement)


def _record(planned: OkeResources, name: str) -> Record | None:
    """The record of a resource, whose name is the component's name and then the record's."""
    ending = (record for record in planned.records if name.endswith(f"-{record.logical_name}"))
    return max(ending, key=lambda record: len(record.logical_name), default=None)


def _what(planned: OkeResources, record: Record) -> str:
    of = next((pool for pool in planned.pools if record in pool.records), None)
    if of is None:
        return record.logical_name
    pool = f"pool {of.pool} ({of.nodes} of {of.shape})"
    return pool if record.logical_name.startswith("pool-") else f"{record.logical_name} of {pool}"


def _filled(lines: Iterable[str], words: dict[str, str]) -> list[str]:
    return [line.format(**words) for line in lines]


def _listed(head: str, lines: Iterable[str]) -> str:
    return "\n".join([head, *(f"  - {line}" for line in lines)])
