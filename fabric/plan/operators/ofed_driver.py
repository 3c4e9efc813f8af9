"""The vendor's network drivers in a container, by a chart of Spiderpool's project."""

from __future__ import annotations

from fabric.plan.case import Case
from fabric.plan.operators.releases import release
from fabric.plan.records import HelmRelease


def ofed_driver(case: Case) -> HelmRelease:
    """The drivers for the nodes' operating system, which the chart must be told."""
    wanted = case.spec.software.ofed_driver
    assert wanted is not None, "the chart is among those of the stack"
    image = {"OSName": wanted.os, "OSVer": wanted.os_version, "Arch": wanted.arch}
    return release(case, "ofed-driver", {"image": dict(image)}, wanted.values)
