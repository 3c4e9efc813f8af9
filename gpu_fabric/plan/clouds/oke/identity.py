"""Dynamic groups and policies: one statement for each permission."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from gpu_fabric.catalog.oke import PolicyName, PolicyNeed, PolicyRow
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.clouds.oke.site import AUTOSCALER_POLICY, CLUSTER, JOIN_POLICY, Site
from gpu_fabric.plan.clouds.record import Id, Record, Ref, Text, Value

_SCHEMA = "urn:ietf:params:scim:schemas:oracle:idcs:DynamicResourceGroup"
_DESCRIPTIONS: dict[PolicyName, str] = {
    "join": "GPU nodes of {name} may join it",
    "nodes": "What GPU nodes of {name} may use",
    "services": "What Oracle's services may do for {name}",
    "operator": "The operator host of {name} may use it",
    "autoscaler": "The autoscaler of {name} may change the sizes of its node pools",
}


class PlannedDynamicGroup(Record):
    """A dynamic group of the tenancy's default identity domain, in the root compartment."""

    sdk: ClassVar[str] = "identity.DynamicGroup"
    clashes: ClassVar[bool] = True
    compartment_id: Id
    name: str
    description: str
    matching_rule: Value


class PlannedDomainGroup(Record):
    """A dynamic group of another identity domain."""

    sdk: ClassVar[str] = "identity.DomainsDynamicResourceGroup"
    clashes: ClassVar[bool] = True
    idcs_endpoint: str
    display_name: str
    description: str
    matching_rule: Value
    schemas: list[str] = [_SCHEMA]


class PlannedPolicy(Record):
    """A policy in the compartment."""

    sdk: ClassVar[str] = "identity.Policy"
    clashes: ClassVar[bool] = True
    compartment_id: str
    name: str
    description: str
    statements: list[Value]


class NeededStatement(FrozenModel):
    """A statement that the cluster needs in a policy of the stack or of an administrator; `policy` is the stack's."""

    name: str
    policy: PolicyName
    statement: Value


class OkeIdentity(FrozenModel):
    """Dynamic groups, then policies; `reasons` has the reason of each statement.

    `needed` are the statements, and `nodes_rule` is the rule of the GPU nodes' dynamic group, also if an administrator
    creates them; None if the stack needs no group of its own.
    """

    groups: tuple[PlannedDynamicGroup | PlannedDomainGroup, ...]
    policies: tuple[PlannedPolicy, ...]
    reasons: dict[str, str]
    needed: tuple[NeededStatement, ...]
    nodes_rule: str | None


def oke_identity(site: Site) -> OkeIdentity:
    """The groups and policies of a cluster; none if an administrator creates them."""
    rows = tuple(policy_rows(site))
    needed = tuple(NeededStatement(name=row.name, policy=row.policy, statement=_statement(site, row)) for row in rows)
    rule = _nodes_rule(site) if _nodes_need_a_group(site) else None
    if not site.cluster.identity.create:
        return OkeIdentity(groups=(), policies=(), reasons={}, needed=needed, nodes_rule=rule)
    return OkeIdentity(
        groups=tuple(_groups(site)),
        policies=tuple(
            PlannedPolicy(
                logical_name=f"policy-{policy}",
                compartment_id=site.compartment,
                name=f"{site.name}-{policy}",
                description=_DESCRIPTIONS[policy].format(name=site.name),
                statements=[entry.statement for entry in needed if entry.policy == policy],
                # A statement names its group as text, so Pulumi cannot derive the dependency.
                after=tuple(_group_names(site, [row for row in rows if row.policy == policy])),
                in_home_region=True,
            )
            for policy in dict.fromkeys(row.policy for row in rows)
        ),
        reasons={row.name: row.why for row in rows},
        needed=needed,
        nodes_rule=rule,
    )


def policy_rows(site: Site) -> Iterator[PolicyRow]:
    """The rows of the catalog that this cluster needs."""
    placements = {pool.placement for pool in site.cluster.pools}
    managed = [pool for pool in site.cluster.pools if pool.placement == "compute-cluster"]
    needs: dict[PolicyNeed, bool] = {
        "always": True,
        "self-managed": site.self_managed(),
        "registry": site.cluster.identity.registry,
        "vcn-native-self-managed": site.native_pods and site.self_managed(),
        "compute-cluster-pool": bool(managed),
        "host-group-pool": any(pool.host_group_id for pool in managed),
        "gpu-memory-cluster": "gpu-memory-cluster" in placements,
        "file-storage": site.cluster.vcn.file_storage,
        "autoscaler": bool(site.scaled_pools),
        "operator-host": site.cluster.access.mode == "bastion-host",
    }
    return (row for row in site.facts.policies if needs[row.needs])


def last_policies(site: Site) -> tuple[str, ...]:
    """The policies without which no node can join: records that launch nodes depend on them."""
    if not site.cluster.identity.create:
        return ()
    names = dict.fromkeys(row.policy for row in policy_rows(site) if row.policy not in ("operator", "autoscaler"))
    return tuple(f"policy-{name}" for name in names)


def joins_after(site: Site) -> tuple[str, ...]:
    """The policy that lets self-managed nodes join."""
    return (JOIN_POLICY,) if JOIN_POLICY in last_policies(site) else ()


def autoscaler_policies(site: Site) -> tuple[str, ...]:
    """The policy without which the autoscaler changes no size."""
    return (AUTOSCALER_POLICY,) if site.cluster.identity.create else ()


def _groups(site: Site) -> Iterator[PlannedDynamicGroup | PlannedDomainGroup]:
    if _nodes_need_a_group(site):
        yield _group(site, "nodes", f"Machines that may be nodes of {site.name}", _nodes_rule(site))
    if site.cluster.access.mode == "bastion-host":
        host = Text(text="ALL {{instance.id = '{operator}'}}", refs={"operator": Ref(ref="host-operator")})
        yield _group(site, "operator", f"The operator host of {site.name}", host)


def _group(site: Site, name: str, description: str, rule: Value) -> PlannedDynamicGroup | PlannedDomainGroup:
    domain, full_name = site.cluster.identity.domain, f"{site.name}-{name}"
    common = {
        "logical_name": f"group-{name}",
        "description": description,
        "matching_rule": rule,
        "in_home_region": True,
    }
    if domain is not None:
        return PlannedDomainGroup(idcs_endpoint=domain.endpoint, display_name=full_name, **common)
    return PlannedDynamicGroup(compartment_id=site.tenancy, name=full_name, **common)


def _nodes_need_a_group(site: Site) -> bool:
    named = any("{nodes}" in row.statement for row in policy_rows(site))
    return named and site.cluster.identity.dynamic_group_id is None


def _nodes_rule(site: Site) -> str:
    return f"ALL {{instance.compartment.id = '{site.compartment}'}}"


def _group_names(site: Site, rows: list[PolicyRow]) -> Iterator[str]:
    made = {group.logical_name for group in _groups(site)}
    for name in ("nodes", "operator"):
        if f"group-{name}" in made and any(f"{{{name}}}" in row.statement for row in rows):
            yield f"group-{name}"


def _statement(site: Site, row: PolicyRow) -> Value:
    words = {"compartment": site.compartment, "nodes": _subject(site, "nodes"), "operator": _subject(site, "operator")}
    if "{cluster}" not in row.statement:
        return row.statement.format(**words)
    # The component inserts the cluster's id, so its braces stay, and so do literal braces.
    text = row.statement
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return Text(text=text, refs={"cluster": Ref(ref=CLUSTER)})


def _subject(site: Site, name: str) -> str:
    identity = site.cluster.identity
    if name == "nodes" and identity.dynamic_group_id is not None:
        return f"dynamic-group id {identity.dynamic_group_id}"
    prefix = f"'{identity.domain.name}'/" if identity.domain else ""
    return f"dynamic-group {prefix}'{site.name}-{name}'"
