"""Whereabouts, by its own chart."""

from __future__ import annotations

from fabric.plan.case import Case
from fabric.plan.operators.releases import release
from fabric.plan.records import HelmRelease


def whereabouts(case: Case) -> HelmRelease:
    """The IPAM's plug-in on every node: the chart tolerates every taint that keeps pods from being scheduled."""
    return release(case, "whereabouts", {}, case.spec.software.whereabouts.values)
