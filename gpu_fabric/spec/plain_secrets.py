"""Secrets in plain text in a stack file: found by their keys and their form; messages never repeat them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import Finding, finding
from gpu_fabric.spec.places import NAMESPACE, Location, dotted

CREDENTIAL = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bclient-key-data[\"']?\s*:\s*\S"
    r"|\busers[\"']?\s*:[\s\S]*\b(token|password)[\"']?\s*:\s*\S"
    r"|\b(dop|doo|dor)_v1_[0-9a-f]{64}\b"
    r"|\bnvapi-[0-9A-Za-z_-]{20,}"
    r"|\bgh[pousr]_[0-9A-Za-z]{36,}"
)
"""Forms of credentials: a private key, the user of a kubeconfig, and tokens of clouds and registries."""


def plain_settings(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys outside this program's namespace that hold a secret in plain text.

    An encrypted value is a mapping in the file, and is absent from the configuration that Pulumi passes to the program.
    """
    names = {f"{provider}:{key}" for provider, keys in catalog().secret_settings.items() for key in keys}
    return tuple(
        key
        for key, value in config.items()
        if not str(key).startswith(f"{NAMESPACE}:")
        and ((key in names and isinstance(value, str) and value) or any(_credentials(value, (str(key),))))
    )


def plain_secrets(sections: Mapping[str, Any], named: Iterable[Any], settings: Iterable[str]) -> tuple[Finding, ...]:
    """Findings for secrets in plain text.

    `named` are this program's keys that the file uses as secrets; `settings` are the result of `plain_settings`.
    """
    kept = [key for key in named if isinstance(sections.get(key) if isinstance(key, str) else None, str)]
    places = [(dotted((key,)), f"{NAMESPACE}:{key}") for key in kept]
    places += [(key, key) for key in settings]
    found = [
        finding(
            "SPC006",
            path,
            "the value is a secret, and the file holds it in plain text",
            f"seal it: `pulumi config set --secret {key}`; then renew it, since the file may have been read",
        )
        for path, key in places
    ]
    others = {key: value for key, value in sections.items() if key not in kept}
    return (*found, *(_value_finding(place) for place in _credentials(others, ())))


def _value_finding(place: Location) -> Finding:
    return finding(
        "SPC006",
        dotted(place),
        "the text holds what looks like a credential",
        "take it out, and renew it; keep it in a secret of the cluster, or sealed: `pulumi config set --secret`",
    )


def _credentials(value: Any, place: Location) -> Iterator[Location]:
    """Locations of texts that look like credentials."""
    if isinstance(value, str):
        if CREDENTIAL.search(value):
            yield place
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _credentials(entry, (*place, str(key)))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _credentials(entry, (*place, number))
