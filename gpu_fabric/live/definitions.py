"""The definitions of the kinds that the stack applies, as far as the cluster has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpu_fabric.base.api_objects import condition
from gpu_fabric.findings import Finding, Seen, Step, finding
from gpu_fabric.live.cluster import Json, api_path, field, is_built_in, name_of, path_of, release_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.several import some
from gpu_fabric.live.software import place_of_present
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.steps import REFRESH, Edit, uid_of
from gpu_fabric.plan.records import HelmRelease
from gpu_fabric.spec.places import dotted

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_INSTALL = "let the stack install it (install: true)"
_OF_ITS_SOFTWARE = "upgrade the definition with the software that it belongs to: Helm does not upgrade definitions"
_OPEN = "x-kubernetes-preserve-unknown-fields"
_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")
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
            if not _serves(found, wanted.version):
                yield _not_served(case, found, wanted.version, None)
        elif cluster.is_readable(f"{_PATH}/{name}"):
            yield finding(
                "PRE023",
                dotted(place_of_present(stack, wanted.component)),
                f"the cluster has no definition {name}, though the stack file says that it has {wanted.title}",
                f"install {wanted.title} with its definitions, in a version that `gpu-fabric plan` names, or "
                f"{wanted.instead}",
                seen=Seen(object=f"CustomResourceDefinition {name}", value="missing"),
            )


def _expected(stack: Stack) -> dict[str, _Wanted]:
    operators, applied = () if stack.sharing is None else stack.sharing.operators, _applied(stack)
    installed = {
        name: _Wanted(applied[name], *row)
        for name, row in _BROUGHT.items()
        if row[0] in stack.present and name in applied
    }
    return installed | {
        entry.name: _Wanted(entry.version, operator.name, operator.title, _INSTALL)
        for operator in operators
        for entry in operator.definitions
    }


def _applied(stack: Stack) -> dict[str, str]:
    """The versions in which the stack applies kinds, by the names of their definitions."""
    return dict(_manifests(stack).keys())


def _manifests(stack: Stack) -> dict[tuple[str, str], list[Json]]:
    """The objects that the stack applies of kinds that have a definition, by its name and the version."""
    kinds: dict[tuple[str, str], list[Json]] = {}
    for entry in stack.objects:
        group, _, version = entry.object.api_version.rpartition("/")
        if not is_built_in(group):
            kinds.setdefault((f"{entry.object.plural}.{group}", version), []).append(entry.object.manifest())
    return kinds


def unusable_definitions(case: Examination) -> Iterator[Finding]:
    """Definitions that are going or not accepted, that lack a version or a field, or that store what is not served."""
    expected, has_been_up = _expected(case.stack), case.stack.has_been_up(case.cluster)
    for (name, version), manifests in sorted(_manifests(case.stack).items(), key=lambda kind: kind[0]):
        found = case.cluster.get(f"{_PATH}/{name}")
        if found is None:
            continue
        refused = condition(found, "Established").get("status") == "False"
        if refused or field(found, "metadata", "deletionTimestamp"):
            yield _going(found)
        elif not _serves(found, version):
            # An `up` before this one may have installed the definition, and a newer chart may renew it.
            if case.phase == "damage" or not (has_been_up or name in expected):
                yield _not_served(case, found, version, manifests)
        elif case.phase == "damage" and (fields := _lacking(found, version, manifests)):
            yield _without_fields(case, found, version, manifests, fields)
        yield from _no_longer_served(case, found)


def foreign_definitions(case: Examination) -> Iterator[Finding]:
    """Definitions of the stack's kinds that another release owns, and one that nothing has made."""
    for name in sorted(_applied(case.stack)):
        found = case.cluster.get(f"{_PATH}/{name}")
        if found is not None:
            yield from _of_another_release(case.stack, found)
        elif name == _RULES and case.cluster.is_readable(f"{_PATH}/{name}"):
            yield finding(
                "PRE024",
                dotted(("fabric", "readiness", "taint")),
                seen=Seen(object=f"CustomResourceDefinition {name}", value="missing"),
            )


def _going(found: Json) -> Finding:
    name, deleted = name_of(found), field(found, "metadata", "deletionTimestamp")
    called = f"CustomResourceDefinition {name}"
    return finding(
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


def _of_another_release(stack: Stack, found: Json) -> Iterator[Finding]:
    called = f"CustomResourceDefinition {name_of(found)}"
    release = release_of(found)
    # The operator's own definitions are what a stack expects that builds on operators which are there.
    if stack.sharing is None and release is not None and not stack.has_released(found):
        yield finding(
            "PRE022",
            dotted(_PLACE),
            f"{called} belongs to the release {release[0]} in namespace {release[1]}: uninstalling that deletes it, "
            "and every object of the kind with it",
            seen=Seen(object=called, field="metadata.annotations[meta.helm.sh/release-name]", value=release[0]),
        )


def _not_served(case: Examination, found: Json, version: str, manifests: list[Json] | None) -> Finding:
    """`manifests` are the stack's objects of the kind; None where it belongs to what the cluster already has."""
    name = name_of(found)
    served = [entry["name"] for entry in field(found, "spec", "versions") or () if entry.get("served")]
    remedy, steps = (_OF_ITS_SOFTWARE, []) if manifests is None else _remedy(case, found, version, manifests)
    return finding(
        "PRE020",
        dotted(_PLACE),
        f"the stack applies {name} in version {version}, and the cluster serves {' and '.join(served) or 'none'}",
        remedy,
        seen=Seen(object=f"CustomResourceDefinition {name}", field="spec.versions", value=", ".join(served) or "none"),
        steps=steps,
        is_own=bool(steps) and _is_own(case, found),
    )


def _without_fields(case: Examination, found: Json, version: str, manifests: list[Json], fields: list[str]) -> Finding:
    called, (remedy, steps) = f"CustomResourceDefinition {name_of(found)}", _remedy(case, found, version, manifests)
    return finding(
        "DOC051",
        "",
        f"{called} does not have {some(fields)}: the API server drops what the stack sets there",
        remedy,
        seen=Seen(object=called, field=f"spec.versions[{version}].schema", value=f"without {', '.join(fields)}"),
        steps=steps,
        is_own=bool(steps) and _is_own(case, found),
    )


def _remedy(case: Examination, found: Json, version: str, manifests: list[Json]) -> tuple[str, list[Step]]:
    """What is done by hand, and the steps where the definition of the stack's chart is at hand."""
    for release in case.stack.releases.values():
        wanted = next((item for item in case.definitions(release) if name_of(item) == name_of(found)), None)
        if wanted is not None and _serves(wanted, version) and not _lacking(wanted, version, manifests):
            # What was written meanwhile has lost these fields, and the next `up` must see that. A version that was not
            # served was not written either; and it may not be served at once, when all its objects would look deleted.
            is_written = _serves(found, version) and case.state is not None and case.state.resources
            after = [REFRESH] if is_written else []
            return _by_hand(release), [_upgrade(found, wanted, release), *after]
    charts = [release for release in case.stack.releases.values() if release.chart.path is None]
    return "apply the definition of the chart's version" + "".join(f"; {_by_hand(release)}" for release in charts), []


def _upgrade(found: Json, wanted: Json, release: HelmRelease) -> Edit:
    versions = field(wanted, "spec", "versions")
    return Edit(
        path=f"{_PATH}/{name_of(found)}",
        uid=uid_of(found),
        expects={"spec": {"versions": field(found, "spec", "versions")}},
        merge={"spec": {"versions": versions}},
        words=f"write the versions of {name_of(found)} as chart {release.chart.name} {release.chart.version} has them",
    )


def _is_own(case: Examination, found: Json) -> bool:
    """Whether no release but those of the stack has a definition; what is in a folder `crds` is of none."""
    return release_of(found) is None or case.stack.has_released(found)


def _by_hand(release: HelmRelease) -> str:
    chart = release.chart
    if chart.path is not None:
        return f"`kubectl apply --server-side --force-conflicts -f {chart.path}/crds`"
    repository = chart.repository or ""
    source = f"{repository}/{chart.name}" if repository.startswith("oci:") else f"{chart.name} --repo {repository}"
    return f"`helm show crds {source} --version {chart.version} | kubectl apply --server-side --force-conflicts -f -`"


def _serves(definition: Json, version: str) -> bool:
    return any(
        entry.get("name") == version and entry.get("served") for entry in field(definition, "spec", "versions") or ()
    )


def _lacking(definition: Json, version: str, manifests: list[Json]) -> list[str]:
    """The fields of manifests that a version's schema does not have, as dotted paths."""
    entry = next(entry for entry in field(definition, "spec", "versions") if entry["name"] == version)
    schema = field(entry, "schema", "openAPIV3Schema") or {_OPEN: True}
    found = (
        path
        for manifest in manifests
        for key, value in manifest.items()
        if key not in _OF_EVERY_OBJECT
        for path in _unknown(schema, {key: value}, "")
    )
    return list(dict.fromkeys(found))


def _unknown(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    """Paths in a value that a structural schema does not know, and that the API server therefore drops."""
    if isinstance(value, Mapping):
        known, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, part in value.items():
            place = f"{path}.{key}".lstrip(".")
            if key in known:
                yield from _unknown(known[key], part, place)
            elif isinstance(others, Mapping):
                yield from _unknown(others, part, place)
            elif not others and not schema.get(_OPEN) and not schema.get("x-kubernetes-embedded-resource"):
                yield place
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _unknown(schema.get("items") or {_OPEN: True}, part, f"{path}[]")


def _no_longer_served(case: Examination, found: Json) -> Iterator[Finding]:
    versions = {entry["name"]: entry for entry in field(found, "spec", "versions") or ()}
    stored = list(field(found, "status", "storedVersions") or ())
    old = [name for name in stored if not versions.get(name, {}).get("served")]
    storage = next((name for name, entry in versions.items() if entry.get("storage") and entry.get("served")), None)
    if not old or storage is None:
        return
    kept = [version for version in stored if version not in old] or [storage]
    name = name_of(found)
    path = api_path(f"{field(found, 'spec', 'group')}/{storage}", str(field(found, "spec", "names", "plural")))
    kind = str(field(found, "spec", "names", "kind"))
    items = case.cluster.items(path)
    if not case.cluster.is_readable(path):
        return
    yield finding(
        "DOC052",
        "",
        f"objects of {name} may be stored as {' and '.join(old)}, which is not served any more: a definition without "
        "that version is refused",
        f"write each of its {len(items)} objects once more, then set status.storedVersions to [{storage}]",
        seen=Seen(object=f"CustomResourceDefinition {name}", field="status.storedVersions", value=", ".join(stored)),
        steps=[
            *(
                Edit(
                    path=path_of(path, item),
                    uid=uid_of(item),
                    expects={},
                    merge={},
                    words=f"write {kind} {name_of(item)} again, as {storage}",
                )
                for item in items
            ),
            Edit(
                path=f"{_PATH}/{name}/status",
                uid=uid_of(found),
                expects={"status": {"storedVersions": stored}},
                merge={"status": {"storedVersions": kept}},
                words=f"take {' and '.join(old)} off the stored versions of {name}",
            ),
        ],
        is_own=_is_own(case, found),
    )
