"""What a user reads when a stack file is wrong: the place as written, what is wrong, what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

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
    ("place", "value", "says"),
    [
        ("fabric.adressing", {}, "this key is not known -> did you mean 'addressing'? remove it, or use one of: model"),
        ("fabrik", {}, "this key is not known -> did you mean 'fabric'? remove it, or use one of: cluster, fabric"),
        ("cluster.pools[0].nodes", "3", "must be a whole number without quotes -> allowed: a whole number without"),
        ("cluster.pools[0].nodes", 0, "must be greater than or equal to 1 -> allowed: greater than or equal to 1"),
        ("cluster.pools[0].name", "GPU", "this is not a valid name -> write at most 63 lower-case letters"),
        (
            "cluster.pools[0].shape",
            "BM.GPU.H100",
            "no shape 'BM.GPU.H100' in the catalog -> did you mean 'BM.GPU.H100.",
        ),
        ("cluster.pools[0].shape", "none", "no shape 'none' in the catalog -> `gpu-fabric shapes` lists all of them"),
        ("cluster.provider", "exsting", "no provider 'exsting' -> did you mean 'existing'? allowed: "),
        ("cluster.provider", "EKS", "no provider 'EKS' -> did you mean 'existing'? allowed: "),
        ("fabric.linkType", "RoCE", "must be 'ether' or 'infiniband', and not 'RoCE' -> did you mean 'ether'"),
        ("fabric.model", "x" * 25, "must be 'host-device', 'macvlan', 'sriov', 'ib-sriov', 'ipoib' or 'host-network'"),
        ("fabric.addressing.layout", "per-pod", "and not 'per-pod' -> did you mean 'per-node'? allowed: 'none',"),
        ("fabric.pkey", "0x8001", "this is not a valid partition key -> write 0x0 to 0x7fff"),
        ("software.gpuOperator", False, "must be a mapping of keys to values -> write {install"),
        ("software.gpuOperator.enabled", False, "this key is not known -> write install: true, or install: false"),
        ("software.networkOperator.version", "v26", "since the release line has the versions of all software -> write"),
        ("cluster.otherPools", [], "a cluster that exists has its nodes without a fabric already -> leave them out of"),
        ("cluster.pools[0].maxNodes", 4, "this key is not known -> write autoScale: {minNodes: …, maxNodes: …}"),
        ("provider", "existing", "this key is not known -> write it inside of gpu-fabric:cluster, as provider"),
        ("cluster.provider", None, "this key is required -> add provider: existing or doks or oke"),
        ("cluster.pools", [], "must be a list of at least 1 item -> allowed: "),
        ("cluster.pools", [POOL, POOL], "two pools have the name gpu -> give each its own"),
        (
            "cluster.kubeconfig",
            None,
            "neither is given -> write kubeconfig (a path) or kubeconfigSecret (the name of a",
        ),
        ("cluster", None, "this key is required -> add cluster:"),
        ("cluster", [], "must be a mapping of keys to values"),
        ("fabric.addressing.supernet", "fd00::1/48", "fd00::1/48 has host bits set -> write fd00::/48"),
        ("fabric.addressing.supernet", "192.168.0.0", "this is not a valid network -> write CIDR notation, such as"),
        ("fabric.addressing.supernet", 192, "this is not a valid network -> write CIDR notation, such as 192.168.0."),
        ("fabric.addressing.ipam", "dhcp", "allowed: 'nv-ipam', 'whereabouts', 'spiderpool' or 'host' (what assigns"),
        ("fabric.addressing.exclude", "192.168.0.1", "must be a list -> allowed: a list (addresses that hosts or"),
        ("fabric.addressing.exclude[0]", "192.168.0.9-192.168.0.1", "runs backwards -> write the lower address first"),
        ("fabric.addressing.exclude[0]", "leaf-1", "this is not a valid address -> write an address, a range first-"),
        ("fabric.rails", [{"rail": 3}, {"rail": 3}], "rail 3 is listed twice -> list each rail once"),
        ("cluster.pools[0].nodeNames", ["a", "b"], "2 names for 3 nodes -> list one per node, or none"),
        ("cluster.pools[0].nodeNames", ["a", "b", "b"], "a node is named twice -> give each its own"),
        ("cluster.pools[0].labels", {"a b": "c"}, "'a b=c' is not a valid label -> write [domain/]name with at most"),
        ("cluster.pools[0].taints[0].effect", "Never", "allowed: 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'"),
        ("cluster.pools[0].taints[0].value", "a b", "this is not a valid value of a taint"),
        ("fabric.namespaces", ["a", "b", "a"], "a is listed twice -> list each namespace once"),
        ("software.releaseLine", 26.4, "must be text, in quotes where it looks like a number -> allowed: text, in"),
        ("software.releaseLine", "26.5", "no release line '26.5' -> did you mean '26.7'? allowed: 23.10, 26.1, 26.4"),
        ("software.releaseLine", "26.10", "network-operator 26.10.0 is known by name only, since its chart and"),
        ("software.charts", "http://mirror", "'http://mirror' names no charts -> allowed: upstream, bundled, or a"),
    ],
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
            {
                "cluster.kubeconfig": None,
                "cluster.kubeconfigSecret": "access",
                "access": {"secure": "s3cr3t"},
            }
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
