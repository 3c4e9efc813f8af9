"""The development stack, with single values changed, and the plans of the stacks for tests."""

from collections.abc import Callable

import pytest
from changes import Changes, changed
from committed_stacks import folder_of, stack_names
from stack_plans import stack_plan

from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import plan_spec
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.load import validate
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.spec.stack_text import StackDocument


@pytest.fixture(scope="session")
def document_with(dev_document: StackDocument) -> Callable[[Changes], StackDocument]:
    """The development stack's document with some values changed."""
    return lambda changes: changed(dev_document, changes)


@pytest.fixture(scope="session")
def spec_with(document_with: Callable[[Changes], StackDocument]) -> Callable[[Changes], StackSpec]:
    """The development stack's spec with some values changed; the result must be valid."""

    def make(changes: Changes) -> StackSpec:
        document = document_with(changes)
        spec, problems = validate(document)
        if spec is None or problems:
            raise ConfigurationError(problems, document.file)
        return spec

    return make


@pytest.fixture(scope="session")
def plan_with(spec_with: Callable[[Changes], StackSpec]) -> Callable[[Changes], Plan]:
    """The development stack's plan with some values changed."""
    return lambda changes: plan_spec(spec_with(changes))


@pytest.fixture(scope="session")
def dev_plan(plan_with: Callable[[Changes], Plan]) -> Plan:
    """The development stack's plan."""
    return plan_with({})


@pytest.fixture(scope="session")
def stack_plans() -> tuple[Plan, ...]:
    """The plan of every stack for tests but the large one: each provider, manager and model."""
    return tuple(stack_plan(name, folder_of(name)) for name in stack_names() if not name.startswith("large"))


@pytest.fixture(scope="session")
def rendered_plans(stack_plans: tuple[Plan, ...]) -> tuple[RenderedPlan, ...]:
    """The rendered plans of the same stacks."""
    return tuple(rendered(plan) for plan in stack_plans)


@pytest.fixture(scope="session")
def flat_plan(plan_with: Callable[[Changes], Plan]) -> Plan:
    """The development stack with one pool, resource and network for all rails."""
    return plan_with({"fabric.addressing.layout": "flat"})
