"""Checks of the group `schedulers`: schedulers of jobs."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.plan.case import Case
from fabric.rules.registry import Problem, check
from fabric.spec.places import dotted


@check("SCH001")
def schedulers_come_once(case: Case) -> Iterator[Problem]:
    """The stack brings no scheduler that the cluster has."""
    installed = case.spec.cluster.installed
    if case.spec.software.schedulers.volcano is not None and "volcano" in installed:
        yield Problem(
            dotted(("software", "schedulers", "volcano")),
            "the cluster has Volcano already",
            "leave it out: jobs are told to use the cluster's own; or take volcano out of cluster.installed",
        )
