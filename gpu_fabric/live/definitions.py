"""The definitions of the kinds that the stack applies, as far as the cluster has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Json, field, is_built_in, release_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.software import place_of_present
from gpu_fabric.live.stack import Stack
from gpu_fabric.spec.places import dotted

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_INSTALL = "let the stack install it (install: true)"
_RULES = "nodereadinessrules.readiness.node.x-k8s.io"
# Definitions that software of the cluster brings, which the stack file says is there.
_BROUGHT = {
    "network-attachment-definitions.k8s.cni.cncf.io": ("multus", "Multus", _INSTALL),
    "prometheusrules.monitoring.coreos.com": (
        *("prometheus-operator", "the Prometheus operator"),
        "write prometheusRules: false",
    ),
}
_PLACE = ("software", "releaseLine")


class _Wanted(NamedTuple):
    """A definition that a stack needs: the API's version, and software that the stack file says has it."""

    version: str
    component: str
    title: str
    instead: str


def expected_definitions(case: Examination) -> Iterator[Finding]:
    """Definitions of operators that the stack file says are there: missing, or without the version of the stack."""
    stack, cluster = case.stack, case.cluster
    for name, wanted in sorted(_expected(stack).items()):
        found = cluster.get(f"{_PATH}/{name}")
        if found is not None:
            yield from _not_served(name, wanted.version, found)
        elif cluster.is_readable(f"{_PATH}/{name}"):
            yield finding(
                "PRE023",
                dotted(place_of_present(stack, wanted.component)),
                f"the cluster has no definition {name}, though the stack file says that it has {wanted.title}",
                f"install {wanted.title} with its definitions, in a version that `gpu-fabric plan` names, or "
                f"{wanted.instead}",
                seen=Seen(object=f"CustomResourceDefinition {name}", field="", value="missing"),
            )


def _expected(stack: Stack) -> dict[str, _Wanted]:
    operators, applied = () if stack.sharing is None else stack.sharing.operators, _applied(stack)
    brought = {
        name: _Wanted(applied[name], *row)
        for name, row in _BROUGHT.items()
        if row[0] in stack.present and name in applied
    }
    return brought | {
        entry.name: _Wanted(entry.version, operator.name, operator.title, _INSTALL)
        for operator in operators
        for entry in operator.definitions
    }


def _applied(stack: Stack) -> dict[str, str]:
    """The versions in which the stack applies kinds, by the names of their definitions."""
    return {
        f"{entry.object.plural}.{entry.object.group()}": entry.object.api_version.rpartition("/")[2]
        for entry in stack.objects
        if not is_built_in(entry.object.group())
    }


def definition_differences(case: Examination) -> Iterator[Finding]:
    """Definitions that do not serve what the stack applies, that are going, or that another release owns."""
    stack, cluster = case.stack, case.cluster
    expected = _expected(stack)
    for name, version in sorted(_applied(stack).items()):
        found = cluster.get(f"{_PATH}/{name}")
        if found is not None:
            # An `up` before this one may have brought the definition, and a newer chart may renew it.
            is_judged = name in expected or stack.has_been_up(cluster)
            yield from _of_one(stack, name, "" if is_judged else version, found)
        elif name == _RULES and cluster.is_readable(f"{_PATH}/{name}"):
            yield finding(
                "PRE024",
                dotted(("fabric", "readiness", "taint")),
                "the cluster has no Node Readiness Controller, which the stack file wants to set the taint",
                "install it (kubernetes-sigs/node-readiness-controller), or write taint: agent",
                seen=Seen(object=f"CustomResourceDefinition {name}", field="", value="missing"),
            )


def _not_served(name: str, version: str, found: Json) -> Iterator[Finding]:
    served = [entry["name"] for entry in field(found, "spec", "versions") or () if entry.get("served")]
    if version not in served:
        yield finding(
            "PRE020",
            dotted(_PLACE),
            f"the stack applies {name} in version {version}, and the cluster serves {' and '.join(served) or 'none'}",
            "upgrade the definition with the software that it belongs to: Helm does not upgrade definitions",
            seen=Seen(
                object=f"CustomResourceDefinition {name}", field="spec.versions", value=", ".join(served) or "none"
            ),
        )


def _of_one(stack: Stack, name: str, version: str, found: Json) -> Iterator[Finding]:
    called = f"CustomResourceDefinition {name}"
    conditions = {entry["type"]: entry for entry in field(found, "status", "conditions") or ()}
    deleted = field(found, "metadata", "deletionTimestamp")
    established = field(conditions.get("Established"), "status")
    if deleted or established == "False":
        yield finding(
            "PRE021",
            dotted(_PLACE),
            f"{called} is {'being deleted' if deleted else 'not accepted by the API server'}, and the stack applies "
            "objects of this kind",
            f"see what holds it: `kubectl get crd {name} -o yaml`, and wait until it is gone"
            if deleted
            else f"see why: `kubectl get crd {name} -o yaml`",
            seen=Seen(object=called, field="metadata.deletionTimestamp", value=str(deleted))
            if deleted
            else Seen(object=called, field="status.conditions[Established]", value="False"),
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
        yield finding(
            "PRE022",
            dotted(_PLACE),
            f"{called} belongs to the release {release[0]} in namespace {release[1]}: uninstalling that deletes it, "
            "and every object of the kind with it",
            "keep that release, or annotate the definition with helm.sh/resource-policy: keep",
            seen=Seen(object=called, field="metadata.annotations[meta.helm.sh/release-name]", value=release[0]),
        )
