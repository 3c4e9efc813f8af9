"""The one way a chart becomes a Helm release."""

from __future__ import annotations

import base64
import json
from typing import Any, ClassVar

import pulumi
from pulumi.runtime import config as engine
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from components.resources import After, child_options
from fabric.plan import ChartReference, HelmRelease, SecretValue
from fabric.plan.values import merged


def release(name: str, planned: HelmRelease, options: pulumi.ResourceOptions) -> Release:
    """A release exactly as planned; ready when every object of the chart is.

    Decisions made here once: a fixed name (so that names inside the chart stay), an own Namespace resource (so that
    Pod Security labels are there), all values from this run alone, failed upgrades cleaned up but kept for a look.
    """
    chart = planned.chart
    return Release(
        f"{name}-{planned.name}",
        name=planned.name,
        namespace=planned.namespace,
        chart=_location(chart),
        version=chart.version,
        repository_opts=_repository(chart),
        values=_values(planned),
        timeout=planned.timeout,
        create_namespace=False,
        # Each revision keeps a secret with all values in the cluster; unlimited by default.
        max_history=5,
        # Helm otherwise keeps the old values when the new set is empty.
        reset_values=True,
        # Not atomic: that would remove a failed installation together with the evidence.
        cleanup_on_fail=True,
        skip_await=False,
        wait_for_jobs=True,
        # The name is fixed, so the old release must be gone before a replacement can be made.
        opts=pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(delete_before_replace=True)),
    )


def _values(planned: HelmRelease) -> pulumi.Input[dict[str, Any]]:
    """The planned values; where some come from secrets of the stack's configuration, all are secret."""
    if not planned.secret_values:
        return planned.values
    values: dict[str, Any] = dict(planned.values)
    for entry in planned.secret_values:
        here = nested = {}  # type: dict[str, Any]
        *folders, last = entry.path.split(".")
        for key in folders:
            here = here.setdefault(key, {})
        here[last] = base64.b64encode(_secret(entry).encode()).decode()
        values = merged(values, nested)
    return pulumi.Output.secret(values)


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


def _location(chart: ChartReference) -> str:
    if chart.path is not None:
        return f"./{chart.path}"
    if chart.repository is not None and chart.repository.startswith("oci://"):
        return f"{chart.repository}/{chart.name}"
    return chart.name


def _repository(chart: ChartReference) -> RepositoryOptsArgs | None:
    if chart.repository is None or chart.repository.startswith("oci://"):
        return None
    return RepositoryOptsArgs(repo=chart.repository)


class ChartOperator(pulumi.ComponentResource):
    """An operator that is its chart and nothing more; subclasses say which. What needs it comes after `installed`."""

    type_token: ClassVar[str]
    installed: pulumi.Resource

    def __init__(
        self,
        name: str,
        planned: HelmRelease,
        provider: pulumi.ProviderResource,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(self.type_token, name, None, opts)
        self.installed = release(name, planned, child_options(self, provider, after))
        self.register_outputs({"version": planned.chart.version})
