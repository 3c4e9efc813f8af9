"""A stack tried on the sandbox: the same file, with its cluster or its simulated cloud, and with its charts."""

from __future__ import annotations

from typing import Any

from fabric.spec import StackDocument
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome

# Whose clusters the sandbox plays: the clusters that such a stack makes are the simulated cloud's.
_PLAYED = ("doks",)
# What leads to the user's own cluster.
_OWN_CLUSTER = ("kubeconfigSecret", "context", "id")


def on_the_sandbox(document: StackDocument, home: SandboxHome) -> StackDocument:
    """The stack as it is, but for the kubeconfig of a cluster that exists, and where its charts come from.

    Raises SandboxError for a provider whose clusters the sandbox does not play.
    """
    sections: dict[str, Any] = dict(document.sections)
    cluster, software = sections.get("cluster"), sections.get("software")
    # Anything else than a mapping is refused with the other mistakes of the file.
    if isinstance(cluster, dict):
        sections["cluster"] = _cluster(document.name, cluster, home)
    if software is None or isinstance(software, dict):
        sections["software"] = {**(software or {}), "charts": "bundled"}
    return document.model_copy(update={"sections": sections})


def _cluster(stack: str, cluster: dict[str, Any], home: SandboxHome) -> dict[str, Any]:
    provider = cluster.get("provider")
    if provider in _PLAYED:
        return cluster
    if provider not in (None, "existing"):
        raise SandboxError(
            f"stack {stack} makes a cluster of provider {provider}, which the sandbox does not play",
            f"Its plan needs no cluster: make plan STACK={stack}",
            status=2,
        )
    kept = {key: value for key, value in cluster.items() if key not in _OWN_CLUSTER}
    return {**kept, "kubeconfig": str(home.kubeconfig)}
