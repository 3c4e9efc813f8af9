"""Many Kubernetes objects as one resource of the stack.

A dynamic resource: the provider below runs in Pulumi's plug-in for Python programs. The state records the name of its
class and not its code, so that a change of the code is not a change of the resource. The class must therefore keep its
name and module while a stack has such a resource.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import ConfigureRequest, CreateResult, ReadResult, UpdateResult

from gpu_fabric.base.enumeration import first
from gpu_fabric.resources.dynamic import group_resource

from .engine.cluster_api import PATIENCE, ClusterApi, RequestError, counts_as_deleted
from .engine.object_writing import CONNECTIONS, Keeper, Objects, restore_integers
from .engine.registration import DynamicProvider, DynamicResource


class KeptObjectsError(pulumi.RunError):
    """Objects could not be written or deleted; Pulumi prints the message without a traceback."""


class HideTraceback(logging.Filter):
    """Drops the plug-in's traceback of an error whose message Pulumi shows."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], KeptObjectsError))


class KeptObjectsProvider(DynamicProvider):
    """Writes the objects of a KeptObjects resource, and deletes them.

    Creation and update never fail, so that the state always records the objects on the cluster: the output `objects`
    has the written ones, `failures` the reasons for the others, and the program ends the run (`when_written`).
    """

    identity = ("cluster", "cut")
    deletes_first = True

    def configure(self, req: ConfigureRequest) -> None:
        self._apis: dict[str, ClusterApi] = {}
        logging.getLogger("grpc._server").addFilter(HideTraceback())

    def is_due(self, old: dict[str, Any], new: dict[str, Any]) -> bool:
        """What failed is written again."""
        return bool(old.get("failures"))

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(props["keptBy"], self._written(props["keptBy"], restore_integers(props), {}))

    def update(self, id_: str, old: dict[str, Any], new: dict[str, Any]) -> UpdateResult:
        before, wanted = restore_integers(old), restore_integers(new)
        if before["objects"] == wanted["objects"] and not before.get("failures"):
            # Only the credentials have changed.
            return UpdateResult({**wanted, "failures": []})
        return UpdateResult(self._written(id_, wanted, before["objects"]))

    def delete(self, id_: str, props: dict[str, Any]) -> None:
        """Returns when the last object is deleted.

        Raises:
            KeptObjectsError: naming the remaining objects, or the cluster's reason.
        """
        kept = restore_integers(props)
        try:
            failures = self._keeper(id_, kept).delete_all(kept["objects"])
        except RequestError as error:
            failures = [] if counts_as_deleted(error) else [f"the cluster: {error}"]
        if failures:
            raise KeptObjectsError("\n  ".join(["these objects could not be deleted:", *shortened(failures)]))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """The objects on the cluster, limited to the written fields; the next run corrects the differences.

        Raises:
            KeptObjectsError: the cluster cannot be read.
        """
        kept = restore_integers(props)
        try:
            there = self._keeper(id_, kept).look(kept["objects"])
        except RequestError as error:
            if counts_as_deleted(error):
                # Pulumi drops a resource without an id from the state.
                return ReadResult("", {})
            raise KeptObjectsError(f"the cluster: {error}") from None
        outs = {**kept, "objects": there}
        inputs = {name: value for name, value in outs.items() if name != "failures"}
        return ReadResult(id_, outs, None if there == kept["objects"] else inputs)

    def _written(self, id_: str, wanted: dict[str, Any], before: Objects) -> dict[str, Any]:
        """The outputs after all requests."""
        try:
            there, failures = self._keeper(id_, wanted).write(wanted["objects"], before)
        except RequestError as error:
            there, failures = before, [f"the cluster: {error}"]
        return {**wanted, "objects": there, "failures": shortened(failures)}

    def _keeper(self, id_: str, props: Mapping[str, Any]) -> Keeper:
        """The keeper of a resource's objects, whose label is the resource's id even after the stack was renamed.

        The rails of a stack share the connections to a cluster.
        """
        key = hashlib.sha256(f"{props.get('context')}\n{props['kubeconfig']}".encode()).hexdigest()
        if key not in self._apis:
            self._apis[key] = ClusterApi(props["kubeconfig"], props.get("context"), CONNECTIONS, PATIENCE)
        return Keeper(self._apis[key], id_, props["cut"], props["plurals"], props["timeout"])


class KeptObjects(
    DynamicResource,
    name="KeptObjects",
    provider=KeptObjectsProvider,
    planned=group_resource,
    of_stack=True,
    outputs=("failures",),
):
    """A planned group of objects on a cluster, by kind and name.

    Must exist before: the definitions of their kinds, and working webhooks. An update writes or deletes only the
    objects that differ. The deletion returns when all are deleted. `failures` has a line for each failed object.
    """

    failures: pulumi.Output[list[str]]


def when_written(kept: KeptObjects) -> pulumi.Input[pulumi.Resource]:
    """The resource, known when all of its objects are written; the run ends with an error if some could not be."""
    if pulumi.runtime.is_dry_run():
        return kept

    def complete(failures: list[str] | None) -> pulumi.Resource:
        if failures:
            raise KeptObjectsError("\n  ".join(["these objects are not as planned:", *failures]))
        return kept

    return kept.failures.apply(complete)


def shortened(failures: list[str], most: int = 10) -> list[str]:
    """At most so many failures, and the number of the others."""
    shown, more = first(failures, most)
    return [*shown, f"and {more} more"] if more else failures
