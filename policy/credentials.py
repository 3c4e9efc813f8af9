"""Secrets, and the providers of accounts and clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import CRITICAL, HIGH, NoSettings, Words, resource_policy
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


@resource_policy(
    "no-credentials-in-objects",
    Words(
        "Kubeconfigs, keys and tokens are in no object, chart value or machine's metadata.",
        "State, previews and the cluster's own store would show them; a chart's values are in its release's secret.",
        "keep it in a secret of the stack's configuration, and name a Secret that is filled elsewhere.",
        "the Kubernetes provider's documentation of secrets",
    ),
    of=("*",),
    settings=SecretInputs,
    severity=CRITICAL,
)
def no_credentials_in_objects(resource: ResourceValidationArgs, settings: SecretInputs) -> Iterator[str]:
    for path, text in texts(resource.props):
        place = f"{resource.resource_type}:{path.partition('.')[0]}"
        # The text itself stays out of the message.
        if _CREDENTIAL.search(text) and not is_one_of(place, settings.inputs):
            yield f"{path} holds what looks like a credential"


class Secrets(FrozenModel):
    """Secrets that a stack may create."""

    allowed: tuple[str, ...] = Field(default=(), description="namespace/name, or patterns, of allowed Secrets")


@resource_policy(
    "no-secrets-as-resources",
    Words(
        "The stack creates no Secret with content.",
        "Its content is then in Pulumi's state, and in every backup of it.",
        "let the cluster's own tool fill the Secret, and refer to it by name.",
        "the Kubernetes provider's documentation of secrets",
    ),
    of=("kubernetes:core/v1:Secret",),
    settings=Secrets,
    severity=HIGH,
)
def no_secrets_as_resources(secret: ResourceValidationArgs, settings: Secrets) -> Iterator[str]:
    name = f"{at(secret.props, 'metadata', 'namespace') or 'default'}/{at(secret.props, 'metadata', 'name')}"
    filled = any(secret.props.get(key) for key in ("data", "stringData"))
    if filled and not is_one_of(name, settings.allowed):
        yield "has content"


@resource_policy(
    "no-default-provider",
    Words(
        "Every resource uses a provider of the stack.",
        "A default provider uses the cluster or account that the machine is configured for.",
        "pass the cluster's own provider.",
        "the Kubernetes provider's documentation: it falls back to the machine's kubeconfig",
    ),
    of=("kubernetes:*", "digitalocean:*", "oci:*"),
    settings=NoSettings,
    severity=HIGH,
)
def no_default_provider(resource: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    if resource.provider is None or re.fullmatch(r"default(_[0-9_]+.*)?", resource.provider.name):
        yield "uses a default provider"


@resource_policy(
    "identified-cluster",
    Words(
        "The Kubernetes provider names its kubeconfig and its cluster.",
        "Without clusterIdentifier, an unknown or renewed kubeconfig shows every object of the cluster as replaced.",
        "set kubeconfig and clusterIdentifier.",
        "the Kubernetes provider's source",
    ),
    of=("pulumi:providers:kubernetes",),
    settings=NoSettings,
    severity=HIGH,
)
def identified_cluster(provider: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    known = set(provider.props)
    for key in ("kubeconfig", "clusterIdentifier"):
        if key not in known:
            yield f"has no {key}"


class FixedNames(FrozenModel):
    """Kinds whose replacement must delete first."""

    kinds: tuple[str, ...] = Field(default=("Release",), description="kinds with names of their own")


@resource_policy(
    "fixed-names-delete-first",
    Words(
        "A resource with a fixed name is deleted before its replacement is created.",
        "If the replacement is created first, its name is taken, and the update stops half-way.",
        "set delete_before_replace.",
        "the Kubernetes provider's source: another name or namespace replaces a release",
    ),
    of=("kubernetes:*", "digitalocean:*"),
    settings=FixedNames,
)
def fixed_names_delete_first(resource: ResourceValidationArgs, settings: FixedNames) -> Iterator[str]:
    if kind_of(resource.resource_type) in settings.kinds and not resource.opts.delete_before_replace:
        yield "is created again before the old one is deleted"
