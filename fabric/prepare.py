"""The one way to a plan: everything wrong with a stack is said at once, before anything is created."""

from __future__ import annotations

from pathlib import Path

from fabric.plan import Plan, build
from fabric.rules import ConfigurationError, Finding, Severity, finding
from fabric.spec import StackDocument, StackSpec, read_document, validate
from fabric.spec.kubeconfig import kubeconfig_findings


def prepare(document: StackDocument, *, need_cluster: bool) -> Plan:
    """The plan of a stack document.

    With `need_cluster` a kubeconfig that cannot be used is an error, as it is for `up`; without, the plan carries it
    as a warning, since planning needs no cluster.

    Raises:
        ConfigurationError: with every problem of spec, kubeconfig and plan together.
    """
    spec, problems = validate(document)
    if spec is None:
        raise ConfigurationError(problems, document.file)
    absent = _kubeconfig(spec, document.root, need_cluster)
    plan, refused = _planned(spec)
    found = (*problems, *(entry for entry in absent if entry.severity is Severity.ERROR), *_not_said(refused, problems))
    if plan is None or found:
        raise ConfigurationError(found, document.file)
    return plan.model_copy(update={"findings": (*absent, *plan.findings)})


def prepare_stack(name: str, root: Path, *, need_cluster: bool = False) -> Plan:
    """The plan of a stack by its name; see `prepare`."""
    return prepare(read_document(name, root), need_cluster=need_cluster)


def _planned(spec: StackSpec) -> tuple[Plan | None, tuple[Finding, ...]]:
    try:
        return build(spec), ()
    except ConfigurationError as error:
        return None, error.findings


def _not_said(later: tuple[Finding, ...], earlier: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Later findings, without those on a value that was faulty anyway: they were made with a default in its place."""
    paths = {entry.path for entry in earlier}
    return tuple(entry for entry in later if entry.path not in paths)


def _kubeconfig(spec: StackSpec, root: Path, need_cluster: bool) -> tuple[Finding, ...]:
    found = kubeconfig_findings(spec.cluster, root)
    if need_cluster:
        return found
    return tuple(finding("CLU003", entry.path, entry.message, entry.remedy) for entry in found)
