"""Definitions that a Helm upgrade leaves behind: Helm installs those in a chart's `crds`, and never upgrades them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Json, collection, field, is_built_in, name_of, namespace_of, release_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.several import some
from gpu_fabric.live.steps import REFRESH, Edit, Step, uid_of
from gpu_fabric.plan.records import HelmRelease

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_OPEN = "x-kubernetes-preserve-unknown-fields"
_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")


def definition_damages(case: Examination) -> Iterator[Finding]:
    """Definitions without a version or a field of the stack's objects, and versions that are stored and not served."""
    kinds: dict[tuple[str, str], list[Json]] = {}
    for entry in case.stack.objects:
        group, _, version = entry.object.api_version.rpartition("/")
        if not is_built_in(group):
            kinds.setdefault((f"{entry.object.plural}.{group}", version), []).append(entry.object.manifest())
    for (name, version), manifests in sorted(kinds.items(), key=lambda kind: kind[0]):
        found = case.cluster.get(f"{_PATH}/{name}")
        if found is None or field(found, "metadata", "deletionTimestamp"):
            continue
        yield from _older(case, found, version, manifests)
        yield from _no_longer_served(case, found)


def _older(case: Examination, found: Json, version: str, manifests: list[Json]) -> Iterator[Finding]:
    called = f"CustomResourceDefinition {name_of(found)}"
    if _serves(found, version) and not _lacking(found, version, manifests):
        return
    remedy, steps = _remedy(case, found, version, manifests)
    is_own = bool(steps) and _is_own(case, found)
    if not _serves(found, version):
        served = [entry["name"] for entry in field(found, "spec", "versions") or () if entry.get("served")]
        yield finding(
            "DOC050",
            "",
            f"{called} does not serve version {version} of the stack's objects",
            remedy,
            seen=Seen(object=called, field="spec.versions", value=", ".join(served) or "none"),
            steps=steps,
            is_own=is_own,
        )
    else:
        fields = _lacking(found, version, manifests)
        yield finding(
            "DOC051",
            "",
            f"{called} does not have {some(fields)}: the API server drops what the stack sets there",
            remedy,
            seen=Seen(object=called, field=f"spec.versions[{version}].schema", value=f"without {', '.join(fields)}"),
            steps=steps,
            is_own=is_own,
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
    release = release_of(found)
    return release is None or release in {(own.name, own.namespace) for own in case.stack.releases.values()}


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
    path = collection(f"{field(found, 'spec', 'group')}/{storage}", str(field(found, "spec", "names", "plural")))
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
                    path=_object_path(path, item),
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


def _object_path(path: str, item: Json) -> str:
    root, _, plural = path.rpartition("/")
    namespace = namespace_of(item)
    return f"{root}/namespaces/{namespace}/{plural}/{name_of(item)}" if namespace else f"{path}/{name_of(item)}"
