"""Checks of the group `readiness`: nodes can be proven, and jobs get to those that are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_fabric.catalog.version import Version
from gpu_fabric.nccl.busbw import nic_speed
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.claims import claims_spec
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.plan.startup_taint import CONTROLLER, STARTUP_KEYS, startup_taint
from gpu_fabric.rules.registry import Problem, check, check_of, in_cluster, in_fabric
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.fabric import FabricPairSpec, FabricReadinessSpec

# In every server from this version on: the admission policies, and the node in a pod's token.
_WITH_LIMITS = Version.parse("1.30")
# The first with DeviceTaintRules in a version of the API beyond alpha (k8s.io/api v0.36.3, resource/v1beta2).
_WITH_TAINTED_DEVICES = Version.parse("1.36")


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
    pods = case.spec.cluster.ranges.pods
    if pods is not None and pods.version == 6:
        yield Problem(
            in_fabric("readiness", "pair"),
            f"pods meet over IPv4, and have addresses of {pods} alone",
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


@check_of("RDY008", _pair)
def bar_can_be_reached(case: Case, wanted: FabricPairSpec) -> Iterator[Problem]:
    """A rail can carry the percent of its line rate that is asked for."""
    most = _payload_percent(case)
    if wanted.percent > most:
        yield Problem(
            in_fabric("readiness", "pair", "percent"),
            f"the payload is at most {most:.1f} % of what is on the line"
            + ("" if case.mtu is None else f" with an MTU of {case.mtu}"),
            f"write {int(most) - 2} or less",
        )


@check_of("RDY009", _pair)
def bar_leaves_room(case: Case, wanted: FabricPairSpec) -> Iterator[Problem]:
    """The percent that is asked for is not what a rail reaches at best."""
    most = _payload_percent(case)
    if most - 2 < wanted.percent <= most:
        yield Problem(
            in_fabric("readiness", "pair", "percent"),
            f"a rail without any fault reaches {most:.1f} % at best",
            f"write {int(most) - 2} or less",
        )


def _payload_percent(case: Case) -> float:
    """Percent of the line rate that is payload, as perftest counts it, with the largest packets that the MTU allows.

    InfiniBand has 26 bytes around a packet (specification volume 1, chapter 5: LRH, BTH, ICRC, VCRC). RoCE version 2
    has 82 with IPv4, and 102 with IPv6: preamble, Ethernet, IP, UDP, BTH, ICRC, gap. The kernel keeps 96 bytes of an
    interface's MTU for headers (include/rdma/ib_addr.h, iboe_get_mtu). Without an MTU the largest packet counts.
    """
    ether = case.choices.link_type == "ether"
    room = 4096 if case.mtu is None or not ether else case.mtu - 96
    payload = max(size for size in (256, 512, 1024, 2048, 4096) if size <= max(room, 256))
    supernet = case.spec.fabric.addressing.supernet
    around = (102 if supernet is not None and supernet.version == 6 else 82) if ether else 26
    return 100 * payload / (payload + around)


@check("RDY010")
def jobs_stay_off_unproven_nodes(case: Case) -> Iterator[Problem]:
    """No pool states the taint of nodes that are not proven: jobs tolerate what pools state."""
    for number, pool in enumerate(case.spec.cluster.pools):
        for place, taint in enumerate(pool.taints or ()):
            if taint.key in STARTUP_KEYS:
                yield Problem(in_cluster("pools", number, "taints", place, "key"))


@check_of("RDY011", _readiness)
def rails_can_be_closed(case: Case, wanted: FabricReadinessSpec) -> Iterator[Problem]:
    """A rail is closed where its NIC is a device that pods claim, with a name that is known, on servers with taints."""
    cluster, place = case.spec.cluster, in_fabric("readiness", "closes")
    if wanted.closes == "node":
        return
    if manager_of(case).dra_driver is None:
        message = f"pods of the manager {case.choices.manager} claim no NICs, and only a claimed device can be tainted"
        yield Problem(place, message, "write closes: node, or manager: dranet")
        return
    version = getattr(cluster, "kubernetes", None) or getattr(cluster, "version", None)
    if version is not None and not Version.parse(version).has_reached(_WITH_TAINTED_DEVICES):
        yield Problem(
            place,
            f"Kubernetes {version} has no DeviceTaintRules but as an alpha",
            f"write {_WITH_TAINTED_DEVICES} or newer, or leave fabric.readiness out",
        )
    if not all(nic.pci for group in case.groups for nic in group.shape.nics):
        message = f"the PCI addresses of {case.shape.name} are not known, by which DRANET names devices"
        yield Problem(place, message, "write fabric.rails[].pci, or leave fabric.readiness out")


@check_of("RDY012", _readiness)
def servers_serve_taint_rules(case: Case, wanted: FabricReadinessSpec) -> Iterator[Problem]:
    """The user knows that the servers of 1.36 have the API off by default."""
    if wanted.closes == "rail" and manager_of(case).dra_driver is not None:
        yield Problem(in_fabric("readiness", "closes"))


@check("RDY013")
def repair_needs_closed_rails(case: Case) -> Iterator[Problem]:
    """Claims that tolerate closed rails are planned where rails are closed."""
    wanted = case.spec.fabric.readiness
    sizes = claims_spec(case).sizes
    if "repair" in sizes and (wanted is None or wanted.closes == "node"):
        yield Problem(in_fabric("claims", "sizes", sizes.index("repair")))
