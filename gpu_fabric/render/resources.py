"""The resources and addresses of a plan as values, with placeholders for what is not known yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.clouds.record import Ref, Text
from gpu_fabric.plan.records import SecretValue
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.render.model import RenderedResource
from gpu_fabric.render.places import file_of, identity_of
from gpu_fabric.resources.cloud import wire_name
from gpu_fabric.resources.losses import Loss, losses
from gpu_fabric.resources.objects import KUBERNETES
from gpu_fabric.resources.order import CLUSTER, resources
from gpu_fabric.resources.resource import Leaf, replace_leaves
from gpu_fabric.spec.places import NAMESPACE


def rendered_resources(plan: Plan, progress: Progress = NO_PROGRESS) -> Iterator[RenderedResource]:
    """Every resource of a plan, in an order in which they can be created."""
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
            properties=replace_leaves(resource.properties, lambda leaf: placeholder(leaf, names)),
        )


def placeholder(leaf: Leaf, names: frozenset[str]) -> str:
    """The placeholder for a value; `names` are those of all resources."""
    match leaf:
        case Ref():
            name = f"{CLUSTER}-{leaf.ref}"
            # The provider of all objects is not a resource of the plan, but has outputs.
            is_planned = name in names or name == f"{CLUSTER}-{KUBERNETES}"
            return f"<output {name}.{wire_name(leaf.output)}>" if is_planned else f"<lookup {leaf.ref}.{leaf.output}>"
        case Text():
            return leaf.text.format(**{name: placeholder(ref, names) for name, ref in leaf.refs.items()})
        case SecretValue():
            entry = "" if leaf.entry is None else f", entry {leaf.entry}"
            return f"<secret {NAMESPACE}:{leaf.key}{entry}, in Base64>"
        case _:
            return f"<secret {leaf.name}>"


def address_document(addresses: AddressPlan) -> dict[str, Any]:
    """The address plan without the nodes' shares."""
    return addresses.model_dump(mode="json", by_alias=True, exclude={"pools": {"__all__": {"shares"}}})
