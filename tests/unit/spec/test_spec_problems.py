"""What a user reads when a stack file is wrong: the place as written, what is wrong, what is allowed."""

from collections.abc import Callable
from typing import Any

import pytest
from rows import rows

from gpu_fabric.findings import Finding
from gpu_fabric.spec.load import validate
from gpu_fabric.spec.stack_text import StackDocument

POOL = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 3}

DocumentWith = Callable[[Any], StackDocument]


@pytest.fixture(scope="session")
def problems_with(document_with: DocumentWith) -> Callable[[Any], tuple[Finding, ...]]:
    """What validation finds in the development stack with some values changed."""
    return lambda changes: validate(document_with(changes))[1]


@pytest.mark.parametrize(
    ("place", "value", "says"), rows(__file__, "a problem names its place what is wrong and the remedy")
)
def test_a_problem_names_its_place_what_is_wrong_and_the_remedy(
    problems_with: Any, place: str, value: Any, says: str
) -> None:
    around = {"fabric.addressing.exclude": ["192.168.0.1"], "cluster.pools[0].taints": [{"key": "dedicated"}]}
    (only,) = problems_with(
        {**{whole: some for whole, some in around.items() if place.startswith(whole + "[")}, place: value}
    )

    assert only.path == f"gpu-fabric:{place}"
    assert says in f"{only.message} -> {only.remedy}"


def test_an_empty_file_lacks_the_one_section_that_is_required(dev_document: StackDocument) -> None:
    spec, problems = validate(dev_document.model_copy(update={"sections": {}}))

    assert spec is None
    assert [(entry.id, entry.path) for entry in problems] == [("SPC003", "gpu-fabric:cluster")]


@pytest.mark.parametrize(
    "place",
    [
        *(
            "cluster.pools[0].name",
            "cluster.pools[0].shape",
            "cluster.pools[0].taints",
            "cluster.pools[0]",
            "cluster.shapes",
        ),
        *("cluster.kubeconfig", "cluster.provider", "cluster.pools[0].labels", "cluster.pools[0].nodeNames"),
        *(
            "fabric.addressing",
            "fabric.addressing.exclude",
            "fabric.rails",
            "fabric.pkey",
            "fabric.namespaces",
            "software",
        ),
    ],
)
def test_a_faulty_value_is_never_repeated(problems_with: Any, place: str) -> None:
    secret = "s3cr3t token!"
    found = problems_with({place: [secret, {"key": secret}]})

    assert found
    assert not any("s3cr3t" in entry.message + entry.remedy + entry.path for entry in found)


def test_the_secret_key_that_holds_the_kubeconfig_is_no_stranger_and_stays_unread(document_with: DocumentWith) -> None:
    spec, problems = validate(
        document_with(
            {"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access", "access": {"secure": "s3cr3t"}}
        )
    )

    assert problems == ()
    assert spec is not None
    assert spec.cluster.kubeconfig_secret == "access"
    assert "s3cr3t" not in repr(spec)


def test_text_that_is_none_is_refused_as_a_whole(document_with: DocumentWith) -> None:
    spec, problems = validate(document_with({"cluster.pools[0].name": "\ud800"}))

    assert spec is None
    assert [(entry.id, entry.path) for entry in problems] == [("SPC004", "")]
    assert problems[0].message.startswith("cannot be read: Invalid JSON")


def test_a_namespace_may_be_written_by_its_name_alone(document_with: DocumentWith) -> None:
    spec, problems = validate(document_with({"fabric.namespaces": ["default", {"name": "jobs", "create": True}]}))

    assert problems == ()
    assert spec is not None
    assert [(entry.name, entry.create) for entry in spec.fabric.namespaces] == [("default", False), ("jobs", True)]


def test_a_shape_most_likely_meant_stands_in_for_a_mistyped_one(document_with: DocumentWith) -> None:
    spec, problems = validate(document_with({"cluster.pools[0].shape": "BM.GPU.H10.8"}))

    assert len(problems) == 1
    assert spec is not None
    assert spec.cluster.pools[0].shape == "BM.GPU.H100.8"


def test_an_unknown_shape_takes_that_of_the_pool_beside_it(document_with: DocumentWith) -> None:
    pools = [{**POOL, "name": "a", "shape": "wholly-else"}, {**POOL, "name": "b"}]
    spec, problems = validate(document_with({"cluster.pools": pools}))

    assert [entry.path for entry in problems] == ["gpu-fabric:cluster.pools[0].shape"]
    assert spec is not None
    assert {pool.shape for pool in spec.cluster.pools} == {"BM.GPU.H100.8"}


def test_faulty_entries_leave_a_list_and_the_good_ones_stay(document_with: DocumentWith) -> None:
    spec, problems = validate(document_with({"cluster.ranges.reserved": ["x", "172.16.0.0/12", "y", "172.32.0.0/16"]}))

    assert [entry.path for entry in problems] == [
        "gpu-fabric:cluster.ranges.reserved[0]",
        "gpu-fabric:cluster.ranges.reserved[2]",
    ]
    assert spec is not None
    assert [str(network) for network in spec.cluster.ranges.reserved] == ["172.16.0.0/12", "172.32.0.0/16"]
