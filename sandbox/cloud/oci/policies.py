"""What policies allow, as far as a cluster depends on it: permissions in braces, by statement.

Statements that allow by verb and kind (`to manage clusters`) are looked at for the autoscaler alone; conditions other
than on the cluster and on the kind of principal never are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..store import Record
from .tenancy import Tenancy

_NAME = r"(?:'[^']*'|[^\s/']+)"
_STATEMENT = re.compile(
    rf"""\s* allow \s+
    (?: (?P<everyone> any-user | any-group | service \s+ \S+ ) | (?P<users> group \s+ .+? )
      | dynamic-group \s+ (?: id \s+ (?P<id>\S+) | (?P<name> {_NAME} (?: / {_NAME} )? ) ) )
    \s+ to \s+ (?: \{{ (?P<permissions>[^}}]*) \}} | (?P<verb>\w+) \s+ (?P<what>[\w-]+) )
    \s+ in \s+ (?: (?P<tenancy>tenancy) | compartment \s+ (?: id \s+ (?P<compartment>\S+) | \S+ ) )
    (?: \s+ where \s+ (?P<condition>.+) )? \s*""",
    re.IGNORECASE | re.VERBOSE,
)
_CONDITION = re.compile(
    r"(?P<key>target\.cluster\.id|request\.principal\.(?:type|cluster_id))\s*=\s*'(?P<value>[^']*)'"
)
_RULE = re.compile(r"instance\.(?P<key>compartment\.id|id)\s*=\s*'(?P<value>[^']*)'")


class StatementError(ValueError):
    """A text that is not a statement of a policy."""


@dataclass(frozen=True)
class Statement:
    """One statement. `group` is a dynamic group's name or id, empty for any user; `compartment` None for all."""

    group: str
    permissions: frozenset[str]
    compartment: str | None
    conditions: dict[str, str]


def statement_of(text: str) -> Statement:
    """Raises StatementError for a text that is none."""
    match = _STATEMENT.fullmatch(text)
    if match is None:
        raise StatementError(f"{text!r} is not a statement")
    # what people may do is nothing that a machine may
    allowed = "" if match["users"] else match["permissions"] or f"{match['verb']} {match['what']}"
    permissions = frozenset(part.strip() for part in allowed.split(",") if part.strip())
    conditions = {found["key"]: found["value"] for found in _CONDITION.finditer(match["condition"] or "")}
    return Statement(
        match["id"] or (match["name"] or "").replace("'", ""), permissions, match["compartment"], conditions
    )


def may_join(tenancy: Tenancy, instance: Record, cluster: Record) -> bool:
    """Whether an instance may become a node of a cluster."""
    return any(
        statement.conditions.get("target.cluster.id", cluster["id"]) == cluster["id"]
        and (not statement.group or _is_in(tenancy, instance, statement.group))
        for statement in _granting(tenancy, "CLUSTER_JOIN", cluster["inputs"]["compartmentId"])
    )


def may_launch(tenancy: Tenancy, permission: str, compartment: str, principal: str) -> bool:
    """Whether resources of a kind may launch instances somewhere, such as node pools in a compute cluster."""
    return any(
        not statement.group and statement.conditions.get("request.principal.type", principal) == principal
        for statement in _granting(tenancy, permission, compartment)
    )


def may_scale(tenancy: Tenancy, cluster: Record) -> bool:
    """Whether the pods of a cluster's autoscaler may change the sizes of its node pools, by their own identity."""
    return any(
        not statement.group
        and statement.conditions.get("request.principal.type", "workload") == "workload"
        and statement.conditions.get("request.principal.cluster_id", cluster["id"]) == cluster["id"]
        for statement in _granting(tenancy, "manage cluster-node-pools", cluster["inputs"]["compartmentId"])
    )


def group_of(tenancy: Tenancy, name: str) -> Record | None:
    """The dynamic group of this name or id; `domain/group` for one of an identity domain."""
    groups = [*tenancy.store.list("dynamicgroup"), *tenancy.store.list("dynamicresourcegroup")]
    for group in groups:
        own = group["inputs"].get("name") or group["inputs"].get("displayName")
        if name in (group["id"], group["outputs"].get("ocid")) or name.rpartition("/")[2] == own:
            return group
    return None


def _granting(tenancy: Tenancy, permission: str, compartment: str) -> Iterator[Statement]:
    for policy in tenancy.store.list("policy"):
        for text in policy["inputs"]["statements"]:
            statement = statement_of(text)
            if permission in statement.permissions and statement.compartment in (None, compartment):
                yield statement


def _is_in(tenancy: Tenancy, instance: Record, name: str) -> bool:
    group = group_of(tenancy, name)
    if group is None:
        # another owner's, of which only the id is known
        return name.startswith("ocid1.")
    rule = group["inputs"]["matchingRule"]
    facts = {"compartment.id": instance["inputs"]["compartmentId"], "id": instance["id"]}
    held = [facts[condition["key"]] == condition["value"] for condition in _RULE.finditer(rule)]
    return bool(held) and (any(held) if re.match(r"\s*any\b", rule, re.IGNORECASE) else all(held))
