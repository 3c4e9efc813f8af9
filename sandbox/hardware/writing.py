"""How the controller writes: every object by its kind's path, and a failed write is logged and tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpu_fabric.base.api_objects import api_path
from gpu_fabric.k8s.base import guessed_plural
from gpu_fabric.k8s.cni import NetworkAttachmentDefinition
from ..kubernetes_api import MERGE_PATCH, Api, ApiError, Object
from .device_plugins import labels_of
from .operands import PLAYED_LABEL
from .policy_status import is_current
from .watching import Watched, key_of

log = logging.getLogger(__name__)


class Complaints:
    """Logs once why an object does not work, and again when the reason changes."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def note(self, about: str, problem: str) -> None:
        """Log an object's problem if it is new; an empty text means that the object works."""
        if problem and problem != self._known.get(about):
            log.error("%s: %s", about, problem)
        self._known[about] = problem


class Writer:
    """Writes objects and keeps what the API server answers in the collection that they belong to.

    `failed` is called when a write did not work, so that it is tried again.
    """

    def __init__(self, kubeconfig: Path, failed: Callable[[], None]) -> None:
        self._api = Api(kubeconfig)
        self._failed = failed

    def ensure(self, collection: Watched, wanted: Object, present: Object | None) -> bool:
        """Make an object what is wanted, unless it is; gives whether it was written."""
        if present is not None and is_current(present, wanted):
            return False
        self.write(collection, wanted, present)
        return True

    def write(self, collection: Watched, wanted: Object, present: Object | None) -> bool:
        """Make an object what is wanted, whatever it is; gives whether that worked."""
        path = path_of(wanted)
        try:
            if present is None:
                collection.keep(self._created(path, wanted))
            else:
                collection.keep(self._replaced(path, wanted, present))
            log.info("%s %s is as its operator wants it", wanted["kind"], key_of(wanted))
        except ApiError as error:
            self._again(path, error)
            return False
        return True

    def apply(self, wanted: Object) -> bool:
        """What `kubectl apply` does to an object that something else may have created; gives whether that worked.

        It merges custom definitions as JSON, so that lists, with a definition's versions in one, are replaced whole.
        """
        path = path_of(wanted)
        try:
            self._api.patch(path, wanted)
        except ApiError as error:
            if error.status != 404:
                self._again(path, error)
                return False
            self._created(path, wanted)
        log.info("%s %s is applied by the job of a chart", wanted["kind"], key_of(wanted))
        return True

    def keep(
        self,
        wanted: Mapping[str, Object],
        operator: str,
        collections: Mapping[str, Watched],
        goes: Callable[[Object], bool] = lambda item: True,
    ) -> list[Object]:
        """Write an operator's wanted objects (by `identity`), and return those that were written.

        Its other objects are deleted where `goes` returns true.
        """
        present = {
            identity(item): item for collection in collections.values() for item in collection.objects().values()
        }
        written = [
            item for name, item in wanted.items() if self.ensure(collections[item["kind"]], item, present.get(name))
        ]
        for name, item in present.items():
            if name not in wanted and labels_of(item).get(PLAYED_LABEL) == operator and goes(item):
                self.delete(item)
        return written

    def delete(self, item: Mapping[str, Any]) -> None:
        """Delete an object and what belongs to it."""
        path = path_of(item)
        try:
            self._api.delete(f"{path}?propagationPolicy=Background")
            log.info("%s %s is deleted", item["kind"], key_of(item))
        except ApiError as error:
            if error.status != 404:
                self._again(path, error)

    def patch(
        self,
        collection: Watched,
        item: Mapping[str, Any],
        body: Object,
        kind: str = MERGE_PATCH,
        *,
        status: bool = False,
    ) -> bool:
        """Patch an object or its status; gives whether that worked. An object that is gone needs no patch."""
        path = path_of(item) + ("/status" if status else "")
        try:
            collection.keep(self._api.patch(path, body, kind))
        except ApiError as error:
            if error.status != 404:
                self._again(path, error)
            return False
        return True

    def again(self) -> None:
        """Have everything looked at again soon."""
        self._failed()

    def _created(self, path: str, wanted: Object) -> Object:
        try:
            return self._api.post(path.rpartition("/")[0], wanted)
        except ApiError as error:
            if error.status != 409:
                raise
            return self._replaced(path, wanted, self._api.get(path))

    def _replaced(self, path: str, wanted: Object, present: Object) -> Object:
        version = {"resourceVersion": present["metadata"]["resourceVersion"]}
        return self._api.request("PUT", path, {**wanted, "metadata": {**wanted["metadata"], **version}})

    def _again(self, path: str, error: ApiError) -> None:
        log.warning("%s: %s; again soon", path, error)
        self.again()


def identity(item: Mapping[str, Any]) -> str:
    """An object's kind, namespace and name."""
    return f"{item['kind']} {key_of(item)}"


def path_of(item: Mapping[str, Any]) -> str:
    """The path of an object that has its kind."""
    metadata = item["metadata"]
    networks = item["kind"] == NetworkAttachmentDefinition.kind
    plural = NetworkAttachmentDefinition.plural if networks else guessed_plural(item["kind"].lower())
    return api_path(item["apiVersion"], plural, metadata.get("namespace"), metadata["name"])
