"""A stack tried on the sandbox: the same file, with its cluster or its simulated cloud, and with its charts."""

from __future__ import annotations

from typing import Any

from fabric.spec import StackDocument
from fabric.spec.parts import part_of
from sandbox.home import SandboxHome

# What leads to the user's own cluster.
_OWN_CLUSTER = ("kubeconfigSecret", "context", "id")


def on_the_sandbox(document: StackDocument, home: SandboxHome) -> StackDocument:
    """The stack as it is, but for the kubeconfig of a cluster that exists, and where its charts come from."""
    sections: dict[str, Any] = dict(document.sections)
    cluster, software = sections.get("cluster"), sections.get("software")
    # Anything else than a mapping is refused with the other mistakes of the file.
    if isinstance(cluster, dict):
        sections["cluster"] = _cluster(cluster, home)
    # A stack that makes a cluster alone has no charts.
    if part_of(sections) != "cluster" and (software is None or isinstance(software, dict)):
        sections["software"] = {**(software or {}), "charts": "bundled"}
    return document.model_copy(update={"sections": sections})


def _cluster(cluster: dict[str, Any], home: SandboxHome) -> dict[str, Any]:
    if cluster.get("provider") not in (None, "existing"):
        # A cloud's cluster is made by the simulated cloud; what is no provider is refused with the other mistakes.
        return cluster
    kept = {key: value for key, value in cluster.items() if key not in _OWN_CLUSTER}
    return {**kept, "kubeconfig": str(home.kubeconfig)}
