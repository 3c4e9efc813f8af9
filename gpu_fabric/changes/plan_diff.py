"""The difference between two rendered plans of a stack; resources and addresses have modules of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from gpu_fabric.changes.addresses import rail_diffs
from gpu_fabric.changes.model import (
    Change,
    CostDiff,
    FindingDiff,
    JobsDiff,
    OrderDiff,
    PlaceDiff,
    PlaceKey,
    PlanDiff,
    PoolDiff,
    ProtectionDiff,
    StepDiff,
    VersionDiff,
)
from gpu_fabric.changes.properties import differences
from gpu_fabric.changes.resources import CLUSTERS, add_networks, resource_diffs, whole_loss
from gpu_fabric.changes.software import software_of
from gpu_fabric.changes.software_diff import software_diff
from gpu_fabric.k8s.images import find_images
from gpu_fabric.plan.cost import HourlyRange, PlannedCost
from gpu_fabric.plan.steps import NODES
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.resources import Loss
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.dynamic import KEPT_OBJECTS
from gpu_fabric.resources.objects import KUBERNETES
from gpu_fabric.resources.order import CLUSTER

# Decisions that are reported separately, or that repeat what resources and shapes say.
_APART = ("cluster.pools", "cost", "allocation", "bandwidth")
# The part of the contract that repeats others in the form of a patch.
_REPEATED = "podTemplatePatch"


class DifferentStacks(Exception):
    """The two plans are of different stacks."""


def plan_diff(base: RenderedPlan, head: RenderedPlan, progress: Progress = NO_PROGRESS) -> PlanDiff:
    """Compare two plans of one stack.

    Raises:
        DifferentStacks: the plans are of two stacks; the text names both.
    """
    if base.stack != head.stack:
        raise DifferentStacks(f"plans of two stacks, {base.stack!r} and {head.stack!r}: compare plans of one")
    place = place_diff(base, head)
    left = None if place is None else place.provider_of_another
    compared = tuple(resource_diffs(base, head, progress, left))
    found = add_networks((entry for entry in compared if entry.verdict != "kept"), base)
    progress.step("comparing addresses")
    there = sum(resource.verdict != "deleted" for resource in found)
    diff = PlanDiff(
        stack=head.stack,
        unchanged=len(head.resources) - there,
        resources=found,
        kept=tuple(entry for entry in compared if entry.verdict == "kept"),
        lost=whole_loss(found, base),
        networks=tuple(dict.fromkeys(name for resource in found for name in resource.networks)),
        pools=tuple(_pools(base, head)),
        rails=tuple(rail_diffs(base, head)),
        versions=version_diffs(base, head),
        cost=cost_diff(base, head),
        findings=tuple(_findings(base, head)),
        elsewhere=tuple(_elsewhere(base, head)),
        steps=tuple(_steps(base, head, {entry.component for entry in found})),
        software=software_diff(software_of(base), software_of(head)),
        order=tuple(_order(base, head)),
        place=place,
        jobs=jobs_diff(base, head),
        lowered=refused_versions(base, head),
        proof=tuple(proof_changes(base, head)),
        protection=protection_diff(base, head),
        acknowledged=head.acknowledgements,
        acknowledged_before=base.acknowledgements,
    )
    if diff.differs or base == head:
        return diff
    # Something differs that nothing above looks at.
    old, new = (plan.model_dump(mode="json", by_alias=True) for plan in (base, head))
    whole = differences(old, new)
    return diff.model_copy(update={"elsewhere": tuple(found.change() for found in whole)})


_COUNTED = {"shape", "nodes", "gpus", "nics"}


def _pools(base: RenderedPlan, head: RenderedPlan) -> Iterator[PoolDiff]:
    before, after = ({pool["name"]: pool for pool in _cluster(plan).get("pools", ())} for plan in (base, head))
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name, {}), after.get(name, {})
        if old != new:
            sides = (("old", old), ("new", new))
            known: dict[str, Any] = {
                f"{side}_{key}": pool[key] for side, pool in sides for key in pool.keys() & _COUNTED
            }
            yield PoolDiff(name=name, **known)


def _findings(base: RenderedPlan, head: RenderedPlan) -> Iterator[FindingDiff]:
    for is_new, ours, others in ((True, head.findings, base.findings), (False, base.findings, head.findings)):
        # A remedy may contain numbers that do not belong to the finding.
        known = {(other.id, other.path, other.message) for other in others}
        for finding in ours:
            if (finding.id, finding.path, finding.message) not in known:
                yield FindingDiff(is_new=is_new, **dict(finding))


def _elsewhere(base: RenderedPlan, head: RenderedPlan) -> Iterator[Change]:
    """Every difference outside of resources, except what is reported separately."""
    before, after = map(_beside, (base, head))
    for part in dict.fromkeys([*before, *after]):
        for found in differences(before.get(part, {}), after.get(part, {})):
            if part != "decisions" or not found.path.startswith(_APART):
                yield found.change().model_copy(update={"path": f"{part} {found.path}"})


def _beside(plan: RenderedPlan) -> dict[str, dict[str, Any]]:
    """What a plan has outside of its resources, by the name of each part."""
    waits: dict[str, Any] = {}
    for wait in plan.waits:
        count = sum(name.partition(" ")[0] == wait.field for name in waits)
        waits[f"{wait.field} {count + 1}" if count else wait.field] = wait.record
    fabrics = {
        f"fabric {fabric.name}": {"contract": _contract(fabric.contract), "decisions": fabric.facts}
        for fabric in plan.fabrics
    }
    parts = {"contract": _contract(plan.contract), "decisions": plan.decisions, "waits": waits, **fabrics}
    return {**parts, "files of NCCL": dict(plan.nccl_files)}


def _contract(contract: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in contract.items() if name != _REPEATED}


def _steps(base: RenderedPlan, head: RenderedPlan, seen: set[str]) -> Iterator[StepDiff]:
    """Lines on steps of which no resource differs (`seen` are components of those that do)."""
    before, after = map(_words, (base, head))
    # A folder of an earlier version has no words.
    for component, title in dict.fromkeys([*before, *after]) if before and after else ():
        old, new = before.get((component, title)), after.get((component, title))
        if old != new and component not in seen:
            yield StepDiff(title=title, old=old, new=new)


def _words(plan: RenderedPlan) -> dict[tuple[str, str], str]:
    lines = [(step.component, line) for step in plan.steps for line in step.words]
    return {
        (component, line.title): f"{line.what} (then wait for: {line.waits})" if line.waits else line.what
        for component, line in lines
    }


def _order(base: RenderedPlan, head: RenderedPlan) -> Iterator[OrderDiff]:
    """Steps of both plans that come after other steps of both; folders of earlier versions have none."""
    before, after = ({step.name: step.after for step in plan.steps} for plan in (base, head))
    both = {NODES, *(before.keys() & after.keys())}
    for name in (step.name for step in head.steps if step.name in before):
        old, new = ([other for other in steps[name] if other in both] for steps in (before, after))
        added, removed = (tuple(x for x in a if x not in b) for a, b in ((new, old), (old, new)))
        if added or removed:
            yield OrderDiff(step=name, added=added, removed=removed)


def cost_diff(base: RenderedPlan, head: RenderedPlan) -> CostDiff | None:
    """Compare the cost; None where it is the same."""
    before, after = _cost(base.decisions.get("cost")), _cost(head.decisions.get("cost"))
    if before == after:
        return None
    difference = None
    if before and after and before.total and after.total and before.total.currency == after.total.currency:
        # The range of the difference: each end of one range against the same end of the other.
        ends = (after.total.least - before.total.least, after.total.most - before.total.most)
        difference = HourlyRange(least=min(ends), most=max(ends), currency=after.total.currency)
    return CostDiff(old=_text(before), new=_text(after), difference=difference)


def _cost(document: Any) -> PlannedCost | None:
    """The cost of a plan; None where the plan has none, or has it in another form."""
    try:
        return PlannedCost.model_validate(document)
    except ValidationError:
        return None


def _text(cost: PlannedCost | None) -> str:
    return "unknown" if cost is None else cost.total_text


Asked = Mapping[str, str]
"""What a manifest asks for, by name: the amount of a resource, the interface of a network, the path of a file."""


def jobs_diff(base: RenderedPlan, head: RenderedPlan) -> JobsDiff | None:
    """Compare what pods cannot start without; None without a difference, or where a plan has no contract."""
    if not base.contract or not head.contract:
        return None
    before, after = map(_resources, (base, head))
    # Only devices are counted: the fabric's nodes advertise them, and every node has processors and memory.
    resources = _compare(before, after, lambda name, old, now: "/" in name and int(now or 0) < int(old))
    objects = _compare(_objects(base), _objects(head), lambda name, old, now: now is None)
    found = JobsDiff(
        gone=resources.gone + objects.gone,
        new=resources.new + objects.new,
        changed=resources.changed + objects.changed,
    )
    return found if found != JobsDiff() else None


def _compare(before: Asked, after: Asked, waits: Callable[[str, str, str | None], bool]) -> JobsDiff:
    gone, new, changed = [], [], []
    for name in dict.fromkeys([*before, *after]):
        old, now = before.get(name), after.get(name)
        if old is None:
            new.append(name)
        elif waits(name, old, now):
            gone.append(name if now is None else f"{name}: {old}")
        elif old != now:
            changed.append(name)
    return JobsDiff(gone=tuple(gone), new=tuple(new), changed=tuple(changed))


def _resources(plan: RenderedPlan) -> Asked:
    """The resources of every fabric; those of the first one win, since all request the GPUs."""
    found: dict[str, str] = {}
    for fabric in reversed(plan.by_fabric.values()):
        found |= fabric.contract.get("resources", {})
    return found


def _objects(plan: RenderedPlan) -> Asked:
    """ConfigMaps of files, and the networks that pods name; a webhook adds networks of other namespaces."""
    contracts = [fabric.contract for fabric in plan.by_fabric.values()]
    networks = {
        entry["network"]: entry.get("interface", "")
        for contract in contracts
        for entry in contract.get("networks", ())
        if entry.get("namespace") is None
    }
    files = (entry for contract in contracts for entry in contract.get("files", ()))
    return networks | {entry["configMap"]: entry["mountPath"] for entry in files}


# The input of a proof, without what follows from it.
_HELD_AGAINST = ("spareNodes", "surgeNodes", "disjointFrom", "notStated")


def proof_changes(base: RenderedPlan, head: RenderedPlan) -> Iterator[Change]:
    """Compare what the proof takes into account: spare nodes, ranges and the growth step."""
    before, after = base.by_fabric, head.by_fabric
    for name in before:
        if name in after and before[name].proof and after[name].proof:
            old, new = _taken_into_account(before[name]), _taken_into_account(after[name])
            for found in (found.change() for found in differences(old, new)):
                yield found.model_copy(update={"path": f"{name}.{found.path}"}) if name else found


def _taken_into_account(plan: RenderedPlan) -> dict[str, Any]:
    proof = plan.proof.get("proof", {})
    growth = {"growthStep": proof.get("growth", {}).get("step")}
    return {key: proof[key] for key in _HELD_AGAINST if key in proof} | growth


def protection_diff(base: RenderedPlan, head: RenderedPlan) -> ProtectionDiff | None:
    """Compare protection, and how Pulumi deletes objects because of it."""
    before = {(entry.type, entry.name): entry.handling for entry in base.resources}
    both = [(old, entry) for entry in head.resources if (old := before.get((entry.type, entry.name))) is not None]
    switched = [entry for old, entry in both if old.protect != entry.handling.protect]
    following = [entry.handling for old, entry in both if bool(old.deleted_with) != bool(entry.handling.deleted_with)]
    found = ProtectionDiff(
        on=tuple(entry.identity for entry in switched if entry.handling.protect),
        off=tuple(entry.identity for entry in switched if not entry.handling.protect),
        with_cluster=sum(handling.deleted_with is not None for handling in following),
        alone=sum(handling.deleted_with is None for handling in following),
    )
    return found if found != ProtectionDiff() else None


_OKE = "oci:ContainerEngine/cluster:Cluster"
# The property with the version of Kubernetes.
_KUBERNETES = {
    "digitalocean:index/kubernetesCluster:KubernetesCluster": "version",
    _OKE: "kubernetesVersion",
    "oci:ContainerEngine/nodePool:NodePool": "kubernetesVersion",
}
_Versions = dict[tuple[str, str], str]


def version_diffs(base: RenderedPlan, head: RenderedPlan) -> tuple[VersionDiff, ...]:
    """Compare all versions; a chart or image in only one plan has no version on the other side."""
    before, after = _versions(base), _versions(head)
    return tuple(
        VersionDiff.model_validate({"kind": kind, "name": name, "old": old, "new": new})
        for kind, name in dict.fromkeys([*before, *after])
        if (old := before.get((kind, name))) != (new := after.get((kind, name)))
    )


def refused_versions(base: RenderedPlan, head: RenderedPlan) -> tuple[str, ...]:
    """Clusters on OKE for which a lower version of Kubernetes is planned, which Oracle refuses."""
    before = {entry.name: entry.properties.get("kubernetesVersion") for entry in base.resources if entry.type == _OKE}
    return tuple(
        entry.identity
        for entry in head.resources
        if entry.type == _OKE
        and (old := _numbers(before.get(entry.name)))
        and (new := _numbers(entry.properties.get("kubernetesVersion")))
        and new < old
    )


def _numbers(version: Any) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"[0-9]+", version))) if isinstance(version, str) else ()


def _versions(plan: RenderedPlan) -> _Versions:
    found: _Versions = {("release line", ""): plan.release_line}
    images: dict[str, set[str]] = {}
    for resource in plan.resources:
        properties = resource.properties
        if (place := _KUBERNETES.get(resource.type)) is not None:
            found["Kubernetes", resource.identity] = str(properties.get(place))
        elif resource.type == RELEASE and "chart" not in properties:
            # The record of a run has no more of a release than its name and namespace.
            continue
        elif resource.type == RELEASE:
            found["chart", str(properties["name"])] = f"{properties['version']} of {properties['chart']}"
        elif resource.type != KEPT_OBJECTS:
            for _, image, version in find_images(properties):
                images.setdefault(image, set()).add(version or "no tag")
    for image in sorted(images):
        found["image", image] = ", ".join(sorted(images[image]))
    return found


_EXISTING = "existing"


def place_diff(base: RenderedPlan, head: RenderedPlan) -> PlaceDiff | None:
    """Compare where the cluster is, as only providers know it; None for the same place, or where nothing is planned."""
    removed = not head.decisions
    if removed or (not head.resources and _named(head)["split.part"] == "cluster"):
        return None
    return _other_region(base, head) or _other_cluster(base, head)


def _other_region(base: RenderedPlan, head: RenderedPlan) -> PlaceDiff | None:
    """Oracle's region is a setting of its provider; DigitalOcean's is a property of each resource."""
    old, new = ((_cluster(plan).get("oke") or {}).get("region") for plan in (base, head))
    cluster = next((resource for resource in base.resources if resource.type in CLUSTERS), None)
    if not old or not new or old == new or cluster is None:
        return None
    return PlaceDiff(
        key="cluster.region",
        resource=cluster.name,
        type=cluster.type,
        identity=cluster.identity,
        old=old,
        new=new,
        lost=cluster.loss,
    )


def _other_cluster(base: RenderedPlan, head: RenderedPlan) -> PlaceDiff | None:
    """Existing cluster: with another kubeconfig or id, every object is on a different cluster.

    Where both ids are known, the ids decide, and not the keys of the stack file.
    """
    had, has = _named(base), _named(head)
    old_id, new_id = (one["kubeconfig"] or one["cluster.id"] or one["clusterId"] for one in (had, has))
    if _creates_its_cluster(had) or (old_id and old_id == new_id):
        return None
    # An id that only a run knows is not recorded in every plan.
    comparable = (key for key in had if key not in ("clusterId", "kubeconfig") or (old_id and new_id))
    key = next((key for key in comparable if had[key] != has[key]), None)
    if key is None:
        return None
    of_stack = had["split.part"] == "platform"
    return PlaceDiff(
        key=key,
        resource=f"{CLUSTER}-{KUBERNETES}",
        type="",
        identity=f"the cluster of stack {had['split.clusterStack']}" if of_stack else "the cluster, which exists",
        old=old_id if key == "cluster.id" else had[key],
        new=new_id if key == "cluster.id" else has[key],
        lost=Loss(addresses=sum(pool["needed"] for pool in base.proof.get("pools", ()))),
    )


def _named(plan: RenderedPlan) -> dict[PlaceKey, str | None]:
    """The keys that lead to a plan's cluster, the most telling first."""
    cluster, split = _cluster(plan), plan.decisions.get("split") or {}
    of_stack = split.get("part") == "platform"
    exists = not of_stack and cluster.get("provider") == _EXISTING
    return {
        "split.part": split.get("part", "all"),
        "split.clusterStack": split.get("clusterStack") if of_stack else None,
        "split.organization": split.get("organization") if of_stack else None,
        "cluster.provider": None if of_stack else cluster.get("provider"),
        "cluster.id": cluster.get("id") if exists else None,
        "clusterId": cluster.get("id") if of_stack else None,
        "kubeconfig": cluster.get("knownId") if exists else None,
    }


def _creates_its_cluster(named: dict[PlaceKey, str | None]) -> bool:
    """Whether a plan creates its cluster, so that a resource shows its changes; True where nothing is recorded."""
    return named["split.part"] != "platform" and named["cluster.provider"] != _EXISTING


def _cluster(plan: RenderedPlan) -> dict[str, Any]:
    found: dict[str, Any] = plan.decisions.get("cluster") or {}
    return found
