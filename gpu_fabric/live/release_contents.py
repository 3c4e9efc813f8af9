"""Helm releases: the chart and values that Helm has on record, and the chart's objects as they are.

A refresh by Pulumi reads Helm's record of a release, but not its objects. Here each object of the newest record is
compared with the cluster's.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from gpu_fabric.changes.properties import differences
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Cluster, Json, api_path, called, field, labels_of, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.fields import author, changed_fields, value, words
from gpu_fabric.live.helm_records import manifests, place_of, record_of
from gpu_fabric.plan.records import HelmRelease
from gpu_fabric.spec.places import Location, dotted

_PLACE: Location = ("software",)


def release_drift(case: Examination) -> Iterator[Finding]:
    """What differs between the plan's releases, Helm's records of them, and their objects."""
    stack, cluster = case.stack, case.cluster
    for release in stack.plan.releases:
        selector = urlencode({"labelSelector": f"owner=helm,name={release.name}"})
        path = f"{api_path('v1', 'secrets', release.namespace)}?{selector}"
        revisions = sorted(cluster.items(path), key=lambda secret: int(labels_of(secret)["version"]))
        record = record_of(revisions[-1]) if revisions else None
        if not cluster.is_readable(path):
            continue
        yield from _record(release, record)
        for manifest in manifests(record) if record else ():
            yield from _object(cluster, release, manifest, _rollback(release, record or {}))


def _record(release: HelmRelease, record: Json | None) -> Iterator[Finding]:
    name = f"release {release.namespace}/{release.name}"
    status = field(record, "info", "status")
    if status != "deployed":
        what = (
            f"{name} is not installed: the cluster has no record of it"
            if record is None
            else f"the newest revision of {name}, {record['version']}, is {status} and not deployed"
        )
        seen = Seen(object=f"Helm {name}", field="info.status", value=str(status or "missing"))
        yield finding("DRI010", dotted(_PLACE), what, seen=seen)
    if record is None:
        return
    version = str(field(record, "chart", "metadata", "version") or "").removeprefix("v")
    if version and version != release.chart.version.removeprefix("v"):
        yield finding(
            "DRI011",
            dotted(_PLACE),
            f"{name} is of chart version {version}, and the plan installs {release.chart.version}",
            seen=Seen(object=f"Helm {name}", field="chart.metadata.version", value=version),
        )
    secret = {entry.path for entry in release.secret_values}
    found = [
        entry
        for entry in differences(record.get("config") or {}, dict(release.values))
        if not any(path == entry.path or path.startswith(f"{entry.path}.") for path in secret)
    ]
    if found:
        first = found[0]
        more = f", and {len(found) - 1} values more" if len(found) > 1 else ""
        # A value that a user has set may be a secret.
        what = {
            "added": f"the plan sets {first.path} to {value(first.new)}, which is not set",
            "removed": f"{first.path} is set, and the plan does not set it",
            "changed": f"{first.path} is not what the plan sets, {value(first.new)}",
        }[first.kind]
        yield finding(
            "DRI012",
            dotted(_PLACE),
            f"{name}: {what}{more}",
            seen=Seen(object=f"Helm {name}", field="config", value=", ".join(entry.path for entry in found[:4])),
        )


def _rollback(release: HelmRelease, record: Json) -> str:
    """The command that writes a release as its newest revision has it; without a number Helm takes the one before."""
    return f"`helm rollback {release.name} {record.get('version')} -n {release.namespace}`"


def _object(cluster: Cluster, release: HelmRelease, manifest: Json, rollback: str) -> Iterator[Finding]:
    """The differences of one object of a chart."""
    kind, metadata = str(manifest["kind"]), manifest["metadata"]
    place = place_of(cluster, manifest, release.namespace)
    path, namespace = place or ("", metadata.get("namespace"))
    named = {**manifest, "metadata": {**metadata, **({"namespace": namespace} if namespace else {})}}
    there = cluster.items(path) if path else ()
    live = next((item for item in there if name_of(item) == metadata["name"]), None)
    if live is None:
        if not path or cluster.is_readable(path):
            yield finding(
                "DRI013",
                dotted(_PLACE),
                f"{called(kind, named)} of release {release.name} was deleted",
                f"write it again: {rollback}",
                seen=Seen(object=called(kind, named), value="missing"),
            )
        return
    for entry in changed_fields(live, named, cluster.as_written):
        yield finding(
            "DRI014",
            dotted(_PLACE),
            f"{called(kind, named)} of release {release.name}: {words(kind, entry)}",
            f"write it again: {rollback}, or change the values in the stack file",
            seen=Seen(object=called(kind, named), field=entry.path, value=author(live, entry.keys)),
        )
