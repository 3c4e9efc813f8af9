"""A registration of a few facts, and changes of recorded ones."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from recording import Registration


def made(kind: str, inputs: dict[str, Any] | None = None, *, name: str = "it", **options: Any) -> Registration:
    """A registration of a type with inputs; `options` are further fields of it."""
    plain: dict[str, Any] = {
        "type": kind,
        "name": name,
        "custom": True,
        "inputs": inputs or {},
        "dependencies": frozenset(),
        "comes_after": frozenset(),
        "parent": "",
        "provider": f"cluster-{kind.partition(':')[0]}",
        "protect": False,
        "delete_before_replace": False,
        "replace_on_changes": frozenset(),
        "retain_on_delete": False,
        "secrets": frozenset(),
        "import_id": "",
        "ignore_changes": frozenset(),
        "timeouts": {},
        "deleted_with": "",
        "error_hooks": (),
    }
    return Registration(**{**plain, **options})


Change = Callable[[list[Registration]], list[Registration]]


def with_input(where: str, path: str, value: Any) -> Change:
    """One input of the first resource whose type or name ends so, by its keys with bars."""

    def is_at(resource: Registration) -> bool:
        return resource.custom and (resource.type.endswith(f":{where}") or resource.name.endswith(where))

    def changed(resources: list[Registration]) -> list[Registration]:
        found = next(index for index, resource in enumerate(resources) if is_at(resource))
        inputs = copy.deepcopy(resources[found].inputs)
        *outer, last = path.split("|")
        inner: Any = inputs
        for key in outer:
            inner = inner[key]
        inner[last] = value
        return [*resources[:found], replace(resources[found], inputs=inputs), *resources[found + 1 :]]

    return changed
