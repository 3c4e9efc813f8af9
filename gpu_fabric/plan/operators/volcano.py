"""Volcano: its chart, and the queue and the accounts of its jobs.

Nothing of the fabric needs it, so it comes up with the operators. Its queue is deleted while its controller runs.

None of its pods has a readiness probe (chart 1.15.1, templates), so the release is ready before the admission answers,
and until then the API server refuses every queue and job. The scheduler creates the queue `default` through the
admission, and the controllers open it: when it is open, all three work. The admission refuses a job whose queue is not
open (pkg/webhooks/admission/jobs/validate/admit_job.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ServiceAccount
from gpu_fabric.k8s.rbac import RoleBinding, RoleReference, Subject
from gpu_fabric.k8s.volcano import Guarantee, Queue, QueueSpec
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.operator import BESIDE, Operator, OwnChart
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedObject, PlannedState
from gpu_fabric.plan.steps import Context, Step, Words, kinds
from gpu_fabric.plan.tenants import amounts, node_devices, tenants
from gpu_fabric.spec.software import DEFAULT_QUEUE, VolcanoSpec

JOB_ACCOUNT = "mpi-worker-view"
"""The account by which a job of the OKE guide sees whether its workers are ready."""

_SECONDS = 300
_DEFAULT_OPEN = PlannedState(
    api_version=Queue.api_version,
    kind=Queue.kind,
    plural=Queue.plural,
    name=DEFAULT_QUEUE,
    creator="Volcano's scheduler",
    field="status.state",
    value="Open",
    timeout=_SECONDS,
)

CHART = OwnChart("volcano")


def _steps(context: Context) -> Iterator[Step]:
    yield CHART.step(CHART.release(context.case), note=BESIDE)
    yield from _steps_of_present(context)


def _steps_of_present(context: Context) -> Iterator[Step]:
    case, kind = context.case, CHART.kind
    wanted = case.spec.software.schedulers.volcano
    assert wanted is not None, "the stack has its section"
    yield Step(name="volcano-open", component=CHART.name, kind=kind, items=(_DEFAULT_OPEN,), after=(CHART.name,))
    objects = (*volcano_objects(case, wanted), *tenant_queues(case, context.rails))
    words = (Words(title="job scheduling", what=kinds(objects), waits=f"Queue {wanted.queue} open"),)
    after = ("namespaces", CHART.name, "volcano-open")
    yield Step(name="volcano-objects", component=CHART.name, kind=kind, items=objects, after=after, words=words)


OPERATOR = Operator(_steps, CHART, steps_of_present=_steps_of_present)


def volcano_objects(case: Case, wanted: VolcanoSpec) -> tuple[PlannedObject, ...]:
    """The queue where it is not Volcano's own, and in every namespace of the fabric the account of the guide's jobs."""
    accounts = tuple(
        PlannedObject(object=entry) for namespace in case.spec.fabric.namespaces for entry in _account(namespace.name)
    )
    name = wanted.queue
    queue = Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=1))
    planned = PlannedObject(object=queue, wait_for="jsonpath={.status.state}=Open", timeout=_SECONDS)
    return (*(() if name == DEFAULT_QUEUE else (planned,)), *accounts)


def tenant_queues(case: Case, rails: tuple[Rail, ...]) -> tuple[PlannedObject, ...]:
    """A queue for every namespace with a share: what is kept for its jobs, and the most that they get."""
    devices = node_devices(case, rails)
    queues = (
        Queue(
            metadata=ObjectMeta(name=tenant.queue),
            spec=QueueSpec(
                weight=1,
                capability=amounts(devices, tenant.most),
                deserved=amounts(devices, tenant.nodes),
                guarantee=Guarantee(resource=amounts(devices, tenant.nodes)),
            ),
        )
        for tenant in tenants(case)
    )
    return tuple(
        PlannedObject(object=queue, wait_for="jsonpath={.status.state}=Open", timeout=_SECONDS) for queue in queues
    )


def _account(namespace: str) -> tuple[ServiceAccount, RoleBinding]:
    """An account that may look at everything in its namespace but secrets, and change nothing."""
    metadata = ObjectMeta(name=JOB_ACCOUNT, namespace=namespace)
    binding = RoleBinding(
        metadata=metadata,
        role_ref=RoleReference(name="view"),
        subjects=(Subject(name=JOB_ACCOUNT, namespace=namespace),),
    )
    return ServiceAccount(metadata=metadata), binding
