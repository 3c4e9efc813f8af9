"""A bundle: judged later, without the cluster, it gives what was found there; and no secret is in it."""

import base64
import gzip
import json
import re
import sys
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from committed_stacks import folder_of
from each_case import each
from lived_in_clusters import committed, lived_in, planned
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.live.bundle import Bundle, container_logs, read, record, write
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.drift_and_damages import damages, drift
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.judging import differences
from gpu_fabric.live.release_records import RELEASE_TYPE
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.state import StackState
from gpu_fabric.spec.load import read_document
from tests.support.played_cluster import PlayedCluster

sys.path.insert(0, str(Path(__file__).parent))
import changed_by_hand
import damaged
import planted

OVERDUE = "2026-05-05T10:00:00Z"


@cache
def document_of(stack: str) -> Any:
    return read_document(stack, folder_of(stack))


def kept(folder: Path, case: Examination, logs: dict[str, str] | None = None) -> Bundle:
    """The bundle of a case, written to a file and read from it."""
    name = case.stack.plan.stack
    bundle = record(case, OVERDUE, document_of(name), "0.0.0")
    write(folder / "bundle.zip", bundle, "the plan", logs or {})
    return read(folder / "bundle.zip")


def said(findings: Any) -> list[str]:
    return [json.dumps(entry.model_dump(mode="json", by_alias=True), sort_keys=True) for entry in findings]


@pytest.mark.slow
@each("case", damaged.PLANTED, ids=lambda case: case.what)
def test_damages_are_found_in_the_bundle_as_in_the_cluster(case: damaged.Planted, tmp_path: Path) -> None:
    spec, plan = committed(case.stack)
    scene = damaged.Scene(PlayedCluster(spec))
    case.plant(scene)
    known = [
        {"urn": release.name, "type": RELEASE_TYPE, "inputs": {"name": release.name, "namespace": release.namespace}}
        for release in plan.releases
    ]
    state = scene.state and replace(scene.state, resources=(*scene.state.resources, *known))
    examined = Examination(Stack(spec, plan), scene.cluster.cluster, state, damaged.NOW, case.purpose)

    bundle = kept(tmp_path, examined)

    again = Examination(Stack(spec, plan), bundle.cluster, bundle.stack_state, bundle.at_s, case.purpose)
    assert said(damages(again)) == said(damages(examined))


@pytest.mark.slow
@each("case", planted.PLANTED, ids=lambda case: case.what)
def test_differences_are_found_in_the_bundle_as_in_the_cluster(case: planted.Planted, tmp_path: Path) -> None:
    spec, plan = planned(case.stack, case.changes) if case.changes else committed(case.stack)
    cluster = PlayedCluster(spec)
    case.plant(cluster)
    stack = Stack(spec, plan)

    bundle = kept(tmp_path, Examination(stack, cluster.cluster))

    assert said(differences(stack, bundle.cluster)) == said(differences(stack, cluster.cluster))


@pytest.mark.slow
@each("case", changed_by_hand.CHANGED, ids=lambda case: case.what)
def test_drift_is_found_in_the_bundle_as_in_the_cluster(case: changed_by_hand.Changed, tmp_path: Path) -> None:
    spec, plan = planned(case.stack, case.changes) if case.changes else committed(case.stack)
    cluster = lived_in(spec, plan)
    case.change(cluster, plan)
    stack = Stack(spec, plan)
    live = Cluster(cluster.read, cluster.create, cluster.apply)

    bundle = kept(tmp_path, Examination(stack, live))

    found = drift(stack, Cluster(cluster.read, cluster.create, cluster.apply), OVERDUE)
    assert said(drift(stack, bundle.cluster, OVERDUE)) == ([] if case.what in OF_SECRETS else said(found))


# What differs is removed, and so the bundle says nothing of it.
OF_SECRETS = ("a variable of a chart is changed", "a secret of a chart is changed")
# Each is a secret, in a form and at a place of its own.
MARKS = [f"s3cr3t{number:02}zzzz" for number in range(12)]
PLACES = {
    "a Secret": {"kind": "Secret", "data": {"password": base64.b64encode(MARKS[0].encode()).decode()}},
    "a Secret that kubectl has applied": {
        "kind": "Secret",
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": f'{{"x":"{MARKS[1]}"}}'}},
        "stringData": {"user": MARKS[2]},
    },
    "a variable": {"spec": {"containers": [{"name": "a", "env": [{"name": "REGISTRY_TOKEN", "value": MARKS[3]}]}]}},
    "a key": {"status": {"auth": {"apiKey": MARKS[4], "nested": [{"clientSecret": [MARKS[5]]}]}}},
    "an argument": {"spec": {"containers": [{"name": "a", "args": [f"--token={MARKS[6]}", f"password: {MARKS[7]}"]}]}},
    "an address": {"status": {"url": f"https://user:{MARKS[8]}@registry.example.com/v2"}},
    "a private key": {
        "data": {"tls.key": f"-----BEGIN RSA PRIVATE KEY-----\n{MARKS[9]}\n-----END RSA PRIVATE KEY-----"}
    },
    "a header": {"data": {"conf": f"Authorization: Bearer {MARKS[10]}"}},
}


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_is_in_a_bundle(place: str, tmp_path: Path) -> None:
    spec, plan = committed("dev")
    cluster = lived_in(spec, plan)
    named = {"name": "planted", "namespace": "gpu-operator"}
    item = {"metadata": {}, "spec": {"containers": [{"name": "a"}]}, **PLACES[place]}
    item["metadata"] = {**item["metadata"], **named}
    cluster.add("api/v1/secrets" if item.get("kind") == "Secret" else "api/v1/pods", item)
    for secret in cluster.objects["api/v1/secrets"]:
        if "release" in secret.get("data", {}):
            record_ = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
            manifest = (
                f"{record_['manifest']}\n---\nkind: Secret\nmetadata: {{name: x}}\nstringData: {{a: {MARKS[11]}}}\n"
            )
            more = {
                **record_,
                "config": {**(record_.get("config") or {}), "adminPassword": MARKS[11]},
                "manifest": manifest,
            }
            packed = base64.b64encode(gzip.compress(json.dumps(more).encode()))
            secret["data"]["release"] = base64.b64encode(packed).decode()
    state = StackState(resources=({"urn": "urn:a", "type": "t", "inputs": {"x": MARKS[0]}},))
    log = "; ".join(f"starting with {PLACES[name]}" for name in ("an argument", "an address", "a header"))

    case = Examination(Stack(spec, plan), Cluster(cluster.read, cluster.create, cluster.apply), state)
    bundle = record(case, OVERDUE, document_of("dev"), "0.0.0")
    logs = container_logs(bundle, case.stack, lambda namespace, pod, container: log)
    write(tmp_path / "bundle.zip", bundle, "the plan", logs)

    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        text = "".join(archive.read(name).decode() for name in archive.namelist())
    for packed in re.findall(r'"release":"([A-Za-z0-9+/=]{40,})"', text):
        text += gzip.decompress(base64.b64decode(base64.b64decode(packed))).decode()
    assert "planted" in text or place.startswith("a Secret"), "Secrets are read by Helm's labels"
    assert "starting with" in text or place.startswith("a Secret"), "a pod has a log"
    assert [mark for mark in MARKS if mark in text or base64.b64encode(mark.encode()).decode() in text] == []
    assert (tmp_path / "bundle.zip").stat().st_mode & 0o077 == 0


def test_a_bundle_is_read_by_each_command_in_another_folder_without_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(case for case in damaged.PLANTED if case.stack == "dev" and case.rule == "DOC010")
    spec, plan = committed("dev")
    scene = damaged.Scene(PlayedCluster(spec))
    case.plant(scene)
    kept(tmp_path, Examination(Stack(spec, plan), scene.cluster.cluster, scene.state, damaged.NOW))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")

    for command in ("doctor", "preflight", "drift"):
        done = CliRunner().invoke(app, [command, "--from", "bundle.zip", "--format", "json"])
        assert done.exit_code in (0, 1), done.output
        found = [entry["id"] for entry in json.loads(done.stdout)["findings"]]
        assert command != "doctor" or found == ["DOC010"]
    assert "DOC010" in CliRunner().invoke(app, ["doctor", "--from", "bundle.zip"]).stdout


@pytest.mark.parametrize("content", [b"no zip", None])
def test_what_is_no_bundle_is_refused(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "x"
    if content is not None:
        file.write_bytes(content)

    done = CliRunner().invoke(app, ["doctor", "--from", str(file)])

    assert done.exit_code == 2
    assert ("is not a bundle" if content else "No such file") in done.stderr
