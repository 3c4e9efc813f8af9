"""The one way a chart is registered as a Helm release."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
from pulumi.runtime import config as engine

from gpu_fabric.plan import HelmRelease, SecretValue
from gpu_fabric.resources.charts import release_resource
from gpu_fabric.resources.resource import Leaf, with_leaves

from .engine_options import handled


def release(name: str, planned: HelmRelease, options: pulumi.ResourceOptions) -> pulumi.Resource:
    """A release exactly as planned, of the component of this name; ready when every object of the chart is."""
    resource = release_resource(name, planned)
    properties = {**resource.properties, "values": _values(resource.properties["values"], planned)}
    # The SDK's class sends just this, but importing its module alone takes half a second.
    return pulumi.CustomResource(resource.type, resource.name, properties, handled(options, resource.handling))


def _values(values: dict[str, Any], planned: HelmRelease) -> pulumi.Input[dict[str, Any]]:
    """The planned values; where some come from secrets of the stack's configuration, all are secret."""
    if not planned.secret_values:
        return values
    return pulumi.Output.secret(with_leaves(values, _in_base64))


def _in_base64(leaf: Leaf) -> str:
    assert isinstance(leaf, SecretValue), "a chart's values hold no other leaf"
    return base64.b64encode(_secret(leaf).encode()).decode()


def _secret(wanted: SecretValue) -> str:
    """An entry of a secret that holds JSON; its content is never repeated.

    Raises:
        pulumi.RunError: the secret is not there, or holds something else.
    """
    # Read as text: inside an Output the error would be one of every resource that comes later, with a traceback each.
    text = engine.get_config(pulumi.Config().full_key(wanted.key))
    try:
        found = json.loads(text or "")[wanted.entry]
    except (ValueError, TypeError, KeyError):
        found = None
    if not isinstance(found, str):
        raise pulumi.RunError(f"the secret {wanted.key} is not set, or no JSON with the text {wanted.entry!r}")
    return found
