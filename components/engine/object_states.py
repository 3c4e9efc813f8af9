"""Waiting for the state of an object that software of the stack creates, and that is not a resource of the stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from gpu_fabric.base.api_objects import field
from gpu_fabric.plan.records import PlannedState

from .cluster_api import api_path, find
from .waiting import NodeStatus, api_of, wait_for_nodes
from .waves.software import outdated_in

Look = Callable[[], Mapping[str, Any] | None]


async def wait_until_in_state(planned: PlannedState, look: Look, say: Callable[[str], None]) -> None:
    """Poll until the object exists and its field has the value.

    Raises:
        NodesError: naming the object, and the value that the field has instead.
    """
    aim = f"have {planned.field} {planned.value}"
    await wait_for_nodes(lambda: _status(planned, look()), aim, planned.timeout, say, planned.plural)


def looking(planned: PlannedState, kubeconfig: str, context: str | None) -> Look:
    """A function that reads the object from the cluster of a kubeconfig."""
    api = api_of(kubeconfig, context)
    path = api_path(planned.api_version, planned.plural, name=planned.name)

    def look() -> Mapping[str, Any] | None:
        found = find(api, path)
        is_due = planned.or_due_in is not None and found is not None and outdated_in(planned.or_due_in, api)
        return _with_value(planned) if is_due else found

    return look


def _with_value(planned: PlannedState) -> Mapping[str, Any]:
    """An object whose field has the value."""
    found: Any = planned.value
    for key in reversed(planned.field.split(".")):
        found = {key: found}
    return cast("Mapping[str, Any]", found)


def _status(planned: PlannedState, found: Mapping[str, Any] | None) -> NodeStatus:
    if found is None:
        return NodeStatus(1, {}, missing=f"there is no {planned.kind} {planned.name} yet: {planned.creator} creates it")
    value = field(found, *planned.field.split("."))
    return NodeStatus(1, {} if value == planned.value else {planned.name: f"{planned.field} is {value or 'not set'}"})
