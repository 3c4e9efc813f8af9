"""Checks of the verification and of the check of the rails."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.nccl.busbw import BarUnknownError, bar_table, line_rate, nic_speed
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.point_to_point import bar_between_nodes
from gpu_fabric.plan.verification import fabric_bar, nodes_of, rail_bar
from gpu_fabric.rules.registry import Problem, check, check_of, in_fabric
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.verification import PointToPointSpec, VerificationSpec

# The programs of nccl-tests and rccl-tests, with the suffix of their MPI builds.
_TEST = re.compile(r"[a-z_]+_perf(_mpi)?")
_CHECK = in_fabric("check")
_REMEDIES = {
    "virtual": "write vfsPerNic: 2 or more, of which one is the check's, or leave check out",
    "shared": "write podsPerNic: 2 or more, of which one is the check's, or leave check out",
}


def _at(*keys: str) -> str:
    return dotted(("verification", *keys))


def _verification(case: Case) -> VerificationSpec | None:
    return case.spec.verification if case.spec.verification.enabled else None


def _point_to_point(case: Case) -> PointToPointSpec | None:
    wanted = _verification(case)
    return None if wanted is None else wanted.point_to_point


@check_of("VFY001", _verification)
def has_an_image(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """A verification names its image."""
    if wanted.image is None:
        tests = "rccl-tests" if case.shape.gpus.vendor == "amd" else "nccl-tests 2.17.3 or later"
        remedy = f"write image: one with bash, Open MPI, ssh and {tests}; docs/verification.md"
        yield Problem(_at("image"), "the verification has no image", remedy)


@check_of("VFY002", _verification)
def has_a_launcher(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """Volcano or the MPI operator is installed where it runs the verification."""
    spec = case.spec
    installed = {
        "volcano": spec.software.schedulers.volcano is not None,
        "mpi-operator": spec.software.schedulers.mpi_operator is not None,
    }
    key = {"volcano": "volcano", "mpi-operator": "mpiOperator"}.get(wanted.launcher)
    if key is None or installed[wanted.launcher] or wanted.launcher in spec.present:
        return
    remedy = (
        f"write launcher: job, which needs neither; or software.schedulers.{key}: {{}}; or name {wanted.launcher} in "
        "cluster.installed, if the cluster has it"
    )
    yield Problem(_at("launcher"), f"neither the stack nor the cluster has {wanted.launcher}", remedy)


@check_of("VFY003", _verification)
def has_its_nodes(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """The stack has the nodes of its verification, two at least."""
    if case.nodes < 2:
        message = f"the stack has {case.nodes} GPU nodes, and data cross the fabric between two or more"
        yield Problem(_at("enabled"), message, "write enabled: false, or give the stack another node")
    elif nodes_of(case) > case.nodes:
        message = f"{nodes_of(case)} nodes are to take part, and the stack has {case.nodes}"
        yield Problem(_at("nodes"), message, f"write {case.nodes} or fewer, or leave nodes out for all of them")


@check_of("VFY004", _verification)
def has_a_bar(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """Every measurement of the verification has a bar."""
    if case.choices.row is None:
        return
    try:
        fabric_bar(case)
    except BarUnknownError as error:
        yield Problem(_at("bar"), f"no bar can be derived: {error}", "write bar: the GB/s that the fabric must reach")
        return
    try:
        rail_bar(case)
    except BarUnknownError as error:
        remedy = "write railBar: the GB/s that each rail must reach, or perRail: false"
        yield Problem(_at("railBar"), f"no bar of a rail can be derived: {error}", remedy)


@check_of("VFY005", _verification)
def has_rdma(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """The verification's pods have RDMA devices that NCCL uses."""
    choices = case.choices
    why = ""
    if case.spec.fabric.dpdk is not None:
        why = "the NICs are for DPDK, which NCCL does not use"
    elif choices.model in manager_of(case).models_without_rdma:
        why = "IPoIB by Spiderpool gives pods no RDMA device"
    if why:
        yield Problem(_at("enabled"), why)


@check_of("VFY006", _verification)
def rail_bars_have_an_effect(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """A bar for single rails is written only where rails are measured alone."""
    if wanted.rail_bar is not None and not wanted.per_rail:
        yield Problem(_at("railBar"))


@check_of("VFY007", _verification)
def bars_can_be_reached(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """No bar of the stack file is above what the NICs carry."""
    shape = case.shape
    row = bar_table().shapes.get(shape.name)
    by_nvlink = row is not None and row.multi_node_nvlink
    speed = nic_speed(shape)
    if not shape.rails or speed is None:
        return
    limits = (
        ("bar", wanted.bar, None if by_nvlink else line_rate(shape.rails, speed), "all rails"),
        ("railBar", wanted.rail_bar, line_rate(1, speed), "one rail"),
    )
    for key, bar, limit, what in limits:
        if bar is not None and limit is not None and bar > limit:
            yield Problem(
                _at(key),
                f"{bar:g} GB/s are more than the {limit:g} that {what} of {shape.name} carry",
                f"write less than {limit:g}, or leave it out for the bar that follows from the line rate",
            )


@check_of("VFY008", _verification)
def programs_measure_what_bars_are_for(case: Case, wanted: VerificationSpec) -> Iterator[Problem]:
    """The verification runs the operation that its bars are for."""
    name = wanted.program.rpartition("/")[2]
    if _TEST.fullmatch(name) and not name.startswith("all_reduce_perf"):
        yield Problem(
            _at("program"), f"{name} measures another operation, and the bars are for all-reduce: no run would pass"
        )


@check("VFY009")
def schedules_are_carried_out(case: Case) -> Iterator[Problem]:
    """A schedule is written only where the verification is on, and its pods are those of a plain Job."""
    wanted = case.spec.verification
    if wanted.schedule is None:
        return
    if not wanted.enabled:
        yield Problem(
            _at("schedule"), "the verification is off, and with it its schedule", "write enabled: true, or remove it"
        )
    elif wanted.launcher != "job":
        message = f"{wanted.launcher} runs no job on those nodes alone that are idle"
        yield Problem(_at("schedule"), message, "write launcher: job, or remove the schedule")


@check_of("VFY010", _point_to_point)
def rails_have_a_line_rate(case: Case, wanted: PointToPointSpec) -> Iterator[Problem]:
    """What UCX measures on a rail has a bar."""
    try:
        bar_between_nodes(case)
    except BarUnknownError as error:
        remedy = "state nicSpeedGbps in the shape (cluster.shapes), or leave pointToPoint out"
        yield Problem(_at("pointToPoint"), f"no bar between two nodes can be derived: {error}", remedy)


@check_of("VFY011", _point_to_point)
def rails_are_measured_one_by_one(case: Case, wanted: PointToPointSpec) -> Iterator[Problem]:
    """UCX measures rails only where the verification measures single rails."""
    if not case.spec.verification.per_rail:
        yield Problem(_at("pointToPoint"))


@check("CHK001")
def rail_check_has_rails(case: Case) -> Iterator[Problem]:
    """The rails are checked only where pods attach to them."""
    if case.spec.fabric.check is not None and case.choices.model == "host-network":
        yield Problem(_CHECK)


@check("CHK002")
def rail_check_leaves_jobs_their_devices(case: Case) -> Iterator[Problem]:
    """The pod that checks a node's rails leaves a device of every rail for jobs."""
    access = case.choices.access
    if case.spec.fabric.check is None or access in (None, "host") or case.pods_per_nic > 1:
        return
    yield Problem(
        _CHECK,
        f"with the model {case.choices.model} a NIC serves one pod at a time here, and the check's pod would hold "
        "every rail of every node",
        _REMEDIES.get(access or "", "leave it out: in this model a pod has whole NICs")
        if case.planes is None
        else "leave it out: a plane has one virtual function",
    )
