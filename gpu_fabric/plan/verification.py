"""The verification: its job, its bars with their reasons, a name that changes with the fabric, and its schedule."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_fabric.base.tables import read_table
from gpu_fabric.base.templates import filled
from gpu_fabric.catalog import Shape
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.fabric import with_tolerations, without_channel
from gpu_fabric.k8s.batch import CronJob, PriorityClass
from gpu_fabric.k8s.core import ConfigMap, Service, ServiceAccount
from gpu_fabric.k8s.rbac import Role, RoleBinding
from gpu_fabric.nccl.busbw import Bar, Operation, given_bar, shape_bar, share_of_bar
from gpu_fabric.plan import records
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.domains import has_domains, is_measured_in_one
from gpu_fabric.plan.nccl_settings import measurement_environment
from gpu_fabric.plan.point_to_point import plan_point_to_point, run_by_ucx
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.startup_taint import startup_tolerations
from gpu_fabric.plan.steps import Step

if TYPE_CHECKING:
    from gpu_fabric.workloads.verification import Verification

# Jobs have 0 without a class of their own. Below -10 the cluster autoscaler starts no node for a pod, and keeps none
# (source: its option --expendable-pods-priority-cutoff).
BELOW_ALL_JOBS = -1_000_000_000

_KINDS = {kind.kind: kind for kind in (PriorityClass, ConfigMap, ServiceAccount, Role, RoleBinding, Service, CronJob)}

# The steps whose objects a run depends on, in the order in which its name has hashed them since it has one.
_MEASURED = (
    *("multus", "multus-daemon", "cni-plugins", "virtual-functions", "host-preparation"),
    *("nic-policies", "nic-node-policies", "sriov-pool", "sriov-policies"),
    *("reserved-ips", "ip-pools", "nic-addresses", "networks", "domains"),
)


def nodes_of(case: Case) -> int:
    """GPU nodes that take part."""
    return case.spec.verification.nodes or case.nodes


def fabric_bar(case: Case) -> Bar:
    """The bar of the whole fabric: the user's, or that of the weakest shape.

    Raises:
        BarUnknownError: no bar can be derived.
    """
    own = case.spec.verification.bar
    return given_bar(own, records.OWN_BAR) if own is not None else derived_bar(case, nvlink=_between_nodes(case))


def rail_bar(case: Case) -> Bar | None:
    """The bar of one rail alone; None where no rail is measured alone.

    Raises:
        BarUnknownError: no bar can be derived.
    """
    wanted = case.spec.verification
    if not wanted.per_rail:
        return None
    if wanted.rail_bar is not None:
        return given_bar(wanted.rail_bar, records.OWN_BAR)
    if wanted.bar is not None:
        return share_of_bar(given_bar(wanted.bar, records.OWN_BAR), case.shape.rails)
    # NVLink between nodes is off in these runs, whatever it is in jobs.
    return share_of_bar(derived_bar(case, nvlink=False), case.shape.rails)


def plan_verification(
    case: Case, planned: tuple[Rail, ...], contract: FabricContract, steps: tuple[Step, ...]
) -> records.PlannedVerification | None:
    """The run that comes after these steps; None unless asked. The rules about it hold already."""
    wanted = case.spec.verification
    if not wanted.enabled:
        return None
    # What most plans do not need: the job, and what attaches the fabric to it.
    from gpu_fabric.workloads.verification import KEYS_SECRET, verification_manifests

    # Its pods are part of what proves the nodes, and wait for no proof.
    contract = with_tolerations(_measured(case, contract), startup_tolerations(case))
    each = rail_bar(case)
    between = plan_point_to_point(case, planned)
    run = _run(case, planned, contract)._replace(ucx=run_by_ucx(case, contract))
    bar = fabric_bar(case)
    # Another time limit does not require another measurement.
    lasting = verification_manifests(contract, run._replace(seconds=0))
    bars = (bar, each) if between is None else (bar, each, between.bar)
    named = run._replace(name=f"{run.name}-{_digest(case, steps, lasting, bars)}")
    own_keys = run.launcher == "job"
    return records.PlannedVerification(
        name=named.name,
        namespace=named.namespace,
        launcher=wanted.launcher,
        nodes=named.nodes,
        pods=named.nodes + (0 if own_keys else 1),
        rails=len(planned),
        each_rail=wanted.per_rail,
        bar=bar,
        rail_bar=each,
        own_bar=wanted.bar,
        own_rail_bar=wanted.rail_bar,
        seconds=named.seconds,
        wait=wanted.wait,
        report=run.name,
        fabric=case.fabric,
        keys_secret=f"{named.name}-{KEYS_SECRET}" if own_keys else None,
        shapes=_shapes(case),
        point_to_point=between,
        manifests=verification_manifests(contract, named),
    )


def plan_schedule(case: Case, planned: tuple[Rail, ...], contract: FabricContract) -> tuple[records.PlannedObject, ...]:
    """What measures idle nodes at certain times; empty unless asked."""
    wanted = case.spec.verification
    if not wanted.enabled or wanted.schedule is None:
        return ()
    from gpu_fabric.workloads.verification import Schedule, schedule_labels, scheduled_job, script_files, service_port

    contract = _measured(case, contract)
    run = _run(case, planned, contract)
    name, namespace = case.own_copy(records.SCHEDULE), run.namespace
    files = script_files(contract, run)
    schedule = Schedule(
        name=name,
        cron=wanted.schedule,
        bar=fabric_bar(case).value,
        files=records.config_map_name(name, "".join(files.values())),
        history=case.own_copy(records.HISTORY),
        present=case.own_copy(records.PRESENT),
        priority=name,
    )
    values = {
        **{"name": name, "namespace": namespace, "labels": schedule_labels(schedule), "scripts": files},
        **{"files": schedule.files, "history": schedule.history, "present": schedule.present},
        **{"port": service_port(), "priority": BELOW_ALL_JOBS, "spec": scheduled_job(contract, run, schedule)["spec"]},
    }
    rows = filled(read_table(Path(__file__).with_name("schedule.yaml")), values)
    objects = (_KINDS[row.pop("kind")].model_validate(row) for row in rows)
    # Nothing waits for a Service without pods, which it has only during a run.
    return tuple(records.PlannedObject(object=entry, awaited=not isinstance(entry, Service)) for entry in objects)


def _measured(case: Case, contract: FabricContract) -> FabricContract:
    """The contract of a run: over NVLink in the first rack if it has a place there, else over the rails alone."""
    return contract if has_domains(case) and is_measured_in_one(case) else without_channel(contract)


def _run(case: Case, planned: tuple[Rail, ...], contract: FabricContract) -> Verification:
    """The run of the stack's nodes and rails, without the hash in its name."""
    from gpu_fabric.workloads.verification import RailLine, Verification

    wanted = case.spec.verification
    assert wanted.image is not None, "a verification without an image was refused"
    each = rail_bar(case)
    shared = case.choices.access in ("shared", "host")
    rails = tuple(
        RailLine(
            number=rail.index,
            interface=rail.pod_interface or "-",
            # In these models a pod sees the node's own devices; elsewhere those behind its interfaces.
            # An InfiniBand NIC that is claimed comes without one.
            device=rail.rdma_device if shared or rail.pod_interface is None else None,
            gpu=rail.index * contract.gpus_per_node // len(planned) if rail.nearest_gpu is None else rail.nearest_gpu,
        )
        for rail in (planned if each is not None else ())
    )
    return Verification(
        name=case.own_copy(records.REPORT),
        namespace=contract.namespaces[0],
        launcher=wanted.launcher,
        nodes=nodes_of(case),
        image=case.pulled(wanted.image),
        program=wanted.program,
        rails=rails,
        rail_bar=0 if each is None else each.value,
        seconds=60 * wanted.minutes,
        settings=contract.environment | contract.verification_environment,
    )


def _shapes(case: Case) -> tuple[Shape, ...]:
    return tuple(group.shape for group in case.groups)


def derived_bar(case: Case, *, nvlink: bool | None) -> Bar:
    """The bar of the weakest shape; `nvlink` says whether NVLink between nodes is used, None if that is not stated.

    Raises:
        BarUnknownError: no bar can be derived.
    """
    found = (
        shape_bar(shape, shape.rails, nodes=nodes_of(case), ring=True, nvlink=nvlink, operation=Operation.ALL_REDUCE)
        for shape in _shapes(case)
    )
    return min(found, key=lambda bar: bar.value)


def _between_nodes(case: Case) -> bool | None:
    """Whether the run's settings have NVLink between nodes; None where they say nothing."""
    if has_domains(case) and not is_measured_in_one(case):
        return False
    return {"0": False, "1": True}.get(measurement_environment(case).get("NCCL_MNNVL_ENABLE", ""))


def _digest(
    case: Case, steps: tuple[Step, ...], manifests: Iterable[dict[str, Any]], bars: tuple[Bar | None, ...]
) -> str:
    """A hash of the run, and of all software and objects that the fabric is made of; not of how `up` treats it."""
    by_name = {step.name: step.items for step in steps}
    parts = [item for name in _MEASURED for item in by_name.get(name, ()) if isinstance(item, records.PlannedObject)]
    releases = [item for step in steps for item in step.items if isinstance(item, records.HelmRelease)]
    content = {
        "manifests": list(manifests),
        "bars": [None if bar is None else bar.value for bar in bars],
        "trigger": case.spec.verification.trigger,
        "pools": [[pool.name, pool.shape, pool.nodes] for pool in case.spec.cluster.pools],
        "cuts": [
            [item.name, item.cut] for item in by_name.get("node-pools", ()) if isinstance(item, records.PlannedGroup)
        ],
        "charts": [[release.chart.name, release.chart.version, release.values] for release in releases],
        "objects": [entry.object.manifest() for entry in parts],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]
