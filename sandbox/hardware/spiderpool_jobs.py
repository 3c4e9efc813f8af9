"""Spiderpool's two hook Jobs at work: what they make and remove gets written."""

from __future__ import annotations

import logging

from sandbox.hardware.device_plugins import annotations_of, labels_of, runs
from sandbox.hardware.operands import OPERAND_LABEL
from sandbox.hardware.spiderpool import (
    CLEAN_JOB,
    COMPLETES_ANNOTATION,
    CONTROLLER,
    GROUP,
    INIT_JOB,
    SRIOV_WEBHOOKS,
    cleaned_definitions,
    coordinator,
    is_available,
    is_controller,
)
from sandbox.hardware.views import Views
from sandbox.hardware.watching import key_of
from sandbox.hardware.writing import Complaints, Writer
from sandbox.kubernetes_api import Api, ApiError, Object

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{name}"

log = logging.getLogger(__name__)


class SpiderpoolJobs:
    """Does the work of the Jobs' pods; Spiderpool's controller itself really runs."""

    def __init__(self, views: Views, writer: Writer, api: Api) -> None:
        self._views = views
        self._writer = writer
        self._api = api
        self._complaints = Complaints()

    def reconcile(self) -> None:
        """Write what is missing."""
        controller = next(filter(is_controller, self._views.operators.objects().values()), None)
        for pod in self._views.operand_pods.objects().values():
            job = labels_of(pod)[OPERAND_LABEL]
            if job not in (INIT_JOB, CLEAN_JOB) or not runs(pod) or COMPLETES_ANNOTATION in annotations_of(pod):
                continue
            try:
                is_done = self._initialised(pod, controller) if job == INIT_JOB else self._cleaned(controller)
            except (ApiError, ValueError, KeyError) as problem:
                self._complaints.note(key_of(pod), f"{problem!r}; again soon")
                self._writer.again()
                continue
            if is_done:
                body = {"metadata": {"annotations": {COMPLETES_ANNOTATION: "0s"}}}
                self._writer.patch(self._views.operand_pods, pod, body)

    def _initialised(self, pod: Object, controller: Object | None) -> bool:
        if controller is None or not is_available(controller):
            return False
        wanted = coordinator(pod)
        if wanted is not None:
            try:
                self._api.post(f"/apis/{wanted['apiVersion']}/spidercoordinators", wanted)
                log.info("SpiderCoordinator %s is made", wanted["metadata"]["name"])
            except ApiError as error:
                if error.status != 409:
                    raise
        return True

    def _cleaned(self, controller: Object | None) -> bool:
        """Whether nothing is left; what is left is deleted, which takes the API server a moment."""
        name = controller["metadata"]["name"] if controller else CONTROLLER["app.kubernetes.io/component"]
        for webhook in (name, *SRIOV_WEBHOOKS):
            for kind in ("mutating", "validating"):
                self._attempt("DELETE", _WEBHOOKS.format(kind=kind, name=webhook))
        definitions = cleaned_definitions(self._views.definitions.objects())
        for definition in definitions:
            if definition.endswith(f".{GROUP}"):
                self._free(definition)
        for definition in definitions:
            self._attempt("DELETE", f"{_DEFINITIONS}/{definition}")
        if not definitions:
            log.info("Spiderpool's objects and definitions are gone")
        return not definitions

    def _free(self, definition: str) -> None:
        """Take the finalizers from all objects of a kind, which then go with it; the real Job leaves SpiderSubnets."""
        plural, _, group = definition.partition(".")
        root = f"/apis/{group}/v2beta1"
        for item in self._found(f"{root}/{plural}") if plural != "spidersubnets" else ():
            metadata = item["metadata"]
            namespace = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
            if metadata.get("finalizers"):
                path = f"{root}{namespace}/{plural}/{metadata['name']}"
                self._attempt("PATCH", path, {"metadata": {"finalizers": None}})

    def _found(self, path: str) -> list[Object]:
        try:
            items: list[Object] = self._api.get(path)["items"]
        except ApiError as error:
            if error.status != 404:
                raise
            return []
        return items

    def _attempt(self, method: str, path: str, body: Object | None = None) -> None:
        """A request about an object that may be gone. Raises ApiError."""
        try:
            if body is None:
                self._api.request(method, path)
            else:
                self._api.patch(path, body)
        except ApiError as error:
            if error.status != 404:
                raise
