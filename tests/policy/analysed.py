"""Policies asked about recorded registrations, in this process: what the SDK's analyzer does, without its wire."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pulumi_policy import (
    Policy,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.policy import PolicyCustomTimeouts, PolicyProviderResource
from pulumi_policy.proxy import unknown_checking_proxy
from recording import Registration

from policy.assembled import policies

Settings = Mapping[str, Mapping[str, Any]]
POLICIES: dict[str, Policy] = {policy.name: policy for policy in policies()}
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def urn(stack: str, registration: Registration) -> str:
    return f"urn:pulumi:{stack}::gpu-fabric::{registration.type}::{registration.name}"


def seconds(written: str | None) -> float:
    """A time limit in seconds; 0 where there is none."""
    match = re.fullmatch(r"(\d+)([smh])", written or "0s")
    assert match
    return int(match[1]) * _SECONDS[match[2]]


def options(registration: Registration) -> PolicyResourceOptions:
    limits = (seconds(registration.timeouts.get(operation)) for operation in ("create", "update", "delete"))
    return PolicyResourceOptions(
        protect=registration.protect,
        ignore_changes=sorted(registration.ignore_changes),
        delete_before_replace=registration.delete_before_replace,
        aliases=[],
        custom_timeouts=PolicyCustomTimeouts(*limits),
        additional_secret_outputs=[],
    )


def provider(stack: str, registration: Registration) -> PolicyProviderResource | None:
    if not registration.provider:
        return None
    kind = f"pulumi:providers:{registration.type.partition(':')[0]}"
    name = registration.provider
    return PolicyProviderResource(kind, {}, f"urn:pulumi:{stack}::gpu-fabric::{kind}::{name}", name)


def broken_policies(
    stack: str, registrations: Iterable[Registration], settings: Settings | None = None, asked: Iterable[str] = POLICIES
) -> dict[str, list[str]]:
    """The messages of every policy that a stack breaks."""
    listed = [registration for registration in registrations if registration.custom]
    said: dict[str, list[str]] = {}
    for name in asked:
        messages: list[str] = []

        def report(message: str, _urn: str | None = None, into: list[str] = messages) -> None:
            into.append(message)

        policy, config = POLICIES[name], dict((settings or {}).get(name, {}))
        if isinstance(policy, StackValidationPolicy):
            policy.validate(StackValidationArgs([_resource(stack, r) for r in listed], config), report)
        else:
            assert isinstance(policy, ResourceValidationPolicy)
            for registration in listed:
                policy.validate(_args(stack, registration, config), report)
        if messages:
            said[name] = messages
    return said


def _args(stack: str, registration: Registration, config: dict[str, Any]) -> ResourceValidationArgs:
    return ResourceValidationArgs(
        registration.type,
        unknown_checking_proxy(registration.inputs),
        urn(stack, registration),
        registration.name,
        options(registration),
        provider(stack, registration),
        config,
    )


def _resource(stack: str, registration: Registration) -> PolicyResource:
    return PolicyResource(
        registration.type,
        unknown_checking_proxy(registration.inputs),
        urn(stack, registration),
        registration.name,
        options(registration),
        provider(stack, registration),
        None,
        [],
        {},
    )
