"""How planned resources are registered: the plan's type, name, properties and handling become a Pulumi resource."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pulumi
from pulumi.dynamic import DiffResult, ResourceProvider, UpdateResult
from pulumi.dynamic import Resource as PulumiDynamicResource
from pulumi.runtime import config as engine

from gpu_fabric.base.simulators import chart_folder
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.records import HelmRelease, SecretValue
from gpu_fabric.resources.charts import release_resource
from gpu_fabric.resources.resource import Handling, Leaf, Resource, replace_leaves

from ..cluster.handle import ClusterHandle, Resources
from .secret_keys import secret_configuration

SecretText = Callable[[SecretValue], str | pulumi.Output[str]]
"""The text that a value of a chart, or a Secret, has from a secret."""


def add_handling(
    options: pulumi.ResourceOptions, handling: Handling, created: Mapping[str, pulumi.Resource] = {}
) -> pulumi.ResourceOptions:
    """Options with the planned handling; `created` has the resources that others may be deleted with, by name."""
    timeouts = handling.timeouts
    planned = pulumi.ResourceOptions(
        protect=handling.protect or None,
        delete_before_replace=handling.delete_before_replace or None,
        replace_on_changes=list(handling.replace_on_changes) or None,
        ignore_changes=list(handling.ignore_changes) or None,
        retain_on_delete=handling.retain_on_delete or None,
        import_=handling.adopts,
        custom_timeouts=pulumi.CustomTimeouts(timeouts.create, timeouts.update, timeouts.delete)
        if any((timeouts.create, timeouts.update, timeouts.delete))
        else None,
        deleted_with=created[handling.deleted_with] if handling.deleted_with else None,
    )
    return pulumi.ResourceOptions.merge(options, planned)


def child_options(
    parent: pulumi.Resource, cluster: ClusterHandle, after: Resources, *, in_python: bool = False
) -> pulumi.ResourceOptions:
    """Options of a component's child; dependencies are listed, since a component's own do not apply to its children.

    Objects on a cluster of the stack's own are deleted with it: destroying the stack then sends the cluster no request.
    A provider that is written `in_python` is not the cluster's Kubernetes provider.
    """
    return pulumi.ResourceOptions(
        parent=parent,
        provider=None if in_python else cluster.provider,
        depends_on=list(after),
        deleted_with=cluster.deleted_with,
        retain_on_delete=getattr(parent, "retained", None) or None,
    )


def kubernetes_resource(
    resource: Resource, options: pulumi.ResourceOptions, sent: Mapping[str, Any] = {}
) -> pulumi.CustomResource:
    """One planned object, patch or release; `sent` are properties that Pulumi gets in another form than the plan's."""
    # The SDK's class per kind sends just this, but importing its core/v1 module alone takes half a second.
    properties = {**resource.properties, **sent}
    return pulumi.CustomResource(resource.type, resource.name, properties, add_handling(options, resource.handling))


def release(
    name: str, planned: HelmRelease, options: pulumi.ResourceOptions, secret_text: SecretText
) -> pulumi.CustomResource:
    """A Helm release of the component of this name; ready when every object of the chart is.

    If some values come from secrets, all values are secret.
    """
    resource = release_resource(name, with_found_chart(planned))
    if not planned.secret_values:
        return kubernetes_resource(resource, options)
    return resource_with_secrets(resource, "values", options, secret_text)


def with_found_chart(planned: HelmRelease) -> HelmRelease:
    """The release with the path of its chart on this machine, where the chart is a folder."""
    if planned.chart.path is None:
        return planned
    found = os.path.relpath(chart_folder(planned.chart.path, Path.cwd()))
    return planned.model_copy(update={"chart": planned.chart.model_copy(update={"path": found})})


def resource_with_secrets(
    resource: Resource, key: str, options: pulumi.ResourceOptions, secret_text: SecretText
) -> pulumi.CustomResource:
    """A resource whose property `key` has values from secrets, and is secret as a whole."""

    def in_base64(leaf: Leaf) -> str | pulumi.Output[str]:
        assert isinstance(leaf, SecretValue), "charts and Secrets hold no other leaf"
        text = secret_text(leaf)
        return _base64(text) if isinstance(text, str) else text.apply(_base64)

    sent = replace_leaves(resource.properties[key], in_base64)
    return kubernetes_resource(resource, options, {key: pulumi.Output.secret(sent)})


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def configured_secret(wanted: SecretValue) -> str:
    """An entry of a secret in the stack's configuration that holds JSON; messages never repeat its content.

    Raises:
        pulumi.RunError: the secret is not set, or does not have this entry.
    """
    # Read as text: inside an Output the error would be one of every resource that comes later, with a traceback each.
    return secret_entry(engine.get_config(secret_configuration(wanted.key).full_key(wanted.key)), wanted)


def secret_entry(text: str | None, wanted: SecretValue) -> str:
    """What is wanted of a secret's text, which must be JSON; messages never repeat its content.

    The whole of a text is a Docker configuration.

    Raises:
        pulumi.RunError: there is no text, or it does not have this entry.
    """
    try:
        content = json.loads(text or "")
        if wanted.entry is None:
            if isinstance(content["auths"], dict) and content["auths"]:
                return text or ""
            raise KeyError("auths")
        found = content[wanted.entry]
    except (ValueError, TypeError, KeyError):
        found = None
    if wanted.entry is None:
        raise pulumi.RunError(
            f"the secret {wanted.key} is not set, or no Docker configuration: JSON with `auths`, as "
            "`kubectl create secret docker-registry` and `docker login` write it"
        )
    if not isinstance(found, str):
        raise pulumi.RunError(f"the secret {wanted.key} is not set, or no JSON with the text {wanted.entry!r}")
    return found


class DynamicProvider(ResourceProvider):
    """A provider whose resources are on the cluster that their properties have the kubeconfig of.

    Another value of a property of the `identity` replaces the resource; if it `deletes_first`, before the new one is
    created. Credentials are renewed in place.
    """

    identity: ClassVar[tuple[str, ...]] = ("cluster",)
    deletes_first: ClassVar[bool] = False

    def diff(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> DiffResult:
        """Pulumi compares the properties where nothing moves and nothing `is_due`."""
        moved = [name for name in self.identity if isinstance(new.get(name), str) and old.get(name) != new[name]]
        changes = True if moved or self.is_due(old, new) else None
        return DiffResult(changes, replaces=moved or None, delete_before_replace=bool(moved) and self.deletes_first)

    def is_due(self, old: dict[str, Any], new: dict[str, Any]) -> bool:
        """Whether the resource is updated even if Pulumi finds no difference."""
        return False

    def update(self, _id: str, _old: dict[str, Any], new: dict[str, Any]) -> UpdateResult:
        return UpdateResult(new)


class DynamicResource(PulumiDynamicResource):
    """A planned resource whose provider is written in Python, by a class of this package.

    Subclasses name the type, the class of the `provider`, and the function that plans the resource of an item; one that
    is `of_stack` takes the stack's name as well. `outputs` are None until they are known.
    """

    _provider_class: ClassVar[type[ResourceProvider]]
    _planned: ClassVar[Callable[..., Resource]]
    _is_of_stack: ClassVar[bool]
    _unknown: ClassVar[dict[str, None]]

    def __init_subclass__(
        cls,
        *,
        name: str,
        provider: type[ResourceProvider],
        planned: Callable[..., Resource],
        of_stack: bool = False,
        outputs: Sequence[str] = (),
    ) -> None:
        super().__init_subclass__(module="gpu-fabric", name=name)
        cls._provider_class, cls._planned, cls._is_of_stack = provider, staticmethod(planned), of_stack
        cls._unknown = dict.fromkeys(outputs)

    def __init__(
        self,
        name: str,
        item: FrozenModel,
        cluster: ClusterHandle,
        opts: pulumi.ResourceOptions | None = None,
        *,
        owner: str = "",
        sent: Mapping[str, Any] = {},
    ) -> None:
        """`name` is the component's name; `owner` distinguishes the fabrics of a program that has several.

        `sent` are properties that Pulumi gets in another form than the plan's.
        """
        stack = "/".join(filter(None, (pulumi.get_project(), pulumi.get_stack(), owner)))
        planned = self._planned(name, item, *([stack] if self._is_of_stack else ()), cluster.context)
        known = {"kubeconfig": cluster.kubeconfig, "cluster": cluster.cluster_id, **self._unknown, **sent}
        options = add_handling(opts or pulumi.ResourceOptions(), planned.handling)
        super().__init__(self._provider_class(), planned.name, {**planned.properties, **known}, options)
