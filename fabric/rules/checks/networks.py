"""Checks of the group `networks`: networks and what the nodes must bring for them."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.plan.case import Case
from fabric.rules.registry import Problem, check
from fabric.spec.places import dotted

# Interface plug-ins that are in no image of the Network Operator; Spiderpool's chart installs its own.
_NOT_INSTALLED = {"sriov": "sriov", "ib-sriov": "ib-sriov"}


@check("NET001")
def mtu_fits_the_host(case: Case) -> Iterator[Problem]:
    """The pods' MTU is at most that of the host's RDMA interfaces."""
    mtu, host = case.spec.fabric.mtu, case.shape.mtu
    if mtu is not None and host is not None and mtu > host:
        yield Problem(
            dotted(("fabric", "mtu")),
            f"{mtu} bytes exceed the {host} of {case.shape.name}'s RDMA interfaces",
            f"write {host} or less, or leave it out",
        )


@check("NET002")
def nodes_bring_the_plugins(case: Case) -> Iterator[Problem]:
    """Every CNI plug-in that the networks call is installed by somebody."""
    choices = case.choices
    if choices.manager != "network-operator" or choices.model == "host-network":
        return
    called = [_NOT_INSTALLED[choices.model]] if choices.model in _NOT_INSTALLED else []
    if choices.rdma_mode == "exclusive":
        called.append("rdma")
    if called:
        several = len(called) > 1
        yield Problem(
            dotted(("fabric", "model")),
            f"the networks call the CNI plug-in{'s' if several else ''} {' and '.join(called)}, which the node image "
            "must bring",
            f"check for {' and '.join(f'/opt/cni/bin/{name}' for name in called)} on a GPU node before the first job",
        )


@check("NET003")
def nodes_run_in_the_mode(case: Case) -> Iterator[Problem]:
    """The reader knows which RDMA mode the nodes must run in."""
    if case.choices.manager != "doks" and case.choices.model != "host-network":
        mode = case.choices.rdma_mode
        yield Problem(
            dotted(("fabric", "rdmaMode")),
            f"the nodes must run in RDMA mode {mode}",
            f"`rdma system` on a node must print `netns {mode}`; else set rdmaMode to what it prints",
        )
