"""Kubeconfig files: whether a file is usable, and which cluster a context refers to."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gpu_fabric.base.enumeration import first_names
from gpu_fabric.base.simulators import simulator_of
from gpu_fabric.base.user_files import file_text
from gpu_fabric.findings import Finding, finding
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.places import dotted

# Messages name at most this many contexts.
_NAMED = 4


class Reached(NamedTuple):
    """The cluster of a kubeconfig: the name of the context, and the address of its API server."""

    context: str
    server: str

    def __str__(self) -> str:
        return f"context {self.context}, server {self.server}"


def kubeconfig_path(cluster: ExistingClusterSpec, root: Path) -> Path | None:
    """The path of the kubeconfig; `~USER` of an unknown user is not expanded.

    None if the kubeconfig comes from a secret configuration key.
    """
    return None if cluster.kubeconfig is None else _expanded(cluster.kubeconfig, root)


def _expanded(written: str, root: Path) -> Path:
    try:
        return root / Path(written).expanduser()
    except RuntimeError:
        return root / written


def kubeconfig_findings(cluster: ExistingClusterSpec, root: Path) -> tuple[Finding, ...]:
    """The problems of the kubeconfig file; none if it is usable or comes from a secret."""
    return () if cluster.kubeconfig is None else file_findings(cluster.kubeconfig, cluster.context, root)


def file_findings(kubeconfig: str, context: str | None, root: Path) -> tuple[Finding, ...]:
    """The problems of a kubeconfig file by its path as written, with a context, by default the current one."""
    path = _expanded(kubeconfig, root)
    where = dotted(("cluster", "kubeconfig"))

    def unusable(reason: str, remedy: str) -> tuple[Finding, ...]:
        return (finding("CLU001", where, f"{kubeconfig}: {reason}", remedy),)

    try:
        text = file_text(path)
    except FileNotFoundError:
        simulator = simulator_of(path)
        return unusable(
            "no such file",
            f"{simulator.start if simulator else 'write its real path'}, or name a secret key by kubeconfigSecret",
        )
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        return unusable(f"cannot be read: {reason}", "make it a readable kubeconfig file")
    try:
        cluster_entry(text, context)
    except ValueError as error:
        return unusable(str(error), "write the path of a complete kubeconfig, and a context that it holds")
    return open_choice(text, context, kubeconfig)


def open_choice(text: str, context: str | None, name: str) -> tuple[Finding, ...]:
    """A finding if a usable kubeconfig has contexts of several clusters and the stack does not name a context."""
    known = _identities(text)
    if context is not None or len(set(known.values())) < 2:
        return ()
    here, _ = reached(text, None)
    return (
        finding(
            "CLU011",
            dotted(("cluster", "context")),
            f"{name} has contexts of several clusters ({first_names(sorted(known), _NAMED)}), and the stack names "
            f"none: it is on {here}, the current one, until `kubectl config use-context` changes it",
            f"write context: {here}, or the one that is meant",
        ),
    )


def cluster_entry(text: str, context: str | None) -> dict[str, Any]:
    """The cluster entry of a kubeconfig's context (by default the current one).

    Raises:
        ValueError: the text is not a kubeconfig, or lacks the context or its cluster. Never repeats the content.
    """
    return _entry(_document(text), context)[1]


def reached(text: str, context: str | None) -> Reached:
    """The context (by default the current one) and its API server.

    Raises:
        ValueError: as `cluster_entry`.
    """
    name, entry = _entry(_document(text), context)
    return Reached(name, str(entry["server"]))


def cluster_identity(text: str, context: str | None) -> str:
    """An identity that does not change when credentials are renewed, and differs between clusters.

    It is derived from the API server's address and the certificate authority, which no two clusters share.

    Raises:
        ValueError: as `cluster_entry`.
    """
    return _identity(cluster_entry(text, context))


def contexts_of(text: str, identity: str) -> tuple[str, ...]:
    """The contexts of a kubeconfig for the cluster with this identity; empty if the text is not a kubeconfig."""
    try:
        return tuple(name for name, found in _identities(text).items() if found == identity)
    except ValueError:
        return ()


def _identities(text: str) -> dict[str, str]:
    """The contexts of a kubeconfig that have a cluster, with its identity; raises ValueError for other texts."""
    document = _document(text)
    clusters = _map_entries(document.get("clusters"), "cluster")
    entries = {
        name: clusters.get(str(context.get("cluster")), {})
        for name, context in _map_entries(document["contexts"], "context").items()
    }
    return {name: _identity(entry) for name, entry in entries.items() if entry.get("server")}


def _identity(entry: dict[str, Any]) -> str:
    authority = entry.get("certificate-authority-data") or entry.get("certificate-authority") or ""
    return hashlib.sha256(f"{entry['server']}\n{authority}".encode()).hexdigest()[:32]


@lru_cache(maxsize=4)
def _document(text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("is not YAML") from error
    if not isinstance(document, dict) or not isinstance(document.get("contexts"), list):
        raise ValueError("is not a kubeconfig: it has no contexts")
    return document


def _entry(document: dict[str, Any], context: str | None) -> tuple[str, dict[str, Any]]:
    wanted = context or document.get("current-context")
    if not isinstance(wanted, str) or not wanted:
        raise ValueError("has no current context, and the stack names none")
    contexts = _map_entries(document["contexts"], "context")
    if wanted not in contexts:
        raise ValueError(f"has no context {wanted!r}; it has: {', '.join(sorted(contexts))}")
    found = _map_entries(document.get("clusters"), "cluster").get(str(contexts[wanted].get("cluster")), {})
    if not found.get("server"):
        raise ValueError(f"context {wanted!r} leads to no cluster with a server")
    return wanted, found


def _map_entries(entries: Any, key: str) -> dict[str, dict[str, Any]]:
    """The named entries of a kubeconfig list; entries of any other form are left out."""
    listed = entries if isinstance(entries, list) else []
    return {
        entry["name"]: entry[key]
        for entry in listed
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and isinstance(entry.get(key), dict)
    }
