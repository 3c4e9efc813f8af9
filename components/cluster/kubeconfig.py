"""The text of a kubeconfig, for a cluster that the stack makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml


def kubeconfig_text(name: str, server: str, authority: str, user: Mapping[str, Any]) -> str:
    """A kubeconfig with one cluster, whose authority's certificate comes in Base64."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": name, "user": dict(user)}],
        }
    )


def asks_command(command: str, arguments: Sequence[str]) -> dict[str, Any]:
    """A user whose credentials a command prints."""
    version = "client.authentication.k8s.io/v1beta1"
    return {"exec": {"apiVersion": version, "command": command, "args": list(arguments)}}
