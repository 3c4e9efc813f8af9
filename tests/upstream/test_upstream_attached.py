"""Workloads, attached and written, against the published definitions of their kinds and what those say of a pod."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from attached_pods import EXPECTED, as_template, at, documents_of, text_of
from rows import rows
from stack_plans import stack_plan
from structural_schema import refusals
from upstream_definitions import OF_CONSUMERS, definitions_in

from gpu_fabric.attach.text.manifests import attach_text
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.workloads.nccl_test import JobScheduler, NcclTest, nccl_test

ROOT = Path(__file__).resolve().parents[2]
DEFINED = {
    "mpijob.yaml": "mpi-operator-0.8.0",
    "mpijob-launcher-works.yaml": "mpi-operator-0.8.0",
    "jobset.yaml": "jobset-0.12.0",
    "leaderworkerset.yaml": "lws-0.8.0",
    "volcano-job.yaml": "volcano-1.15.1",
}
STACKS = ("dev", "host-network", "spiderpool-ib", "sriov-dpdk", "doks-b300", "dranet-oke")


def schema_of(folder: str, document: dict[str, Any]) -> dict[str, Any]:
    """The published schema of a document's kind and version."""
    group, _, version = document["apiVersion"].partition("/")
    (schema,) = (
        served["schema"]["openAPIV3Schema"]
        for _, spec in definitions_in(folder)
        for served in spec["versions"]
        if (spec["group"], spec["names"]["kind"], served["name"]) == (group, document["kind"], version)
    )
    found: dict[str, Any] = schema
    return found


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("name", DEFINED)
def test_an_attached_workload_is_accepted_by_its_published_definition(name: str, stack: str) -> None:
    (before,) = documents_of(text_of(name))
    (after,) = documents_of(attach_text(text_of(name), stack_plan(stack, ROOT).workload).text)

    assert refusals(before, schema_of(DEFINED[name], before)) == []
    assert refusals(after, schema_of(DEFINED[name], after)) == []


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_attached_pod_is_what_a_published_definition_says_of_pods(name: str) -> None:
    (task,) = (
        schema_of("volcano-1.15.1", document)["properties"]["spec"]["properties"]["tasks"]["items"]
        for document in documents_of(text_of("volcano-job.yaml"))
    )
    pod = task["properties"]["template"]
    expected = EXPECTED[name]
    document = documents_of(attach_text(text_of(name), stack_plan("dev", ROOT).workload).text)[expected.document]
    for path in expected.attached:
        assert refusals(as_template(at(document, path)), pod) == []


CONSUMERS = rows(str(ROOT / "tests/unit/attach/test_attach_consumers.py"), "workloads")


@pytest.mark.parametrize("name", [name for name, row in CONSUMERS.items() if "attached" in row])
def test_workloads_of_other_systems_have_the_pods_and_the_sets_that_published_definitions_describe(name: str) -> None:
    row = CONSUMERS[name]
    (job,) = documents_of(text_of("volcano-job.yaml"))
    task = schema_of("volcano-1.15.1", job)["properties"]["spec"]["properties"]["tasks"]["items"]
    before = json.loads(json.dumps(row["of"]))
    contract = stack_plan(row.get("stack", "verification"), ROOT).workload
    after = documents_of(attach_text(yaml.safe_dump_all(before, sort_keys=False), contract).text)

    for number, pods in row["attached"].items():
        for path in pods:
            assert refusals(as_template(at(after[number - 1], path)), task["properties"]["template"]) == []
    for document in (*before, *after):
        if document["kind"] == "LeaderWorkerSet":
            assert refusals(document, schema_of("lws-0.8.0", document)) == []


@pytest.fixture
def kinds() -> dict[str, str]:
    """Kinds of these systems, with the folder of their definition; tests with it are skipped together without them."""
    return OF_CONSUMERS


@cache
def _published(kind: str, version: str) -> dict[str, Any]:
    return schema_of(OF_CONSUMERS[kind], {"apiVersion": version, "kind": kind})


def _of(row: dict[str, Any]) -> set[str]:
    return {document["kind"] for document in row["of"]} & OF_CONSUMERS.keys()


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        (name, stack)
        for name, row in CONSUMERS.items()
        if "attached" in row and _of(row)
        # With claims, too, unless the workload is for the fabric of one stack.
        for stack in ([row["stack"]] if "stack" in row else ["verification", "dranet-oke"])
    ],
)
def test_workloads_of_other_systems_are_accepted_by_their_own_definition(
    kinds: dict[str, str], name: str, stack: str
) -> None:
    before = json.loads(json.dumps(CONSUMERS[name]["of"]))
    contract = stack_plan(stack, ROOT).workload
    text = attach_text(yaml.safe_dump_all(before, sort_keys=False), contract).text
    # A second time changes nothing.
    assert attach_text(text, contract).text == text

    for document in (*before, *documents_of(text)):
        if document["kind"] in kinds:
            assert refusals(document, _published(document["kind"], document["apiVersion"])) == []


def test_each_of_these_kinds_is_attached_to_and_one_field_that_it_has_not_is_refused(kinds: dict[str, str]) -> None:
    documents = [document for row in CONSUMERS.values() if "attached" in row for document in row["of"]]
    found = {document["kind"]: document for document in documents if document["kind"] in kinds}

    assert found.keys() == kinds.keys()
    for kind, document in found.items():
        wrong = {**document, "spec": {**document["spec"], "networks": []}}
        assert refusals(wrong, _published(kind, document["apiVersion"]))


LAUNCHERS = {"volcano": "volcano-1.15.1", "mpi-operator": "mpi-operator-0.8.0"}


@pytest.mark.parametrize("stack", ["dev", "oke-guide", "host-network", "spiderpool-ib", "doks-b300", "doks-mi325x"])
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_nccl_job_and_the_verifications_are_accepted_by_their_published_definition(
    launcher: str, stack: str
) -> None:
    contract = stack_plan(stack, ROOT).workload
    (job,) = nccl_test(contract, NcclTest(JobScheduler(launcher), "registry.example/nccl-tests:1")).documents
    document = read_document(stack, ROOT)
    sections = dict(document.sections)
    sections["cluster"] = {**sections["cluster"], "installed": [launcher]}
    sections["verification"] = {"enabled": True, "image": "registry.example/a:1", "launcher": launcher, "bar": 100}
    planned = prepare(document.model_copy(update={"sections": sections}), for_up=False).plan.verification

    assert planned is not None
    for manifest in (job, planned.manifests[-1]):
        assert refusals(manifest, schema_of(LAUNCHERS[launcher], manifest)) == []
