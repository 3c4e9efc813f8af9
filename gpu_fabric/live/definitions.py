"""The definitions of the kinds that the stack applies, as far as the cluster has them."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.live.cluster import Cluster, Json, field, is_built_in, release_of
from gpu_fabric.live.difference import Difference, Seen, difference
from gpu_fabric.live.software import place_of_present
from gpu_fabric.live.stack import Stack
from gpu_fabric.spec.cluster import Component

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RULES = "nodereadinessrules.readiness.node.x-k8s.io"
# Definitions that software of the cluster brings, which the stack file says is there.
_BROUGHT: dict[str, tuple[Component, str]] = {
    "network-attachment-definitions.k8s.cni.cncf.io": ("multus", "Multus"),
    "prometheusrules.monitoring.coreos.com": ("prometheus-operator", "the Prometheus operator"),
}
_PLACE = ("software", "releaseLine")


def definition_differences(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    """Definitions that do not serve what the stack applies, that are going, or that another release owns."""
    kinds = {
        f"{entry.object.plural}.{entry.object.group()}": entry.object.api_version.rpartition("/")[2]
        for entry in stack.objects
        if not is_built_in(entry.object.group())
    }
    for name, version in sorted(kinds.items()):
        found = cluster.get(f"{_PATH}/{name}")
        if found is not None:
            yield from _of_one(stack, name, version, found, is_upgraded=stack.has_been_up(cluster))
        elif name in _BROUGHT and _BROUGHT[name][0] in stack.present and cluster.is_readable(f"{_PATH}/{name}"):
            component, title = _BROUGHT[name]
            yield difference(
                "PRE023",
                Seen(object=f"CustomResourceDefinition {name}", field="", value="missing"),
                place_of_present(stack, component),
                f"the cluster has no definition {name}, though the stack file says that it has {title}",
                f"install {title} with its definitions"
                + (", or let the stack install it" if component == "multus" else ", or write prometheusRules: false"),
            )
        elif name == _RULES and cluster.is_readable(f"{_PATH}/{name}"):
            yield difference(
                "PRE024",
                Seen(object=f"CustomResourceDefinition {name}", field="", value="missing"),
                ("fabric", "readiness", "taint"),
                "the cluster has no Node Readiness Controller, which the stack file wants to set the taint",
                "install it (kubernetes-sigs/node-readiness-controller), or write taint: agent",
            )


def _of_one(stack: Stack, name: str, version: str, found: Json, *, is_upgraded: bool) -> Iterator[Difference]:
    """`is_upgraded`: an `up` before this one may have brought the definition, and a newer chart may renew it."""
    called = f"CustomResourceDefinition {name}"
    served = [entry["name"] for entry in field(found, "spec", "versions") or () if entry.get("served")]
    conditions = {entry["type"]: entry for entry in field(found, "status", "conditions") or ()}
    deleted = field(found, "metadata", "deletionTimestamp")
    established = field(conditions.get("Established"), "status")
    if deleted or established == "False":
        yield difference(
            "PRE021",
            Seen(object=called, field="metadata.deletionTimestamp", value=str(deleted))
            if deleted
            else Seen(object=called, field="status.conditions[Established]", value="False"),
            _PLACE,
            f"{called} is {'being deleted' if deleted else 'not accepted by the API server'}, and the stack applies "
            "objects of this kind",
            f"see what holds it: `kubectl get crd {name} -o yaml`, and wait until it is gone"
            if deleted
            else f"see why: `kubectl get crd {name} -o yaml`",
        )
    elif version not in served and not is_upgraded:
        yield difference(
            "PRE020",
            Seen(object=called, field="spec.versions", value=", ".join(served) or "none"),
            _PLACE,
            f"the stack applies {name} in version {version}, and the cluster serves {' and '.join(served) or 'none'}",
            "upgrade the definition with the software that it belongs to: Helm does not upgrade definitions",
        )
    release = release_of(found)
    # The operator's own definitions are what a stack expects that builds on operators which are there.
    if (
        stack.sharing is None
        and release is not None
        and not any(release == (own.name, own.namespace) for own in stack.releases.values())
    ):
        yield difference(
            "PRE022",
            Seen(object=called, field="metadata.annotations[meta.helm.sh/release-name]", value=release[0]),
            _PLACE,
            f"{called} belongs to the release {release[0]} in namespace {release[1]}: uninstalling that deletes it, "
            "and every object of the kind with it",
            "keep that release, or annotate the definition with helm.sh/resource-policy: keep",
        )
