"""From a plan to the rendered plan: resource by resource, with words in the place of what is not known yet."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import Any

from fabric.plain_console import plain_console
from fabric.plan import Plan, SecretValue
from fabric.plan.addresses import AddressPool
from fabric.plan.clouds.oke import Ref, Text
from fabric.progress import UNHEARD, Progress
from fabric.render.model import RenderedPlan, RenderedRail, RenderedResource, RenderedShare, RenderedWait
from fabric.render.places import file_of, identity_of, nccl_path
from fabric.report import plan_report
from fabric.resources import Leaf, Loss, losses, resources, waits, with_leaves
from fabric.resources.objects import KUBERNETES
from fabric.resources.order import CLUSTER, DESCRIBING
from fabric.resources.wire import wire_name
from fabric.spec.places import NAMESPACE

# Fields of the plan with a place of their own in the folder; the rest of what it decides are its decisions.
_ELSEWHERE = {
    "schema_version",
    "stack",
    "release_line",
    "addresses",
    "nccl",
    "workload",
    "findings",
    "acknowledgements",
}
# A cloud's records are resources, and shown as such.
_CLOUD_RECORDS = {"doks": {"vpc", "cluster", "pools", "project"}}
# Said of the machine that plans, so not of the plan: whether the kubeconfig is there already.
_OF_THIS_MACHINE = frozenset({"CLU003"})
_WIDTH = 160


def rendered(plan: Plan, progress: Progress = UNHEARD) -> RenderedPlan:
    """The rendered plan; the same plan gives the same, on any machine."""
    plan = plan.model_copy(update={"findings": tuple(f for f in plan.findings if f.id not in _OF_THIS_MACHINE)})
    return RenderedPlan(
        stack=plan.stack,
        release_line=plan.release_line,
        resources=tuple(rendered_resources(plan, progress)),
        waits=tuple(
            RenderedWait(component=wait.component, field=wait.field, record=_document(wait.record))
            for wait in waits(plan)
        ),
        findings=plan.findings,
        acknowledgements=plan.acknowledgements,
        decisions=_decisions(plan),
        proof={}
        if plan.part == "cluster"
        else plan.addresses.model_dump(mode="json", by_alias=True, exclude={"pools": {"__all__": {"shares"}}}),
        rails=tuple(_rails(plan, progress)),
        nccl_files={nccl_path(file): file.content for file in plan.nccl.files},
        contract={}
        if plan.part == "cluster"
        else plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True),
        report=_report(plan),
    )


def rendered_resources(plan: Plan, progress: Progress = UNHEARD) -> Iterator[RenderedResource]:
    """Every resource of a plan, in the order in which they can be made."""
    planned = resources(plan)
    lost = losses(plan, planned)
    names = frozenset(resource.name for resource in planned)
    taken: set[str] = set()
    for resource in progress.each("rendering", planned, "resources"):
        file = file_of(resource, taken)
        taken.add(file)
        yield RenderedResource(
            name=resource.name,
            component=resource.component,
            type=resource.type,
            identity=identity_of(resource),
            provider=resource.provider,
            file=file,
            handling=resource.handling,
            loss=lost.get(resource.name, Loss()),
            properties=with_leaves(resource.properties, lambda leaf: placeholder(leaf, names)),
        )


def placeholder(leaf: Leaf, names: frozenset[str]) -> str:
    """What a rendered plan shows in the place of a value; `names` are those of all resources."""
    match leaf:
        case Ref():
            made = f"{CLUSTER}-{leaf.ref}"
            # The provider of all objects is nothing that the plan makes, but something that has outputs.
            is_made = made in names or made == f"{CLUSTER}-{KUBERNETES}"
            return f"<output {made}.{wire_name(leaf.output)}>" if is_made else f"<lookup {leaf.ref}.{leaf.output}>"
        case Text():
            return leaf.text.format(**{name: placeholder(ref, names) for name, ref in leaf.refs.items()})
        case SecretValue():
            return f"<secret {NAMESPACE}:{leaf.key}, entry {leaf.entry}, in Base64>"
        case _:
            return f"<secret {leaf.name}>"


def _decisions(plan: Plan) -> dict[str, Any]:
    """What the plan decides that is neither a resource nor elsewhere in the folder."""
    left_out = (_ELSEWHERE if plan.split is not None else _ELSEWHERE | {"split"}) | plan.not_its_own
    document: dict[str, Any] = plan.model_dump(
        mode="json",
        by_alias=True,
        include=dict.fromkeys(DESCRIBING - left_out, True),
        exclude={"cluster": _CLOUD_RECORDS},
    )
    return {**document, "cluster": _without_records(document["cluster"])}


def _without_records(value: Any) -> Any:
    """A document without Oracle's records, which are resources."""
    if isinstance(value, dict):
        return {key: _without_records(entry) for key, entry in value.items() if not _is_record(entry)}
    if isinstance(value, list):
        return [_without_records(entry) for entry in value if not _is_record(entry)]
    return value


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and {"logicalName", "kind"} <= value.keys()


def _rails(plan: Plan, progress: Progress) -> Iterator[RenderedRail]:
    addresses = plan.addresses
    for rail in progress.each("listing the addresses of", plan.rails, "rails"):
        if (pool := addresses.pool_of(rail.index)) is None:
            continue
        shares = (rendered_share(pool, number, name) for number, name in addresses.numbered_nodes)
        yield RenderedRail(rail=rail.index, pool=pool.name, shares=tuple(shares))


def rendered_share(pool: AddressPool, number: int, node: str) -> RenderedShare:
    """A node's share of a pool."""
    return RenderedShare(
        number=number,
        node=node,
        share=pool.share_text(number),
        gateway=_text(pool.gateway_of(number)),
        host=_text(pool.host_address(number)),
    )


def _report(plan: Plan) -> str:
    """The report as a file has it, whatever the terminal and its settings."""
    text = StringIO()
    target = plain_console(file=text, width=_WIDTH, color_system=None, force_terminal=False, _environ={})
    target.print(plan_report(plan))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def _document(record: Any) -> dict[str, Any]:
    document: dict[str, Any] = record.model_dump(mode="json", by_alias=True)
    return document


def _text(value: object | None) -> str:
    return "" if value is None else str(value)
