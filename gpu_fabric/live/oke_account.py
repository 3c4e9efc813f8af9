"""A tenancy at Oracle as the OCI command line shows it. The keys of its JSON are those of the API, with dashes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.account import Ask, Wanted, wanted
from gpu_fabric.live.cluster import Json, field
from gpu_fabric.live.several import some
from gpu_fabric.plan.clouds.oke.identity import OkeIdentity
from gpu_fabric.plan.clouds.record import Text
from gpu_fabric.spec.oke import OkeClusterSpec, OkeOtherPoolSpec, OkePoolSpec
from gpu_fabric.spec.places import dotted

# From the least to the most (OCI's documentation of policies, Verbs).
_VERBS = ("inspect", "read", "use", "manage")
_STATEMENT = re.compile(
    r"allow (?P<who>.+?) to (?:\{(?P<permissions>[^}]+)\}|(?P<verb>inspect|read|use|manage) (?P<resource>[\w-]+))"
    r" in (?:tenancy|compartment .+?)(?: where (?P<condition>.+))?$"
)
_PRINCIPAL = re.compile(r"request\.principal\.type *= *'([^']+)'")
_AVAILABLE, _UNSUPPORTED = "AVAILABLE", "HARDWARE_NOT_SUPPORTED"


def oke_differences(cluster: OkeClusterSpec, identity: OkeIdentity, ask: Ask) -> Iterator[Finding]:
    """What a tenancy lacks of a plan: versions, shapes, limits, free machines, images for the shapes, policies.

    A capacity report is created for the question alone, and is not kept. It and the limits are of the tenancy: without
    its id they are not asked for.
    """
    here = ("--region", cluster.region)
    specs: tuple[OkePoolSpec | OkeOtherPoolSpec, ...] = (*cluster.pools, *cluster.other_pools)
    pools = list(zip(wanted(cluster.pools, cluster.other_pools), specs, strict=True))
    yield from _version(cluster, ask("ce", "cluster-options", "get", "--cluster-option-id", "all", *here))
    domains = [
        str(row.get("name"))
        for row in _rows(ask("iam", "availability-domain", "list", "--compartment-id", cluster.compartment_id, *here))
    ]
    offered = _rows(ask("compute", "shape", "list", "--compartment-id", cluster.compartment_id, "--all", *here))
    shapes = {str(row.get("shape")): tuple(row.get("quota-names") or ()) for row in offered}
    limits = [] if cluster.tenancy_id is None else _limits(cluster.tenancy_id, ask, here)
    system = Wanted("system", cluster.system_pool.shape, cluster.system_pool.nodes, ("cluster", "systemPool"))
    for pool in (system, *(found for found, _ in pools)):
        if pool.machine not in shapes:
            yield finding(
                "PRE131",
                dotted(pool.at("shape")),
                f"Oracle offers no {pool.machine} in {cluster.region} to this compartment",
                seen=Seen(object="oci compute shape list", field="shape", value=f"{len(shapes)} others"),
            )
    if not cluster.identity.create:
        yield from _policies(cluster, identity, ask, here)
    for pool, spec in pools:
        if pool.machine in shapes:
            domain = _full_name(spec.availability_domain, domains)
            yield from _limit(pool, domain, [row for row in limits if row.get("name") in shapes[pool.machine]])
            if cluster.tenancy_id is not None and spec.capacity_reservation_id is None:
                yield from _capacity(cluster.tenancy_id, pool, domain, ask, here)
            if spec.image_id is not None:
                yield from _image(pool, spec.image_id, ask, here)


def _rows(answer: Any) -> list[Json]:
    return list(field(answer, "data") or ())


def _version(cluster: OkeClusterSpec, options: Any) -> Iterator[Finding]:
    offered = [str(version) for version in field(options, "data", "kubernetes-versions") or ()]
    version = f"v{cluster.version.removeprefix('v')}"
    if not any(entry == version or entry.startswith(f"{version}.") for entry in offered):
        yield finding(
            "PRE130",
            dotted(("cluster", "version")),
            f"Oracle offers no Kubernetes {cluster.version} for new clusters",
            f"write one of: {', '.join(entry.removeprefix('v') for entry in offered)}",
            seen=Seen(
                object="oci ce cluster-options get", field="kubernetes-versions", value=", ".join(offered) or "none"
            ),
        )


def _full_name(domain: str | None, domains: list[str]) -> str | None:
    """The name of an availability domain, which has a prefix of the tenancy; the first where none is stated."""
    wanted_end = domain or "AD-1"
    return next((name for name in domains if name.endswith(wanted_end)), None)


def _limits(tenancy: str, ask: Ask, here: tuple[str, ...]) -> list[Json]:
    return _rows(
        ask("limits", "value", "list", "--compartment-id", tenancy, "--service-name", "compute", "--all", *here)
    )


def _limit(pool: Wanted, domain: str | None, limits: list[Json]) -> Iterator[Finding]:
    """A limit of none. What others count (machines, GPUs, cores) is not published for every one."""
    here = [row for row in limits if row.get("availability-domain") in (None, domain)]
    if here and all(row.get("value") == 0 for row in here):
        name = str(here[0].get("name"))
        yield finding(
            "PRE134",
            dotted(pool.at("shape")),
            f"the tenancy's limit {name}, which is that of {pool.machine}, is 0",
            seen=Seen(object=f"service limit {name}", field="value", value="0"),
        )


def _capacity(tenancy: str, pool: Wanted, domain: str | None, ask: Ask, here: tuple[str, ...]) -> Iterator[Finding]:
    if domain is None or pool.machine.endswith(".Flex"):
        # The report of a flexible shape is of one size of it.
        return
    question = json.dumps([{"instanceShape": pool.machine}])
    report = ask(
        *("compute", "compute-capacity-report", "create", "--compartment-id", tenancy),
        *("--availability-domain", domain, "--shape-availabilities", question, *here),
    )
    rows = field(report, "data", "shape-availabilities") or ()
    statuses = [str(row.get("availability-status")) for row in rows]
    counts = [int(row["available-count"]) for row in rows if row.get("available-count") is not None]
    if _AVAILABLE in statuses and (not counts or max(counts) >= pool.nodes):
        return
    seen = Seen(
        object=f"capacity report of {pool.machine} in {domain}",
        field="shape-availabilities",
        value=f"{', '.join(statuses) or 'empty'}{f', {max(counts)} machines' if counts else ''}",
    )
    if statuses and set(statuses) == {_UNSUPPORTED}:
        message, remedy = f"{domain} has no machines of this shape", "write another availabilityDomain, or region"
    else:
        free = max(counts) if _AVAILABLE in statuses and counts else 0
        message = f"{domain} has {free} free machines of {pool.machine}, and pool {pool.name} comes to {pool.nodes}"
        remedy = (
            "reserve capacity (capacityReservationId), or try another availabilityDomain; machines that the stack has "
        )
        remedy += "already are not in the report"
    yield finding("PRE132", dotted(pool.at("nodes")), message, remedy, seen=seen)


def _image(pool: Wanted, image: str, ask: Ask, here: tuple[str, ...]) -> Iterator[Finding]:
    rows = _rows(ask("compute", "image-shape-compatibility-entry", "list", "--image-id", image, "--all", *here))
    shapes = sorted(str(row.get("shape")) for row in rows)
    if pool.machine not in shapes:
        yield finding(
            "PRE133",
            dotted(pool.at("imageId")),
            f"the image is not for {pool.machine}",
            seen=Seen(object="the image of imageId", field="shape", value=some(shapes) or "none"),
        )


def _policies(cluster: OkeClusterSpec, identity: OkeIdentity, ask: Ask, here: tuple[str, ...]) -> Iterator[Finding]:
    """Statements that an administrator has still to write.

    Policies are read where they are usually written: in the cluster's compartment, and in the tenancy if its id is
    known. One in a compartment between them is not seen, so what is missing here is a warning.
    """
    places = [place for place in (cluster.compartment_id, cluster.tenancy_id) if place is not None]
    listed = [
        row
        for place in places
        for row in _rows(ask("iam", "policy", "list", "--compartment-id", place, "--all", *here))
    ]
    allowed = [found for row in listed for text in row.get("statements") or () if (found := _allowance(str(text)))]
    for entry in identity.needed:
        text = entry.statement.text if isinstance(entry.statement, Text) else str(entry.statement)
        needed = _allowance(text)
        if needed is not None and not any(found.grants(needed) for found in allowed):
            yield finding(
                "PRE135",
                dotted(("cluster", "identity", "create")),
                f"no policy of the compartment{' or the tenancy' if cluster.tenancy_id else ''} allows: {needed.words}",
                seen=Seen(object="oci iam policy list", field="statements", value=f"{len(allowed)} others"),
            )


class _Allowance(NamedTuple):
    """What a statement allows: a verb and a kind of resource, or permissions in braces; to whom, on what condition."""

    verb: str
    resource: str
    permissions: frozenset[str]
    everybody: bool
    condition: str

    @property
    def words(self) -> str:
        what = f"{self.verb} {self.resource}" if self.verb else ", ".join(sorted(self.permissions)).upper()
        principal = self.principal
        return f"{what}{f' by {principal}' if principal else ''}"

    @property
    def principal(self) -> str:
        """The type of the principal that the condition asks for; empty if it asks for none."""
        found = _PRINCIPAL.search(self.condition)
        return "" if found is None else found[1]

    def grants(self, needed: _Allowance) -> bool:
        """Whether this statement allows all that the other does.

        Conditions about anything but the principal's type, and which dynamic group it is, are not compared.
        """
        if self.principal not in ("", needed.principal) or (needed.everybody and not self.everybody):
            return False
        if self.permissions:
            return bool(needed.permissions) and needed.permissions <= self.permissions
        if self.resource == "all-resources" and self.verb == "manage":
            return True
        return self.resource == needed.resource and _VERBS.index(self.verb) >= _VERBS.index(needed.verb)


def _allowance(statement: str) -> _Allowance | None:
    """A statement's parts; None for one of another form, such as `define` or `endorse`."""
    found = _STATEMENT.match(" ".join(statement.replace("{{", "{").replace("}}", "}").lower().split()))
    if found is None:
        return None
    permissions = frozenset(part.strip() for part in (found["permissions"] or "").split(",") if part.strip())
    return _Allowance(
        verb=found["verb"] or "",
        resource=found["resource"] or "",
        permissions=permissions,
        everybody=found["who"].startswith("any-user"),
        condition=found["condition"] or "",
    )
