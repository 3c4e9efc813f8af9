"""The verification: the job's objects, its bars with their reasons, and a name that changes with the fabric."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from fabric.catalog import Shape
from fabric.model import FrozenModel
from fabric.nccl.busbw import Bar, Operation, given_bar, shape_bar, share_of_bar
from fabric.plan.case import Case
from fabric.plan.nccl_settings import measurement_environment
from fabric.plan.records import PlannedObject
from fabric.spec.verification import Launcher

if TYPE_CHECKING:
    from fabric.plan.plan import Plan

_PREFIX = "fabric-verification"
OWN = "the stack file"
REPORT = _PREFIX
"""Name of the ConfigMap with the verdict and the files that it comes from."""


class PlannedVerification(FrozenModel):
    """A run of the verification. `rails` of each node are used, and each is measured alone where `each_rail` says so.

    `name` is that of the job and all its objects; its end is a hash of everything that the run depends on. `pods` are
    all of the job's; `seconds` its limit. `own_bar` and `own_rail_bar` are the stack file's. `shapes` are those of the
    nodes. `keys_secret` is made when the run starts: keys have no place in a plan.
    """

    name: str
    namespace: str
    launcher: Launcher
    nodes: int
    pods: int
    rails: int
    each_rail: bool
    bar: Bar
    rail_bar: Bar | None
    own_bar: float | None
    own_rail_bar: float | None
    seconds: int
    wait: bool
    report: str = REPORT
    keys_secret: str | None
    shapes: tuple[Shape, ...]
    manifests: tuple[dict[str, JsonValue], ...]


def nodes_of(case: Case) -> int:
    """GPU nodes that take part."""
    return case.spec.verification.nodes or case.nodes


def fabric_bar(case: Case) -> Bar:
    """The bar of the whole fabric: the user's, or that of the weakest shape.

    Raises:
        BarUnknownError: no bar can be derived.
    """
    own = case.spec.verification.bar
    return given_bar(own, OWN) if own is not None else _derived(case, nvlink=_between_nodes(case))


def rail_bar(case: Case) -> Bar | None:
    """The bar of one rail alone; None where no rail is measured alone.

    Raises:
        BarUnknownError: no bar can be derived.
    """
    wanted = case.spec.verification
    if not wanted.per_rail:
        return None
    if wanted.rail_bar is not None:
        return given_bar(wanted.rail_bar, OWN)
    if wanted.bar is not None:
        return share_of_bar(given_bar(wanted.bar, OWN), case.shape.rails)
    # NVLink between nodes is off in these runs, whatever it is in jobs.
    return share_of_bar(_derived(case, nvlink=False), case.shape.rails)


def plan_verification(case: Case, plan: Plan) -> PlannedVerification | None:
    """The run for a plan that is made otherwise; None unless asked. The rules about it hold already."""
    wanted = case.spec.verification
    if not wanted.enabled:
        return None
    assert wanted.image is not None, "a verification without an image was refused"
    # What workloads are made of looks at plans, and so cannot come first.
    from fabric.workloads.verification import KEYS_SECRET, Form, RailLine, Verification, verification_manifests

    contract = plan.workload
    each = rail_bar(case)
    shared = case.choices.row is not None and case.choices.row.access in ("shared", "host")
    rails = tuple(
        RailLine(
            number=rail.index,
            interface=rail.pod_interface or "-",
            # In these models a pod sees the node's own devices; elsewhere those behind its interfaces.
            device=rail.rdma_device if shared else None,
            gpu=rail.index * contract.gpus_per_node // len(plan.rails)
            if rail.nearest_gpu is None
            else rail.nearest_gpu,
        )
        for rail in (plan.rails if each is not None else ())
    )
    run = Verification(
        name=_PREFIX,
        namespace=contract.namespaces[0],
        form=Form(wanted.launcher),
        nodes=nodes_of(case),
        image=case.pulled(wanted.image),
        program=wanted.program,
        rails=rails,
        rail_bar=0 if each is None else each.value,
        seconds=60 * wanted.minutes,
        settings=contract.environment | contract.verification_environment,
    )
    bar = fabric_bar(case)
    # Another time limit is no reason to measure again.
    lasting = verification_manifests(contract, run._replace(seconds=0))
    named = run._replace(name=f"{_PREFIX}-{_digest(case, plan, lasting, (bar, each))}")
    own_keys = run.form is Form.JOB
    return PlannedVerification(
        name=named.name,
        namespace=named.namespace,
        launcher=wanted.launcher,
        nodes=named.nodes,
        pods=named.nodes + (0 if own_keys else 1),
        rails=len(plan.rails),
        each_rail=wanted.per_rail,
        bar=bar,
        rail_bar=each,
        own_bar=wanted.bar,
        own_rail_bar=wanted.rail_bar,
        seconds=named.seconds,
        wait=wanted.wait,
        keys_secret=f"{named.name}-{KEYS_SECRET}" if own_keys else None,
        shapes=_shapes(case),
        manifests=verification_manifests(contract, named),
    )


def _shapes(case: Case) -> tuple[Shape, ...]:
    return tuple(group.shape for group in case.groups)


def _derived(case: Case, *, nvlink: bool | None) -> Bar:
    found = (
        shape_bar(shape, shape.rails, nodes=nodes_of(case), ring=True, nvlink=nvlink, operation=Operation.ALL_REDUCE)
        for shape in _shapes(case)
    )
    return min(found, key=lambda bar: bar.value)


def _between_nodes(case: Case) -> bool | None:
    """Whether the run's settings have NVLink between nodes; None where they say nothing."""
    return {"0": False, "1": True}.get(measurement_environment(case).get("NCCL_MNNVL_ENABLE", ""))


def _digest(case: Case, plan: Plan, manifests: Iterable[dict[str, Any]], bars: tuple[Bar, Bar | None]) -> str:
    """A hash of the run, and of all software and objects that the fabric is made of; not of how `up` treats it."""
    policy = () if plan.policy is None else (plan.policy,)
    parts: tuple[PlannedObject, ...] = (
        *plan.multus,
        *plan.cni_plugins,
        *plan.virtual_functions,
        *plan.host_preparation,
        *policy,
        *plan.node_policies,
        *plan.sriov_policies,
        *plan.reserved_ips,
        *plan.ip_pools,
        *plan.nic_addresses,
        *plan.networks,
    )
    content = {
        "manifests": list(manifests),
        "bars": [None if bar is None else bar.value for bar in bars],
        "trigger": case.spec.verification.trigger,
        "pools": [[pool.name, pool.shape, pool.nodes] for pool in plan.cluster.pools],
        "cuts": [[group.name, group.cut] for group in plan.node_pools],
        "charts": [[release.chart.name, release.chart.version, release.values] for release in plan.releases],
        "objects": [entry.object.manifest() for entry in parts],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]
