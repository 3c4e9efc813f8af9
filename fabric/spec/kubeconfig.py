"""Kubeconfig files: whether one can be used, and which cluster it leads to."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import yaml

from fabric.rules import Finding, finding
from fabric.spec.existing import ExistingCluster
from fabric.spec.places import dotted


def kubeconfig_path(cluster: ExistingCluster, root: Path) -> Path | None:
    """Where the kubeconfig lies; None when it comes from a secret configuration key."""
    return None if cluster.kubeconfig is None else root / Path(cluster.kubeconfig).expanduser()


def kubeconfig_findings(cluster: ExistingCluster, root: Path) -> tuple[Finding, ...]:
    """What keeps the kubeconfig file from being used; empty when it is good or comes from a secret."""
    path = kubeconfig_path(cluster, root)
    if path is None:
        return ()
    where = dotted(("cluster", "kubeconfig"))

    def unusable(reason: str, remedy: str) -> tuple[Finding, ...]:
        return (finding("CLU001", where, f"{cluster.kubeconfig}: {reason}", remedy),)

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        start = "`make up` starts the sandbox, which writes it" if ".sandbox" in path.parts else "write its real path"
        return unusable("no such file", f"{start}, or name a secret key by kubeconfigSecret")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        return unusable(f"cannot be read: {reason}", "make it a readable kubeconfig file")
    try:
        cluster_entry(text, cluster.context)
    except ValueError as error:
        return unusable(str(error), "write the path of a complete kubeconfig, and a context that it holds")
    return ()


def cluster_entry(text: str, context: str | None) -> dict[str, Any]:
    """The cluster stanza that a kubeconfig's context (its current one by default) leads to.

    Raises:
        ValueError: the text is no kubeconfig, or the context or its cluster is not in it. Never repeats its content.
    """
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("is not YAML") from error
    if not isinstance(document, dict) or not isinstance(document.get("contexts"), list):
        raise ValueError("is no kubeconfig: it has no contexts")
    wanted = context or document.get("current-context")
    if not isinstance(wanted, str) or not wanted:
        raise ValueError("has no current context, and the stack names none")
    contexts = _by_name(document["contexts"], "context")
    if wanted not in contexts:
        raise ValueError(f"has no context {wanted!r}; it has: {', '.join(sorted(contexts))}")
    found = _by_name(document.get("clusters"), "cluster").get(str(contexts[wanted].get("cluster")), {})
    if not found.get("server"):
        raise ValueError(f"context {wanted!r} leads to no cluster with a server")
    return found


def cluster_identity(text: str, context: str | None) -> str:
    """An identity that stays when credentials are renewed and changes when the cluster is another one.

    Derived from the API server's address and the certificate authority, which no two clusters share.

    Raises:
        ValueError: as `cluster_entry`.
    """
    entry = cluster_entry(text, context)
    authority = entry.get("certificate-authority-data") or entry.get("certificate-authority") or ""
    return hashlib.sha256(f"{entry['server']}\n{authority}".encode()).hexdigest()[:32]


def _by_name(entries: Any, key: str) -> dict[str, dict[str, Any]]:
    """The named stanzas of a kubeconfig list; entries of any other form are left out."""
    listed = entries if isinstance(entries, list) else []
    return {
        entry["name"]: entry[key]
        for entry in listed
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and isinstance(entry.get(key), dict)
    }
