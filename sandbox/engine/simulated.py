"""A stack for a cluster of one's own, tried on the sandbox: the same file, with the sandbox's cluster and charts."""

from __future__ import annotations

from typing import Any

from fabric.spec import StackDocument
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome

# What leads to the user's own cluster.
_OWN_CLUSTER = ("kubeconfigSecret", "context", "id")


def on_the_sandbox(document: StackDocument, home: SandboxHome) -> StackDocument:
    """The stack as it is, but for its kubeconfig and where its charts come from.

    Raises SandboxError for a provider whose clusters the sandbox does not play.
    """
    sections: dict[str, Any] = dict(document.sections)
    cluster, software = sections.get("cluster"), sections.get("software")
    # Anything else than a mapping is refused with the other mistakes of the file.
    if isinstance(cluster, dict):
        if cluster.get("provider") not in (None, "existing"):
            raise SandboxError(
                f"stack {document.name} makes a cluster of provider {cluster.get('provider')}, which the sandbox does "
                "not play",
                f"Its plan needs no cluster: make plan STACK={document.name}",
                status=2,
            )
        kept = {key: value for key, value in cluster.items() if key not in _OWN_CLUSTER}
        sections["cluster"] = {**kept, "kubeconfig": str(home.kubeconfig)}
    if software is None or isinstance(software, dict):
        sections["software"] = {**(software or {}), "charts": "bundled"}
    return document.model_copy(update={"sections": sections})
