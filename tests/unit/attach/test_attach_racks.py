"""Racks: a job's pods claim the channel of one rack and run on its nodes, or use the rails."""

import re
from typing import Any

import pytest
from attached_pods import EXPECTED, as_template, at, contract_of, documents_of, text_of

from gpu_fabric.attach.attachment import AttachOptions, attach, detach
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.text.manifests import attach_text

STACK = "examples/domains"
GPUS = {"name": "main", "image": "a", "resources": {"limits": {"nvidia.com/gpu": 4}}}


def job(kind: str = "Job", version: str = "batch/v1", **spec: Any) -> dict[str, Any]:
    """A workload of one template, with its counts."""
    template = {"spec": {"containers": [GPUS], "restartPolicy": "Never"}}
    metadata = {"name": "train", "namespace": "training"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"template": template, **spec}}


def job_set(*jobs: tuple[int, int]) -> dict[str, Any]:
    """A JobSet of jobs with replicas and parallelism."""
    spec = {
        "replicatedJobs": [
            {"name": f"j{number}", "replicas": replicas, "template": {"spec": job(parallelism=parallelism)["spec"]}}
            for number, (replicas, parallelism) in enumerate(jobs)
        ]
    }
    return {**job(), "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": spec}


def groups(replicas: int, size: int) -> dict[str, Any]:
    """A LeaderWorkerSet, whose groups have their leader in their size."""
    template = job()["spec"]["template"]
    spec = {
        "replicas": replicas,
        "leaderWorkerTemplate": {"size": size, "leaderTemplate": template, "workerTemplate": template},
    }
    return {**job(), "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": spec}


def rack_of(document: dict[str, Any]) -> tuple[Any, ...]:
    """The templates that a job's pods claim, the claims of the container, the rack's label, and NCCL's variable."""
    spec = document["spec"]["template"]["spec"]
    container = spec["containers"][0]
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    return (
        [claim["resourceClaimTemplateName"] for claim in spec.get("resourceClaims", ())],
        [claim["name"] for claim in container["resources"].get("claims", ())],
        spec["nodeSelector"].get("example.com/rack"),
        environment["NCCL_MNNVL_ENABLE"],
    )


RAILS = ([], [], None, "0")


def of_rack(name: str) -> tuple[Any, ...]:
    """What a job in a rack has."""
    return ([f"rack-{name}-channel"], ["nvlink"], name, "1")


@pytest.mark.parametrize(
    ("rack", "namespace", "has"),
    [
        (None, "training", of_rack("a")),
        ("rack-b", "training", of_rack("b")),
        ("none", "training", RAILS),
        (None, "default", RAILS),
    ],
)
def test_a_job_has_the_channel_of_one_rack_or_uses_the_rails(rack: str | None, namespace: str, has: Any) -> None:
    wanted = job(parallelism=2)
    wanted["metadata"]["namespace"] = namespace

    assert rack_of(attach([wanted], contract_of(STACK), AttachOptions(rack=rack)).documents[0]) == has


@pytest.mark.parametrize("first", ["rack-b", "none"])
def test_a_rack_that_was_chosen_stays_until_another_is_and_goes_with_the_fabric(first: str) -> None:
    contract, given = contract_of(STACK), job(parallelism=2)
    once = attach([given], contract, AttachOptions(stamped=True, rack=first)).documents

    assert attach(once, contract, AttachOptions()).documents == once
    moved = attach(once, contract, AttachOptions(rack="rack-a"))
    assert rack_of(moved.documents[0]) == of_rack("a")
    assert not {note.id for note in moved.notes} & {"ATT064", "ATT033"}
    assert detach(moved.documents) == (given,)


def test_a_pod_that_claims_a_channel_already_is_of_that_rack() -> None:
    given = job()
    given["spec"]["template"]["spec"]["resourceClaims"] = [
        {"name": "mine", "resourceClaimTemplateName": "rack-b-channel"}
    ]

    (result,) = attach([given], contract_of(STACK)).documents
    assert rack_of(result) == (["rack-b-channel"], ["mine"], "b", "1")


def counted(document: dict[str, Any]) -> int:
    """The pods of a workload, as a refusal counts them; 0 where it is attached."""
    try:
        attach([document], contract_of(STACK))
    except AttachError as error:
        (problem,) = error.problems
        assert problem.id == "ATT036"
        return int(problem.message.split()[0])
    return 0


def test_a_job_of_more_pods_than_a_rack_has_nodes_is_refused() -> None:
    assert counted(job(parallelism=2)) == counted(job(parallelism=None)) == 0
    assert counted(job(parallelism=3)) == 3
    assert counted(job("StatefulSet", "apps/v1", replicas=4)) == 4
    assert counted(job_set((2, 1))) == 0
    assert counted(job_set((2, 1), (1, 3))) == 5
    assert counted(groups(1, 2)) == 0
    assert counted(groups(2, 3)) == 6


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_pod_of_any_kind_claims_a_channel_once(name: str) -> None:
    text = re.sub(r"""(nvidia.com/gpu["']?: ["']?)8""", r"\g<1>4", text_of(name))
    contract = contract_of(STACK).model_copy(update={"namespaces": ("default",)})
    wide = contract.domains[0].model_copy(update={"namespace": "default", "nodes": 18})
    made = attach_text(text, contract.model_copy(update={"domains": (wide,)}), AttachOptions(stamped=True)).text
    document = documents_of(made)[EXPECTED[name].document]

    for path, container in EXPECTED[name].attached.items():
        spec = as_template(at(document, path))["spec"]
        own = next(entry for entry in spec["containers"] if entry["name"] == container)
        assert spec["resourceClaims"] == [{"name": "nvlink", "resourceClaimTemplateName": "rack-a-channel"}]
        assert own["resources"]["claims"] == [{"name": "nvlink"}]
