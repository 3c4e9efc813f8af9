"""Secrets, and the providers of accounts and clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import NoSettings, resource_policy
from .reading import at, is_one_of, kind_of, texts

# What only a credential looks like: a private key, a kubeconfig's user, and the tokens of clouds and registries.
_CREDENTIAL = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bclient-key-data:\s*\S"
    r"|\busers:[\s\S]*\b(token|password):\s*\S"
    r"|\b(dop|doo|dor)_v1_[0-9a-f]{64}\b"
    r"|\bnvapi-[0-9A-Za-z_-]{20,}"
    r"|\bgh[pousr]_[0-9A-Za-z]{36,}"
)


class SecretInputs(FrozenModel):
    """Inputs that may hold a credential; the program marks them as secret."""

    inputs: tuple[str, ...] = Field(
        default=(
            "pulumi:providers:*:*",
            "pulumi-python:dynamic/*:kubeconfig",
            "pulumi-python:dynamic/*:__provider",
        ),
        description="type token and property, with a colon between, as patterns",
    )


@resource_policy("no-credentials-in-objects", SecretInputs)
def no_credentials_in_objects(resource: ResourceValidationArgs, settings: SecretInputs) -> Iterator[str]:
    for path, text in texts(resource.props):
        place = f"{resource.resource_type}:{path.partition('.')[0]}"
        # The text itself stays out of the message.
        if _CREDENTIAL.search(text) and not is_one_of(place, settings.inputs):
            yield f"{path} holds what looks like a credential"


class Secrets(FrozenModel):
    """Secrets that a stack may create."""

    allowed: tuple[str, ...] = Field(default=(), description="namespace/name, or patterns, of allowed Secrets")


@resource_policy("no-secrets-as-resources", Secrets)
def no_secrets_as_resources(secret: ResourceValidationArgs, settings: Secrets) -> Iterator[str]:
    name = f"{at(secret.props, 'metadata', 'namespace') or 'default'}/{at(secret.props, 'metadata', 'name')}"
    filled = any(secret.props.get(key) for key in ("data", "stringData"))
    if filled and not is_one_of(name, settings.allowed):
        yield "has content"


@resource_policy("no-default-provider", NoSettings)
def no_default_provider(resource: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    if resource.provider is None or re.fullmatch(r"default(_[0-9_]+.*)?", resource.provider.name):
        yield "uses a default provider"


@resource_policy("identified-cluster", NoSettings)
def identified_cluster(provider: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    known = set(provider.props)
    for key in ("kubeconfig", "clusterIdentifier"):
        if key not in known:
            yield f"has no {key}"


class FixedNames(FrozenModel):
    """Kinds whose replacement must delete first."""

    kinds: tuple[str, ...] = Field(default=("Release",), description="kinds with names of their own")


@resource_policy("fixed-names-delete-first", FixedNames)
def fixed_names_delete_first(resource: ResourceValidationArgs, settings: FixedNames) -> Iterator[str]:
    if kind_of(resource.resource_type) in settings.kinds and not resource.opts.delete_before_replace:
        yield "is created again before the old one is deleted"
