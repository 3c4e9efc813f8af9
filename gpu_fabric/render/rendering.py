"""Convert a plan to the rendered plan, with placeholders for values that are not known yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.allocation import allocation
from gpu_fabric.plan.steps import NODES
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.render.model import (
    RenderedFabric,
    RenderedPlan,
    RenderedRail,
    RenderedShare,
    RenderedStep,
    RenderedWait,
)
from gpu_fabric.render.places import nccl_path
from gpu_fabric.render.resources import address_document, rendered_resources
from gpu_fabric.report.console import report_text
from gpu_fabric.report.figures import plan_figures
from gpu_fabric.report.text import plan_report
from gpu_fabric.resources.order import waits

# Fields of the plan that have their own files in the folder; the other fields are in the decisions.
_ELSEWHERE = {
    "schema_version",
    "stack",
    "release_line",
    "addresses",
    "nccl",
    "workload",
    "findings",
    "acknowledgements",
    "steps",
    "fabrics",
}
# A cloud's records are rendered as resources.
_CLOUD_RECORDS = {"doks": {"vpc", "cluster", "pools", "project", "listing", "version_prefix"}}
# Findings about the machine that plans, not about the plan: whether the kubeconfig exists, and its contexts.
_OF_THIS_MACHINE = frozenset({"CLU003", "CLU011"})
_WIDTH = 160


def rendered(plan: Plan, progress: Progress = NO_PROGRESS) -> RenderedPlan:
    """The rendered plan; it depends on the plan only, not on the machine."""
    found = tuple(rendered_resources(plan, progress))
    plan = plan.model_copy(update={"findings": tuple(f for f in plan.findings if f.id not in _OF_THIS_MACHINE)})
    return RenderedPlan(
        stack=plan.stack,
        release_line=plan.release_line,
        resources=found,
        waits=tuple(
            RenderedWait(
                component=wait.step.component,
                field=wait.step.name,
                record=wait.record.model_dump(mode="json", by_alias=True),
            )
            for wait in waits(plan)
        ),
        steps=tuple(_steps(plan)),
        findings=plan.findings,
        acknowledgements=plan.acknowledgements,
        figures=plan_figures(plan, found),
        decisions=_decisions(plan),
        proof={} if plan.part == "cluster" else address_document(plan.addresses),
        rails=tuple(_rails(plan, progress)),
        nccl_files={nccl_path(file): file.content for one in plan.by_fabric.values() for file in one.nccl.files},
        contract={}
        if plan.part == "cluster"
        else plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True),
        report=report_text(plan_report(plan), _WIDTH),
        fabrics=tuple(rendered_fabrics(plan, progress)),
    )


_FACTS = {"choices", "bandwidth", "rails", "sriov_plugin", "shared_plugin", "node_groups"}


def rendered_fabrics(plan: Plan, progress: Progress = NO_PROGRESS) -> Iterator[RenderedFabric]:
    """The further fabrics of a plan."""
    by_fabric = plan.by_fabric
    for fabric in plan.fabrics:
        one = by_fabric[fabric.name]
        yield RenderedFabric(
            name=fabric.name,
            pools=fabric.pools,
            proof=address_document(one.addresses),
            rails=tuple(_rails(one, progress)),
            contract=one.workload.model_dump(mode="json", by_alias=True, exclude_none=True),
            allocation=_allocation(one),
            facts=fabric.model_dump(mode="json", by_alias=True, include=_FACTS),
        )


def _allocation(plan: Plan) -> dict[str, Any] | None:
    if not plan.addresses.pools:
        return None
    return allocation(plan).model_dump(mode="json", by_alias=True, exclude_none=True)


def _steps(plan: Plan) -> Iterator[RenderedStep]:
    """The steps with their edges; what a plan does not have is nothing to wait for."""
    there = {NODES, *(step.name for step in plan.steps)}
    for step in plan.steps:
        after = tuple(name for name in step.after if name in there)
        yield RenderedStep(name=step.name, component=step.component, after=after, words=step.words)


def _decisions(plan: Plan) -> dict[str, Any]:
    """The decisions of the plan that are neither resources nor in other files of the folder."""
    left_out = (_ELSEWHERE if plan.split is not None else _ELSEWHERE | {"split"}) | plan.not_its_own
    document: dict[str, Any] = plan.model_dump(
        mode="json",
        by_alias=True,
        exclude={"cluster": _CLOUD_RECORDS, **dict.fromkeys(left_out, True)},
    )
    document["cluster"] = _drop_records(document["cluster"])
    if (found := _allocation(next(iter(plan.by_fabric.values())))) is not None:
        document["allocation"] = found
    return document


def _drop_records(value: Any) -> Any:
    """A document without Oracle's records, which are resources."""
    if isinstance(value, dict):
        return {key: _drop_records(entry) for key, entry in value.items() if not _is_record(entry)}
    if isinstance(value, list):
        return [_drop_records(entry) for entry in value if not _is_record(entry)]
    return value


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and {"logicalName", "kind"} <= value.keys()


def _rails(plan: Plan, progress: Progress) -> Iterator[RenderedRail]:
    addresses = plan.addresses
    for rail in progress.each("listing the addresses of", plan.rails, "rails"):
        if (pool := addresses.pool_of(rail.index)) is None:
            continue
        shares = (_share(addresses, pool, node) for node in range(len(addresses.numbers)))
        yield RenderedRail(rail=rail.index, pool=pool.name, shares=tuple(shares))


def _share(addresses: AddressPlan, pool: AddressPool, node: int) -> RenderedShare:
    number, name = addresses.numbered_nodes[node]
    return RenderedShare(
        number=number,
        node=name,
        share=pool.share_text(number),
        gateway=_text(pool.gateway_of(number)),
        host=_text(pool.host_address(addresses.host_numbers[node])),
    )


def _text(value: object | None) -> str:
    return "" if value is None else str(value)
