"""Deletes the webhook configurations of an operator that no longer exists.

An operator that registers its webhooks itself can do so once more while it is being uninstalled. What is left then has
no Service, fails closed, and refuses the objects of the next installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult

from gpu_fabric.resources.dynamic import webhook_cleanup

from ..engine.cluster_api import PATIENCE, ClusterApi, Json, RequestError, api_path, counts_as_deleted, find
from ..engine.registration import DynamicProvider, DynamicResource

_KINDS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")


class WebhookCleanupError(pulumi.RunError):
    """The cluster refused a request; Pulumi prints the message without a traceback."""


class WebhookCleanupProvider(DynamicProvider):
    """Deletes webhook configurations whose Services do not exist, when it is created and when it is deleted."""

    identity = ("cluster", "webhooks", "namespace")

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Raises WebhookCleanupError."""
        _clean_up(props)
        return CreateResult(props["webhooks"], props)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        """Raises WebhookCleanupError."""
        _clean_up(props)


class WebhookCleanup(DynamicResource, name="WebhookCleanup", provider=WebhookCleanupProvider, planned=webhook_cleanup):
    """Registered before the operator's namespace, and so deleted after it; see WebhookCleanupProvider."""


def _clean_up(props: Mapping[str, Any]) -> None:
    try:
        api = ClusterApi(props["kubeconfig"], props.get("context"), 1, PATIENCE)
        for kind in _KINDS:
            path = api_path("admissionregistration.k8s.io/v1", kind, name=props["webhooks"])
            found = find(api, path)
            services = set[str]() if found is None else _services(found, props["namespace"])
            there = [service for service in services if find(api, service) is not None]
            if services and not there:
                api.delete(path)
    except RequestError as error:
        if not counts_as_deleted(error):
            reason = f"the webhook configurations {props['webhooks']} could not be looked at or deleted: {error}"
            raise WebhookCleanupError(reason) from None


def _services(configuration: Json, namespace: str) -> set[str]:
    """The paths of the Services that are asked; none if one is in another namespace, or no Service is asked."""
    asked = [webhook["clientConfig"].get("service") for webhook in configuration.get("webhooks") or ()]
    if any(service is None or service["namespace"] != namespace for service in asked):
        return set()
    return {api_path("v1", "services", namespace, service["name"]) for service in asked}
