"""The MPI operator, whose project publishes no chart: its definition, its permissions and its Deployment.

Source: the project's deployment in one file (deploy/v2beta1).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpu_fabric.k8s.apps import (
    NOBODY,
    Deployment,
    DeploymentSpec,
    PodTemplate,
    PodTemplateMetadata,
    confined,
    pod_spec,
)
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.mpi_operator import mpi_job_definition
from gpu_fabric.k8s.scheduling import LabelSelector
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.operator import BESIDE, Operator, rights_of, service_account
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.plan.steps import Context, Step, Words
from gpu_fabric.spec.software import MpiOperatorSpec

MPI_OPERATOR_NAMESPACE = "mpi-operator"
_NAME = "mpi-operator"
_LABELS = {"app": _NAME, "app.kubernetes.io/name": _NAME, "app.kubernetes.io/component": "mpijob"}


def _namespace(case: Case) -> str | None:
    return None if _wanted(case) is None else MPI_OPERATOR_NAMESPACE


def _wanted(case: Case) -> MpiOperatorSpec | None:
    section = case.spec.software.schedulers.mpi_operator
    return section if section is not None and section.install else None


def _steps(context: Context) -> Iterator[Step]:
    what = f"Deployment {_NAME} in {MPI_OPERATOR_NAMESPACE}, and the kind MPIJob{BESIDE}"
    yield Step(
        name=_NAME,
        component=_NAME,
        kind="operators:MpiOperator",
        items=mpi_operator(context.case),
        after=("namespaces",),
        in_order=True,
        words=(Words(title="MPI operator", what=what, waits="the kind, and its pod"),),
    )


OPERATOR = Operator(_steps, namespace=_namespace)


def mpi_operator(case: Case) -> tuple[PlannedObject, ...]:
    """Definition, identity, permissions and Deployment, in the order in which they are needed."""
    wanted = _wanted(case)
    if wanted is None:
        return ()
    return (
        PlannedObject(object=mpi_job_definition(), wait_for="condition=Established"),
        *service_account(_NAME, MPI_OPERATOR_NAMESPACE, _LABELS, rights_of(_NAME)),
        PlannedObject(object=_deployment(case, wanted), timeout=600),
    )


def _deployment(case: Case, wanted: MpiOperatorSpec) -> Deployment:
    values = {"image": case.standalone_image("mpiOperator", wanted.image), "confined": confined(user=NOBODY)}
    pod = pod_spec(Path(__file__).with_suffix(".yaml"), {**values, "pullSecrets": case.pull_secrets})
    return Deployment(
        metadata=ObjectMeta(name=_NAME, namespace=MPI_OPERATOR_NAMESPACE, labels=_LABELS),
        spec=DeploymentSpec(
            replicas=1,
            selector=LabelSelector(match_labels=_LABELS),
            template=PodTemplate(metadata=PodTemplateMetadata(labels=_LABELS), spec=pod),
        ),
    )
