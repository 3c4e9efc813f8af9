"""The one way to a plan: everything wrong with a stack is said at once, before anything is created."""

from __future__ import annotations

from pathlib import Path

from fabric.catalog import catalog
from fabric.plan import Plan, build
from fabric.progress import UNHEARD, Progress
from fabric.rules import ConfigurationError, Finding, errors, finding
from fabric.spec import ExistingCluster, StackDocument, StackSpec, read_document, validate
from fabric.spec.kubeconfig import kubeconfig_findings
from fabric.spec.parts import CLUSTER_SECTION, of_the_other
from fabric.spec.places import dotted, within_section


def prepare(document: StackDocument, *, for_up: bool, progress: Progress = UNHEARD) -> Plan:
    """The plan of a stack document.

    With `for_up` the stack must be one that this version can bring up, on a cluster whose kubeconfig can be used;
    without, the plan carries both as warnings or not at all, since planning needs no cluster.

    Raises:
        ConfigurationError: with every problem of spec, kubeconfig and plan together.
    """
    spec, problems = validate(document)
    if spec is None:
        raise ConfigurationError(problems, document.file)
    absent = _kubeconfig(spec, document.root, for_up)
    plan, refused = _planned(spec, progress)
    if spec.split.part == "platform":
        plan, refused = _beside_its_cluster(spec, document.root, plan, refused, progress)
    found = (*problems, *errors(absent), *_not_said(refused, problems))
    if plan is not None and for_up:
        found = (*found, *beyond_this_version(plan))
    if plan is None or found:
        raise ConfigurationError(found, document.file)
    return plan.model_copy(update={"findings": (*absent, *plan.findings)})


def prepare_stack(name: str, root: Path, *, for_up: bool = False, progress: Progress = UNHEARD) -> Plan:
    """The plan of a stack by its name; see `prepare`."""
    progress.step(f"reading stack {name}")
    return prepare(read_document(name, root), for_up=for_up, progress=progress)


def beyond_this_version(plan: Plan) -> tuple[Finding, ...]:
    """Why this version cannot bring the stack up, by the support matrix; empty where it can."""
    row = plan.choices.row
    choices = plan.choices
    if row is not None and choices.provider in row.up_providers:
        return ()
    up = (row for row in catalog().support if row.up_providers)
    ways = (f"{row.model} by {row.manager} on {' or '.join(row.up_providers)}" for row in up)
    return (
        finding(
            "SUP007",
            dotted(("fabric", "model")),
            f"{choices.model} by {choices.manager} on a cluster of provider {choices.provider} can be planned, but "
            "this version cannot bring it up yet",
            f"`python -m fabric plan` works; brought up can be: {'; '.join(ways)}",
        ),
    )


def _planned(spec: StackSpec, progress: Progress) -> tuple[Plan | None, tuple[Finding, ...]]:
    try:
        return build(spec, progress), ()
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
    wrong = () if unreadable else of_the_other(document.file, its_refused)
    if plan is None:
        return None, (*wrong, *own)
    return plan.model_copy(update={"findings": own}), wrong


def _in_file(entry: Finding, file: str) -> Finding:
    """A platform's finding; what it says of the cluster is corrected in the other stack's file."""
    if not within_section(entry.path, CLUSTER_SECTION):
        return entry
    return entry.model_copy(update={"path": f"{entry.path} in {file}"})


def _not_said(later: tuple[Finding, ...], earlier: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Later findings, without those on, in or around a faulty value: they were made with a default in its place."""
    return tuple(entry for entry in later if not any(_overlap(entry.path, other.path) for other in earlier))


def _overlap(one: str, other: str) -> bool:
    """Whether two dotted places are the same, or one lies in the other."""
    inner, outer = (one, other) if len(one) > len(other) else (other, one)
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def _kubeconfig(spec: StackSpec, root: Path, for_up: bool) -> tuple[Finding, ...]:
    if not isinstance(spec.cluster, ExistingCluster):
        return ()
    found = kubeconfig_findings(spec.cluster, root)
    if for_up:
        return found
    return tuple(finding("CLU003", entry.path, entry.message, entry.remedy) for entry in found)
