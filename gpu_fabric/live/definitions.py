"""The definitions of the kinds that the stack applies, as far as the cluster has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.live.cluster import Cluster, Json, field, is_built_in, release_of
from gpu_fabric.live.difference import Difference, Seen, difference
from gpu_fabric.live.software import place_of_present
from gpu_fabric.live.stack import Stack

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RULES = "nodereadinessrules.readiness.node.x-k8s.io"
_PROMETHEUS = "prometheusrules.monitoring.coreos.com"
_PLACE = ("software", "releaseLine")


class _Wanted(NamedTuple):
    """A definition that a stack needs: the API's version, and software that the stack file says has it."""

    version: str
    component: str = ""
    title: str = ""
    instead: str = ""


def expected_definitions(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    """Definitions of operators that the stack file says are there: missing, or without the version of the stack."""
    for name, wanted in sorted(_expected(stack).items()):
        found = cluster.get(f"{_PATH}/{name}")
        if found is not None:
            yield from _not_served(name, wanted.version, found)
        elif cluster.is_readable(f"{_PATH}/{name}"):
            yield difference(
                "PRE023",
                Seen(object=f"CustomResourceDefinition {name}", field="", value="missing"),
                place_of_present(stack, wanted.component),
                f"the cluster has no definition {name}, though the stack file says that it has {wanted.title}",
                f"install {wanted.title} with its definitions, in a version that `gpu-fabric plan` names, or "
                f"{wanted.instead}",
            )


def _expected(stack: Stack) -> dict[str, _Wanted]:
    operators = () if stack.sharing is None else stack.sharing.operators
    found = {
        entry.name: _Wanted(entry.version, operator.name, operator.title, "let the stack install it (install: true)")
        for operator in operators
        for entry in operator.definitions
    }
    if "prometheus-operator" in stack.present and (version := _applied(stack).get(_PROMETHEUS)) is not None:
        title = "the Prometheus operator"
        found[_PROMETHEUS] = _Wanted(version, "prometheus-operator", title, "write prometheusRules: false")
    return found


def _applied(stack: Stack) -> dict[str, str]:
    """The versions in which the stack applies kinds, by the names of their definitions."""
    return {
        f"{entry.object.plural}.{entry.object.group()}": entry.object.api_version.rpartition("/")[2]
        for entry in stack.objects
        if not is_built_in(entry.object.group())
    }


def definition_differences(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    """Definitions that do not serve what the stack applies, that are going, or that another release owns."""
    expected = _expected(stack)
    for name, version in sorted(_applied(stack).items()):
        found = cluster.get(f"{_PATH}/{name}")
        if found is not None:
            # An `up` before this one may have brought the definition, and a newer chart may renew it.
            is_judged = name in expected or stack.has_been_up(cluster)
            yield from _of_one(stack, name, "" if is_judged else version, found)
        elif name == _RULES and cluster.is_readable(f"{_PATH}/{name}"):
            yield difference(
                "PRE024",
                Seen(object=f"CustomResourceDefinition {name}", field="", value="missing"),
                ("fabric", "readiness", "taint"),
                "the cluster has no Node Readiness Controller, which the stack file wants to set the taint",
                "install it (kubernetes-sigs/node-readiness-controller), or write taint: agent",
            )


def _not_served(name: str, version: str, found: Json) -> Iterator[Difference]:
    served = [entry["name"] for entry in field(found, "spec", "versions") or () if entry.get("served")]
    if version not in served:
        yield difference(
            "PRE020",
            Seen(object=f"CustomResourceDefinition {name}", field="spec.versions", value=", ".join(served) or "none"),
            _PLACE,
            f"the stack applies {name} in version {version}, and the cluster serves {' and '.join(served) or 'none'}",
            "upgrade the definition with the software that it belongs to: Helm does not upgrade definitions",
        )


def _of_one(stack: Stack, name: str, version: str, found: Json) -> Iterator[Difference]:
    called = f"CustomResourceDefinition {name}"
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
    elif version:
        yield from _not_served(name, version, found)
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
