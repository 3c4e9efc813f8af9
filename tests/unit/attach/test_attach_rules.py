"""Every rule about manifests: it finds what is wrong at its place, accepts the rest, and is silent about others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from attached_pods import NETWORKS, contract_of
from each_case import each
from rows import tables

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.text.manifests import attach_text
from gpu_fabric.contract import read_contract
from gpu_fabric.findings import InputError, Severity, rules

# Those of the contract, of the KRM function and of groups have tests of their own.
BOOK = {name for name, rule in rules().items() if rule.group == "attach"} - {"ATT004", "ATT030", "ATT031"}

GPUS = {"resources": {"limits": {"nvidia.com/gpu": 8}}}


class AttachCase(NamedTuple):
    """A text, and where a rule must find something in it: places as a user reads them, or nowhere.

    `stack` is a committed one; `examples/` before its name says which of two is meant. `said` is a part of the finding.
    """

    rule: str
    text: str
    places: tuple[str, ...]
    stack: str
    wishes: AttachOptions
    said: str


def pod(container: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod whose one container asks for all GPUs."""
    main = {"name": "main", "image": "registry.example/train:7", **GPUS, **(container or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", **(metadata or {})},
        "spec": {"containers": [main], **spec},
    }


def annotated(value: Any) -> dict[str, Any]:
    """A pod with an annotation of its networks."""
    return pod(metadata={"annotations": {NETWORKS: value}})


def mpi_job(launcher: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """An MPIJob whose worker asks for all GPUs, and a container of its launcher."""
    main = {"name": "main", "image": "registry.example/train:7"}
    replicas = {
        role: {"template": {"spec": {"containers": [main | asked]}}}
        for role, asked in (("Launcher", launcher), ("Worker", GPUS))
    }
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "one"},
        "spec": {"mpiReplicaSpecs": replicas, **spec},
    }


def workload(kind: str, version: str, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A workload with one pod template."""
    template = {"spec": pod(container)["spec"]}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, "spec": {"template": template, **spec}}


def job_set(*containers: list[dict[str, Any]]) -> dict[str, Any]:
    """A JobSet whose jobs, called `one` alike, have these containers."""
    jobs = [{"name": "one", "template": {"spec": {"template": {"spec": {"containers": own}}}}} for own in containers]
    version = "jobset.x-k8s.io/v1alpha2"
    return {"apiVersion": version, "kind": "JobSet", "metadata": {"name": "one"}, "spec": {"replicatedJobs": jobs}}


def nodes(values: list[str], operator: str = "In", key: str = "node.kubernetes.io/instance-type") -> dict[str, Any]:
    """An affinity for nodes with a label."""
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def train_job(**spec: Any) -> dict[str, Any]:
    """A TrainJob."""
    runtime = {"runtimeRef": {"name": "torch-distributed"}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "one"},
        "spec": {**runtime, **spec},
    }


def unknown(kind: str, **spec: Any) -> dict[str, Any]:
    """An object of a kind that nobody knows."""
    return {"apiVersion": "example.org/v1", "kind": kind, "metadata": {"name": "one"}, "spec": spec}


def bad(rule: str, at: str | tuple[str, ...], *documents: Any, **about: Any) -> AttachCase:
    """Manifests in which the rule finds something at exactly these places, of the first document where none is said."""
    written = [one if isinstance(one, str) else yaml.safe_dump(one, sort_keys=False) for one in documents]
    given = (at,) if isinstance(at, str) else at
    places = [f"spec.containers[0]{place[4:]}" if place.startswith("main") else place for place in given]
    places = [place if place.startswith(("doc", "all")) or not place else f"document 1, {place}" for place in places]
    stack, said = about.pop("stack", "dev"), about.pop("said", "")
    return AttachCase(rule, "---\n".join(written), tuple(places), stack, AttachOptions(**about), said)


def good(rule: str, *documents: Any, **about: Any) -> AttachCase:
    """Manifests in which the rule finds nothing."""
    return bad(rule, (), *documents, **about)


def claim_template(request: dict[str, Any]) -> dict[str, Any]:
    """A template of claims with one request."""
    spec = {"spec": {"devices": {"requests": [{"name": "a", **request}]}}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def workflow(*others: dict[str, Any], step: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """An Argo Workflow whose first template asks for all GPUs."""
    templates = [{"name": "train", "container": {"image": "a", **GPUS}, **(step or {})}, *others]
    version = "argoproj.io/v1alpha1"
    return {
        "apiVersion": version,
        "kind": "Workflow",
        "metadata": {"name": "w"},
        "spec": {"templates": templates, **spec},
    }


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "None"}}
BUILDERS: dict[str, Callable[..., dict[str, Any]]] = {
    make.__name__: make
    for make in (pod, mpi_job, workload, job_set, nodes, train_job, unknown, claim_template, workflow)
}


def built(given: Any) -> Any:
    """What a row writes, with `{pod: {...}}` and the like as the function of this name makes it."""
    if isinstance(given, list):
        return [built(one) for one in given]
    if not isinstance(given, dict):
        return given
    name, *others = given or [""]
    if others or name not in BUILDERS:
        return {key: built(one) for key, one in given.items()}
    parts = built(given[name])
    return BUILDERS[name](**parts) if isinstance(parts, dict) else BUILDERS[name](*parts)


def case_of(rule: str, row: dict[str, Any]) -> AttachCase:
    """A row: `bad` places and the documents `of` them, or `good` documents; one may stand for a list of one."""
    (sort, first), *others = row.items()
    about = dict(others)
    places, documents = ((), first) if sort == "good" else (first, about.pop("of"))
    listed = documents if isinstance(documents, list) else [documents]
    tuples = {key: tuple(one) if isinstance(one, list) else one for key, one in about.items()}
    return bad(rule, tuple(places) if isinstance(places, list) else places, *built(listed), **tuples)


ROWS = tables(Path(__file__).with_name("rules.yaml"))
CASES = [
    *(case_of(rule, row) for rule, rows in ROWS.items() for row in rows),
    bad("ATT001", "", '{"a":' * 9000 + "1" + "}" * 9000),
    good("ATT001", json.dumps(pod())),
    bad("ATT014", f"metadata.annotations[{NETWORKS}]", annotated("[" * 9000), said="cannot be read: "),
]


def found_in(case: AttachCase) -> tuple[list[tuple[str, str]], str]:
    """Rules and places of what is said about a case's text, and how it is said."""
    try:
        said, severity = attach_text(case.text, contract_of(case.stack), case.wishes).notes, Severity.NOTE
    except AttachError as error:
        said, severity = error.problems, Severity.ERROR
    except InputError as error:
        said, severity = (error.finding,), Severity.ERROR
    assert {entry.severity for entry in said} <= {severity}
    return [(entry.id, entry.place) for entry in said], "\n".join(line for entry in said for line in entry.lines())


@each("case", CASES, ids=[f"{case.rule}-{number}" for number, case in enumerate(CASES)])
def test_a_rule_finds_what_is_wrong_and_nothing_else(case: AttachCase) -> None:
    found, text = found_in(case)

    assert [place for rule, place in found if rule == case.rule] == list(case.places)
    assert case.said in text


def test_every_rule_has_a_case_that_it_finds() -> None:
    assert {case.rule for case in CASES if case.places} == BOOK


@each("document", [SERVICE, pod(), workload("Job", "batch/v1"), workflow(), "", "# nothing\n"])
def test_of_what_is_sound_nothing_is_said_but_what_it_gets_or_that_nothing_is_there_to_get_it(document: Any) -> None:
    assert {rule for rule, _ in found_in(good("", document))[0]} <= {"ATT063", "ATT075"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"fabric": {}}', '{"schemaVersion": "v9"}', '{"schemaVersion": "v1"}']
)
def test_what_is_no_contract_is_said_with_its_rule(text: str) -> None:
    with pytest.raises(InputError, match=r"^error ATT004: ") as raised:
        read_contract(text)

    assert raised.value.finding.id == "ATT004"


def test_all_problems_are_said_at_once_with_document_and_path() -> None:
    sound = [pod(hostNetwork=True), "", annotated("["), pod(nodeSelector=3), "7\n"]
    with pytest.raises(AttachError) as raised:
        attach_text(bad("", "", *sound).text, contract_of("dev"))

    assert [(problem.document, problem.path) for problem in raised.value.problems] == [
        (1, "spec.hostNetwork"),
        (3, f"metadata.annotations[{NETWORKS}]"),
        (4, "spec.nodeSelector"),
        (5, ""),
    ]
    text = raised.value.explanation("jobs.yaml")
    assert text.startswith("jobs.yaml: 4 problems, nothing was attached.\n  error ATT017 document 1, spec.hostNetwork")
