"""The form of an operator: its steps, and when and with which values its chart is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from gpu_fabric.catalog import ChartName, OperatorFacts, catalog
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ServiceAccount
from gpu_fabric.k8s.rbac import ClusterRole, ClusterRoleBinding, PolicyRule, RoleReference, Subject
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.releases import merged, release
from gpu_fabric.plan.records import HelmRelease, PlannedObject
from gpu_fabric.plan.steps import NODES, Context, Step, Words
from gpu_fabric.spec.stack import StackSpec

LABELLED = ("namespaces", NODES, "gpu-operator", "gpu-operator-ready", "gpu-capacity")
"""What comes before anything that selects nodes by labels of the GPU Operator's Node Feature Discovery."""

ON_NODES = ("host-preparation", "virtual-functions")
"""What the stack sets up on nodes itself, before device plug-ins look at them."""


def manager_steps(case: Case) -> tuple[str, ...]:
    """What comes before pools and networks: what installs their kinds, and the devices."""
    return (*manager_of(case).steps, *ON_NODES)


@dataclass(frozen=True)
class OwnChart:
    """The chart of an operator that a stack may install; `operator` is the operator's name in the catalog.

    `needed_by` decides whether a stack needs it; without, it is needed where the section is written. `values` are the
    plan's own.
    """

    operator: str
    values: Callable[[Case], dict[str, JsonValue]] = lambda _: {}
    needed_by: Callable[[Case], bool] | None = None

    @property
    def facts(self) -> OperatorFacts:
        """The operator's facts."""
        return catalog().operators[self.operator]

    @property
    def name(self) -> ChartName:
        """The name of the chart's release."""
        return self.facts.release or self.operator

    @property
    def section(self) -> str:
        """The operator's section of the stack file's `software`."""
        assert self.facts.section is not None, "a chart is installed by its section"
        return self.facts.section

    def section_of(self, spec: StackSpec) -> FrozenModel | None:
        """The section; None where the stack file has none."""
        return spec.software.section(self.section)

    def written(self, spec: StackSpec) -> dict[str, JsonValue]:
        """The values that the user wrote."""
        return dict(getattr(self.section_of(spec), "values", {}))

    def needed(self, case: Case) -> bool:
        """Whether the stack needs what the chart installs, also where another installs it."""
        return self.section_of(case.spec) is not None if self.needed_by is None else self.needed_by(case)

    def is_present(self, case: Case) -> bool:
        """Whether the stack needs it and uses the cluster's own (`install: false`)."""
        return self.needed(case) and getattr(self.section_of(case.spec), "install", None) is False

    def wanted(self, case: Case) -> bool:
        """Whether the stack needs the chart, whether or not its release line has it."""
        return self.needed(case) and not self.is_present(case)

    def is_installed(self, case: Case) -> bool:
        """Whether the stack installs it; one that its line lacks is refused, and the rest is checked nevertheless."""
        return self.wanted(case) and self.name in case.line.charts

    @property
    def kind(self) -> str:
        """The type of its component."""
        key = self.section.rpartition(".")[2]
        return f"operators:{key[0].upper()}{key[1:]}"

    def step(
        self,
        planned: HelmRelease,
        after: tuple[str, ...] = ("namespaces",),
        note: str = "",
        waits: str = "its pods",
    ) -> Step:
        """The step of the release, in a component of the same name; `note` ends its line in reports."""
        what = f"chart {planned.chart.name} {planned.chart.version} in {planned.namespace}{note}"
        words = (Words(title=self.facts.heading, what=what, waits=waits),)
        return Step(
            name=planned.name, component=planned.name, kind=self.kind, items=(planned,), after=after, words=words
        )

    def release(self, case: Case, *more: Mapping[str, JsonValue]) -> HelmRelease:
        """The release, with more values of the plan's."""
        return release(case, self.name, merged(self.values(case), *more), self.written(case.spec))


@dataclass(frozen=True)
class Operator:
    """An operator: its steps, its chart if any, and a namespace of its own in addition to the chart's if it needs one.

    `steps_of_present` are those of an operator that the cluster has.
    """

    steps_of: Callable[[Context], Iterator[Step]]
    chart: OwnChart | None = None
    namespace: Callable[[Case], str | None] = lambda _: None
    steps_of_present: Callable[[Context], Iterator[Step]] = lambda _: iter(())

    def steps(self, context: Context) -> Iterator[Step]:
        """The operator's steps; none if the stack does not need its chart."""
        if self.chart is None or self.chart.is_installed(context.case):
            return self.steps_of(context)
        return self.steps_of_present(context) if self.chart.is_present(context.case) else iter(())


def operand_images(case: Case, chart: OwnChart) -> dict[str, str]:
    """The images of an operator's operands, by the operand, as nodes pull them; with a digest, if that is known."""
    known = case.known.chart_versions[chart.name][case.line.charts[chart.name].version]
    return {operand: case.pulled(case.known.pinned(image)) for operand, image in known.operands.items()}


def rights_of(operator: str) -> tuple[PolicyRule, ...]:
    """The rules of an operator's account, from its file of the catalog."""
    return tuple(map(PolicyRule.model_validate, catalog().operators[operator].rights))


def service_account(
    name: str, namespace: str, labels: dict[str, str], rules: tuple[PolicyRule, ...]
) -> tuple[PlannedObject, ...]:
    """An operator's account, and its permissions in the whole cluster; a binding's role cannot change."""
    role = ClusterRole(metadata=ObjectMeta(name=name, labels=labels), rules=rules)
    subject = Subject(name=name, namespace=namespace)
    binding = ClusterRoleBinding(metadata=role.metadata, role_ref=RoleReference(name=name), subjects=(subject,))
    account = ServiceAccount(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels))
    planned = (PlannedObject(object=account), PlannedObject(object=role))
    return (*planned, PlannedObject(object=binding, replaced_on=("roleRef",)))


BESIDE = ", at the same time as all of the above"
"""Note on an operator that no part of the fabric needs."""


def chart_operator(chart: OwnChart, note: str = BESIDE, after: tuple[str, ...] = ("namespaces",)) -> Operator:
    """An operator that is its chart alone; by default it needs nothing but its namespace."""
    return Operator(lambda context: iter((chart.step(chart.release(context.case), after, note),)), chart)
