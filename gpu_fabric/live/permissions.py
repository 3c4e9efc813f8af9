"""What the user of the kubeconfig may do: create the stack's kinds, and read what is judged here."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.several import some
from gpu_fabric.spec.places import Location, dotted

_PLACE: Location = ("cluster", "provider")
# What every chart of the catalog creates in addition to its pods.
_OF_CHARTS = (
    ("apiextensions.k8s.io", "customresourcedefinitions", False),
    ("rbac.authorization.k8s.io", "clusterroles", False),
    ("rbac.authorization.k8s.io", "clusterrolebindings", False),
    ("apps", "deployments", True),
    ("apps", "daemonsets", True),
    # Helm keeps its releases in them.
    ("", "secrets", True),
)


def permission_differences(case: Examination) -> Iterator[Finding]:
    """What the user may not create, and what could not be read."""
    stack, cluster = case.stack, case.cluster
    asked = {(entry.object.group(), entry.object.plural, entry.object.metadata.namespace) for entry in stack.objects}
    for release in stack.releases.values():
        asked |= {(group, plural, release.namespace if spaced else None) for group, plural, spaced in _OF_CHARTS}
    denied = {}
    for group, plural, namespace in sorted(asked, key=lambda kind: (kind[0], kind[1], kind[2] or "")):
        reason = cluster.may_create(group, plural, namespace)
        if reason is not None:
            denied[f"{plural}{f'.{group}' if group else ''}{f' in {namespace}' if namespace else ''}"] = reason
    if denied:
        first = next(iter(denied))
        yield finding(
            "PRE100",
            dotted(_PLACE),
            f"the kubeconfig's user may not create {some(list(denied))}",
            seen=Seen(object="SelfSubjectAccessReview", field=f"create {first}", value=denied[first]),
        )


def unread(cluster: Cluster) -> Iterator[Finding]:
    """What could not be read, once everything else has been judged."""
    if cluster.refused:
        path = min(cluster.refused)
        yield finding(
            "PRE101",
            dotted(_PLACE),
            f"{some(sorted(cluster.refused))} may not be read, and what is there was not judged",
            seen=Seen(object=path, value=cluster.refused[path]),
        )
