"""What public components have in common: warnings, waits for each other, secrets of charts, and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pulumi
from pydantic.alias_generators import to_camel

from gpu_fabric.findings import Finding, Severity, finding
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan
from gpu_fabric.plan.fabrics import display_name
from gpu_fabric.plan.records import SecretValue
from gpu_fabric.spec.load import unset_secrets
from gpu_fabric.spec.places import within_section
from gpu_fabric.spec.stack_text import StackDocument

from ..engine.registration import SecretText, secret_entry
from ..engine.steps import Outcome, Registered
from .arguments import warnings


class PublicComponent(pulumi.ComponentResource):
    """A component for programs of a user's own: `ready` is known when its waits have ended."""

    def _report(self, component: str, plan: Plan, as_in_files: Collection[str] = ()) -> None:
        """Log the plan's warnings about the arguments.

        `component` is the type and name, for messages. Sections that are given `as_in_files` have their keys.
        """
        found = [entry for entry in plan.findings if entry.severity is Severity.WARNING]
        for text in warnings(component, found, as_in_files=as_in_files):
            pulumi.log.warn(text, self)

    def _give_outputs(self, public: type, known: Mapping[str, Any]) -> None:
        """Set and register the outputs that a public class names by annotations, of those that are known by name."""
        outputs = {output: self._after(known[output]) for output in inspect.get_annotations(public)}
        for output, value in outputs.items():
            setattr(self, output, value)
        self.register_outputs({to_camel(output): value for output, value in outputs.items()})

    def _after(self, value: Any) -> pulumi.Output[Any]:
        """An output: what uses it comes after the component's resources, also where the plan alone knows it."""
        if isinstance(value, pulumi.Output):
            return value
        known: pulumi.Output[Any] = pulumi.Output.from_input(value)
        return pulumi.Output({self}, known.future(), known.is_known())


def dependencies(opts: pulumi.ResourceOptions | None) -> list[Any]:
    """What a component comes after. Pulumi does not let the children of a component wait for it.

    A component of this package is not done when its resources are, but when its waits have ended.
    """
    return [] if opts is None or opts.depends_on is None else [_when_ready(entry) for entry in listed(opts.depends_on)]


def listed(value: Any) -> list[Any]:
    """The entries of an option that may be a single one."""
    return list(value) if isinstance(value, list | tuple) else [value]


def _when_ready(dependency: Any) -> Any:
    ready = getattr(dependency, "ready", None) if isinstance(dependency, PublicComponent) else None
    if ready is None or pulumi.runtime.is_dry_run():
        return dependency
    return ready.apply(lambda _: dependency)


def secret_findings(document: StackDocument, secrets: Mapping[str, Any]) -> Iterator[Finding]:
    """Secrets that charts need and that are not given."""
    if not isinstance(secrets, Mapping):
        yield finding("SPC002", "secrets", "must be a mapping of names to texts", "give it each text by its name")
        return
    for path, key in unset_secrets(document):
        if key not in secrets and not within_section(path, "cluster"):
            yield finding("SPC003", path, f"the secret {key!r} is not among `secrets`", f"add {key!r} to `secrets`")


def secret_text(secrets: Mapping[str, pulumi.Input[str]]) -> SecretText:
    """Gives the secrets of charts."""

    def text(wanted: SecretValue) -> str | pulumi.Output[str]:
        given = secrets[wanted.key]
        if isinstance(given, str):
            return secret_entry(given, wanted)
        known: pulumi.Output[str] = pulumi.Output.secret(given)
        return known.apply(lambda text: secret_entry(text, wanted))

    return text


def fabric_outputs(plan: Plan, registered: Registered) -> dict[str, Any]:
    """The outputs of a component with a fabric, by name."""
    return {
        "contract": _document(plan.workload),
        "contracts": {display_name(name): _document(one.workload) for name, one in plan.by_fabric.items()},
        "address_plan": _document(plan.addresses),
        "networks": list(dict.fromkeys(network.network for network in plan.workload.networks)),
        "verification": _known_values(registered.verification),
        "ready": when_applied(registered.resources, registered.verification, *registered.verifications.values()),
    }


def when_applied(resources: Iterable[pulumi.Input[pulumi.Resource]], *outcomes: Outcome | None) -> pulumi.Output[bool]:
    """True, known when all of the resources are applied, what delays them has ended, and a verification has ended."""
    applied = [pulumi.Output.from_input(entry).apply(_identity) for entry in resources]
    return pulumi.Output.all(*outcomes, *applied).apply(lambda _: True)


def _document(model: FrozenModel) -> dict[str, Any]:
    """A record of the plan as outputs have it."""
    document: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return document


def _known_values(outcome: Outcome | None) -> Outcome | None:
    """The outcome of a verification without its empty fields."""
    if outcome is None:
        return None
    return outcome.apply(lambda found: {key: value for key, value in found.items() if value is not None})


def _identity(resource: Any) -> Any:
    """An output of a resource that is known when it is applied, and in a preview only if it exists."""
    return resource.id if isinstance(resource, pulumi.CustomResource) else resource.urn
