"""What of a chart's objects counts as drift, how it is told, and what is never told."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from committed_stacks import folder_of, stack_names
from typer.testing import CliRunner, Result

from components.cluster_api import RequestError
from components.release_drift import ReleaseDrift, release_drift
from gpu_fabric.prepare import prepare_stack
from gpu_fabric.resources import resources
from gpu_fabric.resources.charts import RELEASE as RELEASE_TYPE
from stacks.drift import app, lines, releases

Json = dict[str, Any]
RELEASE = ("operators", "driver")
SECRET_TEXT = base64.b64encode(b"hunter2").decode()
KINDS = {
    "/api/v1": [("ConfigMap", "configmaps", True), ("Secret", "secrets", True)],
    "/apis/apps/v1": [("DaemonSet", "daemonsets", True)],
    "/apis/rbac.authorization.k8s.io/v1": [("ClusterRole", "clusterroles", False)],
}


class Cluster:
    """An API server with objects by their paths; what is applied to it as a dry run is merged, and never kept."""

    def __init__(self, *manifests: Json, status: str = "deployed") -> None:
        text = "---\n".join(yaml.safe_dump(manifest) for manifest in manifests)
        self.records = [_record(1, "superseded", "kind: Old"), _record(10, status, text), _record(9, "superseded", "")]
        self.objects = {_path(manifest): copy.deepcopy(manifest) for manifest in manifests}
        self.refusals: dict[str, RequestError] = {}
        self.sent: list[str] = []

    def items(self, collection: str, selector: str) -> list[Json]:
        assert (collection, selector) == ("/api/v1/namespaces/operators/secrets", "owner=helm,name=driver")
        return self.records

    def request(self, method: str, path: str, body: Json | None = None, headers: Any = None) -> Json:
        self.sent.append(f"{method} {path}")
        target = urlsplit(path)
        if target.path in KINDS:
            return {"resources": [{"kind": k, "name": n, "namespaced": ns} for k, n, ns in KINDS[target.path]]}
        if method == "PATCH" and target.path in self.refusals:
            raise self.refusals[target.path]
        if target.path not in self.objects:
            raise RequestError(404, "not found")
        if method == "GET":
            return copy.deepcopy(self.objects[target.path])
        assert parse_qs(target.query)["dryRun"] == ["All"]
        assert body is not None
        data = {key: base64.b64encode(value.encode()).decode() for key, value in body.pop("stringData", {}).items()}
        return _merged(self.objects[target.path], {**body, **({"data": data} if data else {})})


def _record(version: int, status: str, manifest: str) -> Json:
    text = json.dumps({"version": version, "info": {"status": status}, "manifest": manifest}).encode()
    release = base64.b64encode(base64.b64encode(gzip.compress(text))).decode()
    return {"metadata": {"labels": {"version": str(version)}}, "data": {"release": release}}


def _path(manifest: Json) -> str:
    version = manifest["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    [(plural, namespaced)] = [(n, ns) for k, n, ns in KINDS.get(root, []) if k == manifest["kind"]] or [
        ("things", True)
    ]
    place = f"/namespaces/{manifest['metadata'].get('namespace', 'operators')}" if namespaced else ""
    return f"{root}{place}/{plural}/{manifest['metadata']['name']}"


def _merged(old: Any, new: Any) -> Any:
    """As the server applies: maps key by key, and lists of named entries by their names."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(entry, dict) for entry in [*old, *new]):
        there = {entry["name"]: entry for entry in old}
        return [*(there | {entry["name"]: _merged(there.get(entry["name"], {}), entry) for entry in new}).values()]
    return new


def _object(kind: str, version: str = "v1", **content: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "thing"}, **content}


def _daemon(**container: Any) -> Json:
    spec = {"template": {"spec": {"containers": [{"name": "main", "image": "driver:1", **container}]}}}
    return _object("DaemonSet", "apps/v1", spec=spec)


def _found(cluster: Cluster) -> ReleaseDrift:
    [drift] = release_drift(cluster, [RELEASE])  # type: ignore[arg-type]
    return drift


def _told(cluster: Cluster) -> str:
    return "\n".join(lines("dev", [_found(cluster)]))


def test_objects_as_the_newest_revision_wrote_them_are_no_drift_whatever_else_they_carry() -> None:
    cluster = Cluster(_daemon(), _object("ConfigMap", data={"a": "b"}, status=None))
    for entry in cluster.objects.values():
        entry["metadata"] |= {"labels": {"of": "somebody"}, "resourceVersion": "7", "managedFields": [{"manager": "x"}]}
        entry["status"] = {"ready": 3}
    assert not _found(cluster).drifted
    assert _told(cluster).splitlines()[-1] == "stack dev: no drift"


def test_nothing_is_written_but_as_a_dry_run() -> None:
    cluster = Cluster(_daemon(), _object("ConfigMap", data={"a": "b"}))
    _found(cluster)
    writes = [line for line in cluster.sent if not line.startswith("GET ")]
    assert len(writes) == 2
    assert all("dryRun=All" in line for line in writes)


def test_a_changed_field_a_removed_one_and_a_missing_object_are_named() -> None:
    cluster = Cluster(_daemon(args=["--quiet"]), _object("ConfigMap", data={"a": "b"}), _object("Secret"))
    container = cluster.objects[_path(_daemon())]["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "driver:2"
    del container["args"]
    del cluster.objects[_path(_object("ConfigMap"))]
    assert _told(cluster).splitlines()[1:4] == [
        "  - ConfigMap operators/thing was deleted",
        "  - DaemonSet operators/thing: spec.template.spec.containers[main].args was removed, which was ['--quiet']",
        "  - DaemonSet operators/thing: spec.template.spec.containers[main].image is 'driver:2' instead of 'driver:1'",
    ]


def test_an_object_of_a_kind_that_the_cluster_no_longer_knows_is_gone() -> None:
    cluster = Cluster(_object("Thing", "example.com/v1"))
    assert _found(cluster).missing[0].kind == "Thing"


def test_an_object_without_a_namespace_is_named_without_one() -> None:
    cluster = Cluster(_object("ClusterRole", "rbac.authorization.k8s.io/v1", rules=[]))
    cluster.objects.clear()
    assert "  - ClusterRole thing was deleted" in _told(cluster)


@pytest.mark.parametrize("written", [{"stringData": {"password": "hunter2"}}, {"data": {"password": SECRET_TEXT}}])
def test_a_secrets_values_are_never_told_and_its_drift_is(written: Json) -> None:
    cluster = Cluster(_object("Secret", **written))
    live = cluster.objects[_path(_object("Secret"))]
    live.pop("stringData", None)
    live["data"] = {"password": base64.b64encode(b"letmein").decode()}
    told = _told(cluster)
    assert "  - Secret operators/thing: data.password is not as written" in told
    assert not any(text in told for text in ("hunter2", SECRET_TEXT, "letmein", live["data"]["password"]))


def test_a_variable_of_a_container_is_named_without_its_value() -> None:
    cluster = Cluster(_daemon(env=[{"name": "TOKEN", "value": "hunter2"}]))
    container = cluster.objects[_path(_daemon())]["spec"]["template"]["spec"]["containers"][0]
    container["env"][0]["value"] = "letmein"
    told = _told(cluster)
    assert "containers[main].env[TOKEN].value is not as written" in told
    assert "hunter2" not in told
    assert "letmein" not in told


@pytest.mark.parametrize(("kind", "reason"), [("DaemonSet", ": webhook says: no hunter2"), ("Secret", "")])
def test_what_the_server_refuses_to_judge_is_told_with_its_reason_but_for_secrets(kind: str, reason: str) -> None:
    entry = _daemon() if kind == "DaemonSet" else _object("Secret")
    cluster = Cluster(entry)
    cluster.refusals[_path(entry)] = RequestError(400, "webhook says: no hunter2")
    assert _told(cluster).splitlines()[1] == f"  - {kind} operators/thing cannot be compared{reason}"


@pytest.mark.parametrize(
    ("records", "problem"),
    [([], "is not installed"), ([_record(3, "pending-upgrade", "")], "its newest revision, 3, is pending-upgrade")],
)
def test_a_release_that_is_not_installed_or_half_way_is_drift_itself(records: list[Json], problem: str) -> None:
    cluster = Cluster()
    cluster.records = records
    assert _found(cluster).drifted
    assert problem in _told(cluster)


def _run(text: str, *options: str) -> Result:
    return CliRunner().invoke(app, ["-s", "dev", *options], input=text, env={"KUBECONFIG": ""})


@pytest.mark.parametrize("kubeconfig", ["", "token: very-secret", "{"], ids=["nothing", "no kubeconfig", "no YAML"])
def test_a_kubeconfig_that_cannot_be_used_is_refused_without_a_word_of_it(kubeconfig: str) -> None:
    result = _run(kubeconfig, "--kubeconfig", "-")
    assert result.exit_code == 2
    assert "its kubeconfig cannot be used" in result.stderr
    assert "very-secret" not in result.output


def test_a_kubeconfig_comes_from_a_file_that_is_named_or_from_the_one_that_the_environment_names(
    tmp_path: Path,
) -> None:
    missing = tmp_path / "kubeconfig"
    assert f"{missing}: No such file" in _run("", "--kubeconfig", str(missing)).stderr
    by_environment = CliRunner().invoke(app, ["-s", "dev"], env={"KUBECONFIG": str(missing)})
    assert f"{missing}: No such file" in by_environment.stderr
    assert "no kubeconfig: name a file" in _run("").stderr


def test_a_stack_that_cannot_be_planned_is_refused_with_the_reasons() -> None:
    result = CliRunner().invoke(app, ["-s", "nowhere", "--kubeconfig", "-"])
    assert result.exit_code == 2
    assert "there is no stack file for 'nowhere'" in result.stderr


def test_every_release_that_a_stack_makes_is_looked_into() -> None:
    looked_into = 0
    for stack in stack_names():
        plan = prepare_stack(stack, folder_of(stack))
        made = [entry.properties for entry in resources(plan) if entry.type == RELEASE_TYPE]
        assert sorted(releases(plan)) == sorted((entry["namespace"], entry["name"]) for entry in made)
        looked_into += len(made)
    assert looked_into > 10
