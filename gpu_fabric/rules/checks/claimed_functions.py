"""Checks of the group `claims` about virtual functions: a DRA driver answers pods that name their resources."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.version import Version
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.fabrics import fabric_sections
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.network_operator import DRA_GATE
from gpu_fabric.rules.checks.releases import stated_kubernetes
from gpu_fabric.rules.registry import Problem, check, check_of, in_fabric, in_software
from gpu_fabric.spec.places import dotted

# The first Network Operator whose SR-IOV operator has the driver, and the first Kubernetes with the gate
# DRAExtendedResource on by default (pkg/features/kube_features.go of 1.36.3).
_WITH_SRIOV_DRIVER, _WITH_NAMES = "26.4.0", "1.36"


def _answered(case: Case) -> Case | None:
    """A stack in which a DRA driver answers requests for virtual functions."""
    return case if manager_of(case).answers_by_claims else None


@check("DRA017")
def virtual_functions_can_be_claimed(case: Case) -> Iterator[Problem]:
    """Requests for virtual functions are answered by claims only where the SR-IOV operator starts its driver."""
    sections = fabric_sections(case.spec)
    if manager_of(case).by_profile:
        # The same key says what hands out the cloud's NICs (CLD003).
        return
    if len({section.devices for section in sections.values()}) > 1:
        for name, section in sections.items():
            if section.devices == "plugin":
                place = ("fabrics", name, "devices") if name else ("fabric", "devices")
                problem = "the SR-IOV operator has one driver for all fabrics, and another fabric has claims"
                yield Problem(dotted(place), problem, "write the same in all fabrics")
    if case.spec.fabric.devices == "plugin":
        return
    here, manager = in_fabric("devices"), manager_of(case)
    if not manager.starts_sriov_driver:
        remedy = "leave it out" if manager.dra_driver else "write manager: network-operator, or leave it out"
        yield Problem(here, f"{manager.title} starts no SR-IOV DRA driver", remedy)
    elif not case.choices.by_sriov_operator:
        yield Problem(
            here,
            "only the SR-IOV operator starts the driver with Multus; by its own chart the driver calls one CNI plug-in "
            "for each network, and the plan's networks are chains of several",
            "write virtualFunctions: sriov-operator, or externally-managed where the cloud creates the functions",
        )
    elif manager.sriov_operator_is_present:
        yield Problem(
            here,
            f"the gate {DRA_GATE} is in the SriovOperatorConfig of the cluster's operator, which is not the stack's",
            "leave it out, or let the stack install the operator",
        )
    elif (chart := case.line.charts.get("network-operator")) and not _has_reached(chart.version, _WITH_SRIOV_DRIVER):
        yield Problem(
            here,
            f"the Network Operator has the driver since {_WITH_SRIOV_DRIVER}, and release line {case.line.name} has "
            f"{chart.version}",
            "write a newer software.releaseLine",
        )
    of_version, version = stated_kubernetes(case)
    if manager.answers_by_claims and version is not None and not _has_reached(version, _WITH_NAMES):
        yield Problem(
            dotted(of_version),
            f"pods that name resources get claimed devices from Kubernetes {_WITH_NAMES} on, and this is {version}",
            f"write {_WITH_NAMES} or newer, or leave fabric.devices out",
        )


def _has_reached(version: str, floor: str) -> bool:
    return Version.parse(version).has_reached(Version.parse(floor))


@check_of("DRA018", _answered)
def nodes_can_run_the_driver(case: Case, _: Case) -> Iterator[Problem]:
    """The user knows what the cluster and its nodes must have, and what the vendor says of the driver."""
    unknown = "" if stated_kubernetes(case)[1] else f"Kubernetes {_WITH_NAMES} or newer, and "
    yield Problem(
        in_fabric("devices"),
        f"the cluster must have {unknown}a container runtime with NRI and CDI on, and NVIDIA offers the driver as a "
        "technical preview",
    )


@check_of("DRA019", _answered)
def nothing_looks_for_rails_on_nodes(case: Case, _: Case) -> Iterator[Problem]:
    """Nothing in the stack counts the rails' resources by what nodes offer, where claimed devices are not."""
    schedulers = case.spec.software.schedulers
    if schedulers.volcano is not None:
        yield Problem(
            in_software("schedulers", "volcano"),
            "that Volcano's scheduler answers requests by claims is not known",
            "run jobs by Kubernetes' own scheduler, with Kueue or without",
        )
    if schedulers.kueue is not None and schedulers.kueue.topology not in (None, "none"):
        yield Problem(
            in_software("schedulers", "kueue", "topology"),
            "with a topology Kueue fits jobs by what nodes offer",
            "leave it out",
        )
