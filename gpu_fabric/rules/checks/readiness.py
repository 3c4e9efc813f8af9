"""Checks of the group `readiness`: nodes can be proven, and jobs get to those that are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_fabric.catalog.version import Version
from gpu_fabric.nccl.busbw import nic_speed
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.plan.startup_taint import CONTROLLER, startup_taint
from gpu_fabric.rules.registry import Problem, check_of, in_cluster, in_fabric
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.fabric import FabricPairSpec, FabricReadinessSpec

# In every server from this version on: the admission policies, and the node in a pod's token.
_WITH_LIMITS = Version.parse("1.30")


def _pair(case: Case) -> FabricPairSpec | None:
    wanted = case.spec.fabric.readiness
    return None if wanted is None else wanted.pair


def _readiness(case: Case) -> FabricReadinessSpec | None:
    return case.spec.fabric.readiness


@check_of("RDY001", _readiness)
def rights_can_be_limited(case: Case, wanted: FabricReadinessSpec) -> Iterator[Problem]:
    """The API server can limit a pod to its own node, where its version is stated; both clouds' are newer."""
    cluster = case.spec.cluster
    version = cluster.kubernetes if isinstance(cluster, ExistingClusterSpec) else None
    if version is not None and not Version.parse(version).has_reached(_WITH_LIMITS):
        yield Problem(
            in_cluster("kubernetes"),
            f"fabric.readiness needs Kubernetes {_WITH_LIMITS} or newer, and this is {version}",
            f"write {_WITH_LIMITS} or newer, or leave fabric.readiness out",
        )


@check_of("RDY002", _readiness)
def rails_can_be_found(case: Case, wanted: FabricReadinessSpec) -> Iterator[Problem]:
    """Something is known of every rail by which its NIC is found on a node."""
    for group in case.groups:
        rails = group_rails(case, group)
        if rails and not any(rail.pci or rail.interface or rail.rdma_device for rail in rails):
            yield Problem(
                in_fabric("readiness"),
                f"neither PCI address, interface nor RDMA device of the rails of {group.shape.name} is known",
            )


@check_of("RDY003", _readiness)
def nodes_register_with_the_taint(case: Case, wanted: FabricReadinessSpec) -> Iterator[Problem]:
    """Nodes that the stack does not create must be configured to register with the taint."""
    taint = startup_taint(case.spec.fabric)
    if taint is not None and wanted.startup_taint and isinstance(case.spec.cluster, ExistingClusterSpec):
        yield Problem(
            in_fabric("readiness"),
            "a new node can take jobs until its pod has looked at it",
            f"start the kubelets of these nodes with --register-with-taints={taint.key}={taint.value}:{taint.effect}",
        )


@check_of("RDY004", _readiness)
def autoscaler_knows_the_taint(case: Case, wanted: FabricReadinessSpec) -> Iterator[Problem]:
    """Pools that scale register with a taint that the autoscaler takes for one of the start."""
    taint = startup_taint(case.spec.fabric)
    if taint is None or wanted.taint != CONTROLLER or not wanted.startup_taint:
        return
    for number, pool in enumerate(case.spec.cluster.pools):
        if getattr(pool, "auto_scale", None) is not None:
            yield Problem(
                in_cluster("pools", number, "autoScale"),
                f"the autoscaler finds no job that fits on a new node of {pool.name}, for the taint {taint.key}",
                "write fabric.readiness.taint: agent, whose key it knows, or startupTaint: false, or start the "
                "autoscaler with --startup-taint-prefix=readiness.k8s.io/",
            )


@check_of("RDY005", _pair)
def rails_can_be_measured(case: Case, wanted: FabricPairSpec) -> Iterator[Problem]:
    """A pod finds the RDMA device of each rail, and the rails' line rate is known."""
    if case.choices.model in ("host-network", "ipoib"):
        yield Problem(
            in_fabric("readiness", "pair"),
            f"with the model {case.choices.model} a pod has no RDMA device that is a rail's own",
            "leave it out, and measure with the verification",
        )
    for shape in dict.fromkeys(case.shapes):
        if nic_speed(shape) is None:
            yield Problem(
                in_fabric("readiness", "pair"),
                f"the line rate of the NICs of {shape.name} is not published, so that there is no bar",
                "write the shape into the stack file, with nicSpeedGbps, or leave it out",
            )


@check_of("RDY006", _pair)
def nodes_have_neighbours(case: Case, wanted: FabricPairSpec) -> Iterator[Problem]:
    """Every kind of machine has a second node."""
    nodes: Counter[str] = Counter()
    for shape, pool in zip(case.shapes, case.spec.cluster.pools, strict=False):
        nodes[shape.name] += pool.nodes
    for name, count in nodes.items():
        if count == 1:
            yield Problem(in_fabric("readiness", "pair"), f"the one node of {name} has no neighbour of its kind")


@check_of("RDY007", _readiness)
def nics_can_be_lost(case: Case, wanted: FabricReadinessSpec) -> Iterator[Problem]:
    """Whole NICs move into pods, where those that do not come back are looked for."""
    if wanted.lost_nics and case.choices.access != "physical":
        yield Problem(
            in_fabric("readiness", "lostNics"),
            f"with the model {case.choices.model} the NICs stay on the host",
        )
