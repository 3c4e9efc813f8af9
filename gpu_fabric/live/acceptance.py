"""An acceptance: a stack comes up, is examined, comes up again and is destroyed, once; and the record of that."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, get_args

from gpu_fabric.base.enumeration import first_names, quantity
from gpu_fabric.catalog import catalog
from gpu_fabric.changes.properties import differences
from gpu_fabric.discover.cluster_objects import groups_in
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.machine import CatalogMatch
from gpu_fabric.discover.text import decode
from gpu_fabric.findings import Finding, Severity
from gpu_fabric.live.cluster import Cluster, field, name_of
from gpu_fabric.live.engine_run import EngineRun
from gpu_fabric.live.pools import pools_of
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.state import StackState
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan
from gpu_fabric.plan.cost import HourlyRange
from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.report import content
from gpu_fabric.report.figures import UNKNOWN, duration_text, plan_figures
from gpu_fabric.report.time_limit import longest_wait
from gpu_fabric.resources import Resource, resources
from gpu_fabric.spec.stack_text import StackDocument

StepName = Literal["up", "examination", "second up", "destroy"]
STEPS: tuple[StepName, ...] = get_args(StepName)
"""The steps, in their order."""

RECORD, REPORT, BUNDLE = "record.json", "report.md", "bundle.zip"
"""The files in the folder of an acceptance."""

VERSION = 1
"""Of the record's form."""

_CLOUDS = ("digitalocean:", "oci:")
_MOST_NAMED = 10
_CLUSTER = "the cluster"
_LIMIT = "pulumi.com/timeoutSeconds"
_NODE_VERSIONS = {
    "kubeletVersion": "kubelet",
    "containerRuntimeVersion": "container runtime",
    "osImage": "system of the nodes",
    "kernelVersion": "kernel",
}


class Attempt(FrozenModel):
    """A step as it was done once. It stays `begun` where the command was killed in it.

    `began` is in UTC. `differences` are what came otherwise than planned, and `problems` why it failed or was not
    judged.
    """

    step: StepName
    began: str
    seconds: float | None = None
    outcome: Literal["begun", "interrupted", "failed", "differs", "done"] = "begun"
    run: EngineRun | None = None
    differences: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether the step need not be done again."""
        return self.outcome in ("differs", "done")


class AcceptanceRecord(FrozenModel):
    """Everything of an acceptance, as it is kept between two commands: without secrets, and with ids of the account.

    `place` is whose account or cluster it is, `figures` and `overview` are those of the plan, `limits` the time limits
    of its resources by name, `digest` that of the stack file's sections. `left` is what exists after the last step.
    """

    version: int = VERSION
    program: str
    stack: str
    place: str
    digest: str
    figures: dict[str, str]
    overview: dict[str, str]
    findings: tuple[str, ...]
    limits: dict[str, str]
    versions: dict[str, str] = {}
    machines: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    changed_between: bool = False
    left: tuple[str, ...] = ()

    @property
    def due(self) -> tuple[StepName, ...]:
        """The steps that are not done yet; none once the stack is destroyed."""
        done = {attempt.step for attempt in self.attempts if attempt.is_done}
        return () if STEPS[-1] in done else tuple(step for step in STEPS if step not in done)

    @property
    def is_good(self) -> bool:
        """Whether each step was done, and nothing differed."""
        latest = {attempt.step: attempt.outcome for attempt in self.attempts}
        return all(latest.get(step) == "done" for step in STEPS)

    @property
    def verdict(self) -> str:
        """What came of it, in a sentence."""
        if self.is_good:
            return "all steps were done, and nothing differs from the plan"
        done = {attempt.step for attempt in self.attempts if attempt.is_done}
        undone = [step for step in STEPS if step not in done]
        differ = sum(len(attempt.differences) for attempt in self.attempts)
        unread = sum(len(attempt.problems) for attempt in self.attempts)
        steps = f"not done: {', '.join(undone)}" if undone else "all steps were done"
        return f"{steps}; {quantity(differ, 'difference')} from the plan" + (
            f", {quantity(unread, 'problem')}" if unread else ""
        )

    def continued(self, plan: Plan, document: StackDocument) -> AcceptanceRecord:
        """The record with the plan of a stack file that may have changed since."""
        changed = self.changed_between or self.digest != _digest(document)
        return self.model_copy(update={**_of_plan(plan, document), "changed_between": changed})


def new_record(plan: Plan, document: StackDocument, program: str, *, is_simulated: bool) -> AcceptanceRecord:
    """The record before the first step; `program` is this program's version."""
    place = {"doks": "DigitalOcean", "oke": "Oracle"}.get(plan.cluster.provider, "a cluster that exists")
    return AcceptanceRecord(
        program=program,
        stack=plan.stack,
        place=f"{place}, simulated" if is_simulated else place,
        **_of_plan(plan, document),
    )


def _of_plan(plan: Plan, document: StackDocument) -> dict[str, Any]:
    planned = resources(plan)
    return {
        "digest": _digest(document),
        "figures": {name: ": ".join(filter(None, rest)) for name, *rest in plan_figures(plan, planned)},
        "overview": content.overview_rows(plan),
        "findings": tuple(entry.text for entry in plan.findings),
        "limits": {entry.name: limit for entry in planned if (limit := _limit(entry))},
    }


def _limit(resource: Resource) -> str:
    """How long the creation of a resource may take, its wait included; empty where nothing states it."""
    seconds = resource.properties.get("timeout") or field(resource.properties, "metadata", "annotations", _LIMIT)
    return resource.handling.timeouts.create or (f"{seconds} s" if seconds else "")


def _digest(document: StackDocument) -> str:
    return sha256(json.dumps(document.sections, sort_keys=True, default=str).encode()).hexdigest()


def statement_rows(plan: Plan, record: AcceptanceRecord) -> dict[str, str]:
    """What an acceptance creates, takes and costs, as far as that is known."""
    pools = {name: text for name, text in record.overview.items() if name.startswith("pool ")}
    known = ("region", "resources to create", "time to create, at most", "time to create", "cost of an hour")
    measured = max((run.seconds for run in plan.records(PlannedVerification)), default=0)
    return {
        **pools,
        **{name: record.figures[name] for name in known if name in record.figures},
        **_costs(plan),
        "examination": "reads the cluster; a privileged Job looks at a node of each machine type, and is removed",
        "verification": f"the fabric is measured, in {duration_text(measured)} of the time to create at most"
        if measured
        else "off: no bandwidth is measured (verification.enabled)",
    }


def _costs(plan: Plan) -> dict[str, str]:
    """The most that machines cost during `up`, and what is not known of the rest; empty where they exist already."""
    total, seconds = plan.cost.total, longest_wait(plan)
    if plan.cluster.cloud is None:
        return {}
    most = f"{UNKNOWN}, since the price is: with cluster.prices in the stack file it is computed"
    if total is not None:
        ends = {"least": total.least * seconds / 3600, "most": total.most * seconds / 3600}
        spent = HourlyRange(**ends, currency=total.currency)
        most = f"{spent}, if it takes the whole {duration_text(seconds)}; machines alone"
    after = f"{UNKNOWN}: a second up and destroy have no time limit as a whole, and machines cost until their end"
    return {"cost of `up`, at most": most, "cost after `up`": after}


def finding_texts(found: Sequence[Finding]) -> tuple[str, ...]:
    """Each finding with its evidence and remedy, once, without notes."""
    texts = ("\n".join(entry.lines()) for entry in found if entry.severity is not Severity.NOTE)
    return tuple(dict.fromkeys(texts))


def output_differences(plan: Plan, outputs: Mapping[str, Any]) -> Iterator[str]:
    """What the stack's outputs say of its fabrics otherwise than the plan."""
    contracts: dict[str, Any] = {
        name: one.workload.model_dump(mode="json", by_alias=True, exclude_none=True)
        for name, one in plan.by_fabric.items()
    }
    planned = {"fabrics": contracts} if plan.fabrics else {"fabric": next(iter(contracts.values()))}
    for entry in differences(planned, {name: outputs.get(name) for name in planned}):
        yield f"output {entry.path}: planned {_shown(entry.old)}, and it is {_shown(entry.new)}"


def verification_lines(outputs: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the verifications of a stack have measured, and which of it is a difference."""
    found, failed = list[str](), list[str]()
    outcomes = {"": outputs.get("verification"), **(outputs.get("verifications") or {})}
    for fabric, outcome in outcomes.items():
        if not isinstance(outcome, dict):
            continue
        of = f" of fabric {fabric}" if fabric else ""
        line = f"verification{of}: {outcome.get('state')}, measured {outcome.get('measured')} GB/s"
        lines = [f"{line}, bar {outcome.get('bar')} ({outcome.get('barExplained')})", *(outcome.get("report") or ())]
        found += lines
        if outcome.get("state") == "failed":
            failed.append("\n".join(lines))
    return tuple(found), tuple(failed)


def nodes_to_look_at(objects: str, stack: Stack, cluster: Cluster) -> tuple[str, ...]:
    """A node of each group of equal machines among those of the stack's pools."""
    own = {name_of(node) for one in stack.by_fabric for pool in pools_of(one, cluster) for node in pool.nodes}
    try:
        groups = groups_in(decode(_CLUSTER, objects.encode()))
    except DiscoveryError:
        return ()
    nodes = (group.node_to_look_at for group in groups if own.issuperset(group.names))
    return tuple(node for node in nodes if node is not None)


def machines_seen(objects: str, plan: Plan, looks: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The groups of GPU nodes, as `discover` reads a cluster's objects, and what differs from the plan's shapes.

    `objects` are JSON, as `kubectl get -o json` prints them, and `looks` what looks at nodes printed, by their names.
    The stack file's own shapes are not compared.
    """
    data, lines, matches = objects.encode(), list[str](), list[CatalogMatch]()
    try:
        for number, group in enumerate(groups_in(decode(_CLUSTER, data)), start=1):
            looked = {f"look at {node}": text.encode() for node, text in looks.items() if node in group.names}
            found = discovered(read_files({_CLUSTER: data, **looked}, group=str(number)), catalog())
            matches.append(found.match)
            known = f"the catalog's {found.catalog_shape}" if found.catalog_shape else "no shape of the catalog"
            seen = ", by its label alone" if found.match.by_label else ""
            lines += [f"{group}: {known}{seen}", json.dumps(found.machine.fields, default=str)]
    except DiscoveryError as error:
        return tuple(lines), (f"the machines of the cluster: {error}",)
    missing = [
        shape
        for shape in dict.fromkeys(pool.shape for pool in plan.cluster.pools)
        if catalog().find(shape) is not None and not any(shape in match.equal for match in matches)
    ]
    otherwise = {shape: [why for match in matches for why in match.different.get(shape, ())] for shape in missing}
    return tuple(lines), tuple(
        f"nodes of shape {shape}: " + ("; ".join(why) or "no group of nodes is recognised as this shape")
        for shape, why in otherwise.items()
    )


def cluster_versions(cluster: Cluster) -> dict[str, str]:
    """The versions of a cluster and of its nodes, each with the number of nodes that have it."""
    found = {"Kubernetes": str(field(cluster.get("/version"), "gitVersion") or UNKNOWN)}
    for key, name in _NODE_VERSIONS.items():
        values = Counter(str(field(node, "status", "nodeInfo", key) or UNKNOWN) for node in cluster.nodes)
        found[name] = ", ".join(f"{value} ({quantity(count, 'node')})" for value, count in values.items())
    return found


def run_differences(run: EngineRun) -> tuple[str, ...]:
    """What a second run of an unchanged stack has changed, which should be nothing."""
    return tuple(
        f"the second up: {entry.operation} of {entry.type} {entry.name}"
        + (f", since {', '.join(entry.because)} differ" if entry.because else "")
        for entry in run.changed
    )


def is_work(resource: Mapping[str, Any]) -> bool:
    """Whether an entry of a state is a resource of a cloud or cluster, and no component or provider of Pulumi's."""
    return bool(resource.get("custom")) and not str(resource["type"]).startswith("pulumi:")


def left_lines(plan: Plan, state: StackState | None, unread: str, destroying: str) -> tuple[str, ...]:
    """What exists of the stack by its state, what it costs, and how it is destroyed; none where nothing is left.

    `unread` is why there is no state, and `destroying` the command.
    """
    if state is None:
        return (
            f"what is left is not known, since the state was not read: {unread}",
            f"until you know, count with the machines' cost of an hour: {plan.cost.total_text}",
            f"destroy what is left: {destroying}",
        )
    kept = [entry for entry in state.resources if is_work(entry)]
    uncertain = [entry for entry in state.creations if str(entry.get("type", "")).startswith(_CLOUDS)]
    paid = [entry for entry in kept if str(entry["type"]).startswith(_CLOUDS)]
    lines = list[str]()
    if paid:
        lines.append(f"left at the cloud, and paid for: {_names(paid)}")
    if uncertain:
        lines.append(f"interrupted in their creation; look in the console whether they exist: {_names(uncertain)}")
    if lines:
        lines.append(f"the machines of the whole stack cost an hour: {plan.cost.total_text}")
    if on_cluster := len(kept) - len(paid):
        lines.append(f"left on the cluster: {quantity(on_cluster, 'resource')} of the stack")
    return (*lines, f"destroy it: {destroying}") if lines else ()


def _names(found: Sequence[Mapping[str, Any]]) -> str:
    named = [
        f"{str(entry.get('type', '')).rpartition(':')[2]} {str(entry.get('urn', '')).rpartition('::')[2]}"
        for entry in found
    ]
    return first_names(named, _MOST_NAMED)


def _shown(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False, default=str)[:200]
