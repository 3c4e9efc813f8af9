"""The one way to a plan: everything wrong with a stack is said at once, before anything is created."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError, Finding, Severity, errors, finding
from gpu_fabric.plan import Plan, build
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.build import build_all
from gpu_fabric.plan.case import Case, case_of
from gpu_fabric.plan.fabrics import fabric_cases
from gpu_fabric.plan.parts import findings_of_part, part_plan
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.rules.checking import plan_findings, spec_findings
from gpu_fabric.rules.several_fabrics import (
    fabric_plan_findings,
    fabric_spec_findings,
    whole_plan_findings,
    whole_spec_findings,
)
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.kubeconfig import kubeconfig_findings
from gpu_fabric.spec.load import read_document, unset_secrets, validate
from gpu_fabric.spec.parts import CLUSTER_SECTION, cluster_stack_findings
from gpu_fabric.spec.places import NAMESPACE, dotted, within_section
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.spec.stack_text import StackDocument
from gpu_fabric.spec.stand_ins import SUPERNET


class PlannedStack(NamedTuple):
    """A stack document as its spec, and the plan of it."""

    spec: StackSpec
    plan: Plan


def prepare(document: StackDocument, *, for_up: bool, progress: Progress = NO_PROGRESS) -> PlannedStack:
    """The spec and the plan of a stack document.

    With `for_up` the stack must be one that this version can bring up, on a cluster whose kubeconfig can be used;
    without, the plan carries both as warnings, since planning needs no cluster.

    Raises:
        ConfigurationError: with every problem of spec, kubeconfig and plan together.
    """
    spec, problems = validate(document)
    if spec is None:
        raise ConfigurationError(problems, document.file, document.places)
    absent = _kubeconfig(spec, document.root, for_up)
    plan, refused = _planned(spec, progress)
    if spec.split.part == "platform":
        plan, refused = _beside_its_cluster(spec, document.root, plan, refused, progress)
    found = (*problems, *errors(absent), *_not_said(refused, problems))
    if plan is not None and for_up:
        found = (*found, *beyond_this_version(plan))
    if plan is None or found:
        raise ConfigurationError(found, document.file, document.places)
    later = () if for_up else (*_unset_secrets(document), *_plan_only(plan))
    return PlannedStack(spec, plan.model_copy(update={"findings": (*absent, *later, *plan.findings)}))


def plan_spec(spec: StackSpec, progress: Progress = NO_PROGRESS) -> Plan:
    """The plan of a spec, checked against every rule of the book.

    Raises:
        ConfigurationError: the spec is well-formed but cannot work; with every reason.
    """
    file = f"Pulumi.{spec.name}.yaml"
    progress.step(f"planning the addresses of stack {spec.name}")
    case = case_of(spec)
    if spec.fabrics:
        return _checked_fabrics(case, file, progress)
    before = findings_of_part(spec, spec_findings(case))
    if errors(before) or not isinstance(case.addresses, AddressPlan):
        raise ConfigurationError(errors(before), file)
    progress.step(f"planning stack {spec.name}, {case.nodes:,} nodes")
    plan = build(case)
    progress.step(f"checking the plan of stack {spec.name}")
    # The rules check the whole plan: a part alone would break those about several parts.
    after = findings_of_part(spec, plan_findings(case, plan))
    if errors(after):
        raise ConfigurationError(errors(after), file)
    return part_plan(case, plan).model_copy(update={"findings": (*before, *after)})


def _checked_fabrics(whole: Case, file: str, progress: Progress) -> Plan:
    """The plan of a stack with several fabrics: each is checked alone, and all of them together."""
    spec = whole.spec
    before = findings_of_part(spec, whole_spec_findings(whole))
    # Which nodes a fabric has is known only where the rules about that hold.
    if errors(before):
        raise ConfigurationError(errors(before), file)
    cases = fabric_cases(spec)
    before = (*before, *findings_of_part(spec, fabric_spec_findings(whole, cases)))
    if errors(before):
        raise ConfigurationError(errors(before), file)
    progress.step(f"planning stack {spec.name}, {len(cases)} fabrics, {whole.nodes:,} nodes")
    plan = build_all(whole, cases)
    progress.step(f"checking the plan of stack {spec.name}")
    alone = ((case, build(case)) for case in cases)
    found = (*fabric_plan_findings(whole, alone), *whole_plan_findings(whole, plan))
    after = findings_of_part(spec, found)
    if errors(after):
        raise ConfigurationError(errors(after), file)
    return part_plan(whole, plan).model_copy(update={"findings": (*before, *after)})


def beyond_this_version(plan: Plan) -> tuple[Finding, ...]:
    """Why this version cannot bring the stack up, by the support matrix; empty where it can."""
    refusal = "can be planned, but this version cannot create it yet"
    found = (_brought_up(one) for one in plan.by_fabric.values())
    return tuple(
        finding("SUP007", place, f"{what} {refusal}", f"`gpu-fabric plan` works; {ways}")
        for place, what, ways in found
        if ways
    )


def _plan_only(plan: Plan) -> tuple[Finding, ...]:
    refusal = "can be planned, but `up` refuses it: this version cannot create it yet"
    found = (_brought_up(one) for one in plan.by_fabric.values())
    return tuple(finding("SUP010", place, f"{what} {refusal}", ways) for place, what, ways in found if ways)


def _brought_up(plan: Plan) -> tuple[str, str, str]:
    """The place that decides what a stack is, what it is, and what could be brought up in its stead; none if it can."""
    choices, fabric = plan.choices, plan.workload.fabric
    place, what = (
        dotted(("fabrics", fabric, "model") if fabric else ("fabric", "model")),
        f"{choices.model} by {choices.manager}",
    )
    if choices.row is not None and choices.provider in choices.row.up_providers:
        return place, what, ""
    up = (row for row in catalog().support if row.up_providers)
    ways = (f"{row.model} by {row.manager} on {' or '.join(row.up_providers)}" for row in up)
    return place, f"{what} on a cluster of provider {choices.provider}", f"brought up can be: {'; '.join(ways)}"


def _unset_secrets(document: StackDocument) -> tuple[Finding, ...]:
    return tuple(
        finding(
            "CLU012",
            path,
            f"the stack file has no secret {NAMESPACE}:{key}, and `up` ends without it",
            f"set it before `up`: `pulumi config set --secret {NAMESPACE}:{key}`",
        )
        for path, key in unset_secrets(document)
    )


def _planned(spec: StackSpec, progress: Progress) -> tuple[Plan | None, tuple[Finding, ...]]:
    try:
        return plan_spec(spec, progress), ()
    except ConfigurationError as error:
        return None, error.findings


def _beside_its_cluster(
    spec: StackSpec, root: Path, plan: Plan | None, refused: tuple[Finding, ...], progress: Progress
) -> tuple[Plan | None, tuple[Finding, ...]]:
    """A platform's plan or why there is none: without what its cluster stack says, but with why that has none."""
    try:
        document = read_document(spec.cluster_stack, root)
        other, unreadable = validate(document)
    except ConfigurationError:
        # Said while the platform's own document was read.
        return plan, refused
    its_plan, its_refused = (None, ()) if other is None else _planned(other, progress)
    said = its_refused if its_plan is None else its_plan.findings
    found = refused if plan is None else plan.findings
    own = tuple(_in_file(entry, document.file) for entry in found if entry not in said)
    wrong = () if unreadable else cluster_stack_findings(document.file, its_refused)
    if plan is None:
        return None, (*wrong, *own)
    return plan.model_copy(update={"findings": own}), wrong


def _in_file(entry: Finding, file: str) -> Finding:
    """A platform's finding; what it says of the cluster is corrected in the other stack's file."""
    if not within_section(entry.path, CLUSTER_SECTION):
        return entry
    return entry.model_copy(update={"path": f"{entry.path} in {file}"})


def _not_said(later: tuple[Finding, ...], earlier: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Later findings, without those on, in or around a faulty value: they were made with a default in its place.

    Nor is anything said of the network in the place of a faulty supernet, by other keys of the addresses.
    """
    faulty = {other.path for other in earlier}
    around = {outer for path in faulty for outer in _outwards(path)}
    unknown = {path.removesuffix("supernet") for path in faulty if path.endswith(".addressing.supernet")}
    return tuple(
        entry
        for entry in later
        if entry.path not in around
        and faulty.isdisjoint(_outwards(entry.path))
        and not (SUPERNET in entry.message and entry.path.startswith(tuple(unknown)))
    )


def _outwards(path: str) -> Iterator[str]:
    """A dotted place, and each that it is in."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]


def _kubeconfig(spec: StackSpec, root: Path, for_up: bool) -> tuple[Finding, ...]:
    if not isinstance(spec.cluster, ExistingClusterSpec):
        return ()
    found = kubeconfig_findings(spec.cluster, root)
    if for_up:
        return found
    return tuple(
        finding("CLU003", entry.path, entry.message, entry.remedy) if entry.severity is Severity.ERROR else entry
        for entry in found
    )
