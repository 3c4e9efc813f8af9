"""The sections that a stack adds to an object of the cluster, as files that a person applies; no tool prunes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedAdoption
from gpu_fabric.render.layout import json_text
from gpu_fabric.resources.order import MADE_OF

# Not YAML: Flux applies, and later deletes, every YAML file below its path where no kustomization lists files.
_FOLDER, _EXTENSION = "adopt", "json"


class Fragment(NamedTuple):
    """The file of an adoption, and the commands that put its sections into the object, and take them out again.

    The field manager is the stack's own. With kubectl's, what was applied to the object by hand would be taken out.
    """

    kind: str
    name: str
    path: str
    text: str
    command: str
    undone: str


def fragments(plan: Plan) -> Iterator[Fragment]:
    """One for each object that the plan adopts, as `up` applies it."""
    for item in plan.records(PlannedAdoption):
        (resource,) = MADE_OF[PlannedAdoption]("", item, plan)
        manifest, manager = resource.properties["manifest"], resource.properties["manager"]
        apply = f"kubectl apply --server-side --field-manager={manager} -f"
        # A server-side apply creates an object that does not exist, which would then be this stack's.
        exists = f"kubectl get {item.plural}.{item.api_version.partition('/')[0]} {item.name}"
        path = f"{_FOLDER}/{item.kind.lower()}-{item.name}.{_EXTENSION}"
        empty = f'{{"apiVersion": "{item.api_version}", "kind": "{item.kind}", "metadata": {{"name": "{item.name}"}}}}'
        undone = f"echo '{empty}' | {apply} -"
        yield Fragment(item.kind, item.name, path, json_text(manifest), f"{exists} && {apply} {path}", undone)
