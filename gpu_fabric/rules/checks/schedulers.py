"""Checks of the group `schedulers`: schedulers of jobs, and what their queues give out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpu_fabric.k8s.kueue import MOST_LABELS, MOST_RESOURCES, MOST_TOLERATIONS
from gpu_fabric.k8s.names import HOSTNAME_LABEL
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL, Case
from gpu_fabric.plan.operators.kueue import queue_quotas, topology_levels
from gpu_fabric.plan.operators.releases import tolerations
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.plan.workload import job_queues
from gpu_fabric.rules.chart_values import replace_sections
from gpu_fabric.rules.registry import Problem, check, check_of, check_plan, in_software
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.software import KueueSpec

_ORACLES = "oci.oraclecloud.com/"
# Labels of every node on every provider.
_KUBERNETES = frozenset({HOSTNAME_LABEL, INSTANCE_TYPE_LABEL})
# Labels that the clouds' own controllers set; whether an existing cluster has one is not known.
_CLOUD = frozenset({"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
_place = partial(in_software, "schedulers")


def _kueue(case: Case) -> KueueSpec | None:
    return case.spec.software.schedulers.kueue


@check("SCH001")
def schedulers_are_installed_once(case: Case) -> Iterator[Problem]:
    """The stack installs no scheduler, and no controller of jobs, that the cluster has."""
    own, installed = case.spec.software.schedulers, case.spec.cluster.installed
    for name, field in type(own).model_fields.items():
        component = name.replace("_", "-")
        section = getattr(own, name)
        if component in installed and section is not None and section.install:
            yield Problem(
                _place(field.alias or name),
                f"the cluster has {component} already",
                "add install: false to it, or leave it out: jobs use the cluster's own; or take "
                f"{component} out of cluster.installed",
            )


@check("SCH002")
def nodes_are_in_one_queue(case: Case) -> Iterator[Problem]:
    """Not both Kueue and Volcano hand out the same nodes."""
    found = job_queues(case)
    kueue = "kueue" in found.queues or "kueue" in case.spec.present
    own = case.spec.software.schedulers
    if kueue and "volcano" in found.queues and (own.kueue is not None or own.volcano is not None):
        yield Problem(_place("volcano" if own.volcano is not None else "kueue"))


@check_of("SCH003", _kueue)
def topologies_have_nodes(case: Case, kueue: KueueSpec) -> Iterator[Problem]:
    """A requested topology has labels that select the GPU nodes."""
    if isinstance(kueue.topology, tuple) and not case.node_labels:
        yield Problem(_place("kueue", "topology"))


def _levels(case: Case) -> Iterator[tuple[str, str]]:
    """The labels of a topology that the stack file asks for, each with its place."""
    kueue = case.spec.software.schedulers.kueue
    if kueue is not None and isinstance(kueue.topology, tuple):
        for number, label in enumerate(kueue.topology):
            yield _place("kueue", "topology", number), label


@check("SCH004")
def topologies_are_of_these_nodes(case: Case) -> Iterator[Problem]:
    """Oracle's labels are looked for on Oracle's machines."""
    if all(shape.provider == "oci" for shape in case.shapes):
        return
    for place, label in _levels(case):
        if label.startswith(_ORACLES):
            yield Problem(place, f"{label} comes with Oracle's machines, and not all pools have such")


@check("SCH005")
def topologies_are_labelled(case: Case) -> Iterator[Problem]:
    """The labels of a topology are known to be set."""
    known = _KUBERNETES | set(case.node_labels)
    if not isinstance(case.spec.cluster, ExistingClusterSpec):
        known |= _CLOUD
    of_pools = [set(pool.labels) for pool in case.spec.cluster.pools]
    for place, label in _levels(case):
        if label not in known and not label.startswith(_ORACLES) and not all(label in labels for labels in of_pools):
            yield Problem(place, f"no pool says that its nodes carry {label}")


@check_plan("SCH006")
def quotas_hold_a_pod(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every quota holds at least one full-node pod."""
    kueue = case.spec.software.schedulers.kueue
    if kueue is None:
        return
    for name, wanted in plan.workload.resources.items():
        quota = kueue.quotas.get(name)
        if quota is not None and quota.isdigit() and wanted.isdigit() and int(quota) < int(wanted):
            yield Problem(
                in_software("schedulers", "kueue", "quotas", name),
                f"{quota} is less than the {wanted} that one pod of the fabric asks for",
                f"write at least {wanted}, or leave it out for all that the nodes have",
            )


@check_of("SCH007", _kueue)
def queues_hold_everything(case: Case, kueue: KueueSpec) -> Iterator[Problem]:
    """What the queue stands on fits into Kueue's objects."""
    counted = (
        ("labels that all pools share", len(case.node_labels), MOST_LABELS),
        ("taints of the pools", len(tolerations(case)), MOST_TOLERATIONS),
        ("resources", len(queue_quotas(case, plan_rails(case), {})), MOST_RESOURCES),
    )
    for what, count, most in counted:
        if count > most:
            yield Problem(_place("kueue"), f"{count} {what}, and Kueue takes {most} at most")


@check_of("SCH008", _kueue)
def quotas_are_within_capacity(case: Case, kueue: KueueSpec) -> Iterator[Problem]:
    """No quota is above what the nodes have of a resource."""
    own = case.spec.software.schedulers.model_copy(update={"kueue": kueue.model_copy(update={"quotas": {}})})
    there = queue_quotas(replace_sections(case, schedulers=own), plan_rails(case), {}) if kueue.quotas else {}
    for name, quota in kueue.quotas.items():
        most = there.get(name)
        if most is not None and most.isdigit() and quota.isdigit() and int(quota) > int(most):
            yield Problem(
                _place("kueue", "quotas", name),
                f"{quota} are let in at a time, where the nodes have {most}",
                f"write {most} or less, or leave it out",
            )


@check_of("SCH009", _kueue)
def every_pod_requests_something(case: Case, kueue: KueueSpec) -> Iterator[Problem]:
    """The user knows that a queue with a topology admits no pods without requests."""
    if (levels := topology_levels(case)) is not None:
        yield Problem(
            _place("kueue", "topology"),
            f"the queue has a topology (its lowest level is {levels[-1]}), so a job waits for ever whose launcher or "
            "coordinator requests nothing",
        )
