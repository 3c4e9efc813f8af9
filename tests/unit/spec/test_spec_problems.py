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


def test_the_development_stack_is_faultless(problems_with: Any) -> None:
    assert problems_with({}) == ()


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("fabric.adressing", {}, "this key is not known -> did you mean 'addressing'? remove it, or use one of: model"),
        ("cluster.pools[0].node", 3, "this key is not known -> did you mean 'nodes'? remove it, or use"),
        ("software.release_line", "26.4", "this key is not known -> did you mean 'releaseLine'?"),
        ("fabric.rdma_mode", "shared", "this key is not known -> did you mean 'rdmaMode'?"),
        ("fabrik", {}, "this key is not known -> did you mean 'fabric'? remove it, or use one of: cluster, fabric"),
        (
            "cluster.pools[0].nodes",
            "3",
            "must be a whole number without quotes -> allowed: a whole number without quotes",
        ),
        ("cluster.pools[0].nodes", True, "must be a whole number without quotes"),
        ("cluster.pools[0].nodes", 0, "must be greater than or equal to 1 -> allowed: greater than or equal to 1"),
        ("cluster.pools[0].nodes", 9000, "must be less than or equal to 8192"),
        ("cluster.pools[0].name", "GPU", "this is not a valid name"),
        (
            "cluster.pools[0].shape",
            "BM.GPU.H100",
            "no shape 'BM.GPU.H100' in the catalog -> did you mean 'BM.GPU.H100.8'?",
        ),
        (
            "cluster.pools[0].shape",
            "none",
            "no shape 'none' in the catalog -> `gpu-fabric shapes` lists all of them",
        ),
        (
            "cluster.provider",
            "exsting",
            "no provider 'exsting' -> did you mean 'existing'? allowed: existing, do",
        ),
        ("cluster.provider", "EKS", "no provider 'EKS' -> did you mean 'existing'? allowed: existing, doks, oke"),
        (
            "fabric.linkType",
            "RoCE",
            "must be 'ether' or 'infiniband', and not 'RoCE' -> did you mean 'ether'? allowed: ",
        ),
        (
            "fabric.model",
            "x" * 25,
            "must be 'host-device', 'macvlan', 'sriov', 'ib-sriov', 'ipoib' or 'host-network' -> al",
        ),
        (
            "software.gpuOperator",
            False,
            "must be a mapping of keys to values -> write {install: false} to leave it out",
        ),
        ("software.gpuOperator.enabled", False, "this key is not known -> write install: true, or install: false"),
        ("software.kueue", {}, "this key is not known -> remove it"),
        (
            "software.networkOperator.version",
            "v26",
            "since the release line has the versions of all software -> ",
        ),
        (
            "cluster.otherPools",
            [],
            "a cluster that exists has its nodes without a fabric already -> leave",
        ),
        ("cluster.pools[0].maxNodes", 4, "this key is not known -> write autoScale: {minNodes: …, maxNodes: …}"),
        ("provider", "existing", "this key is not known -> write it inside of gpu-fabric:cluster, as provider"),
        ("cluster.provider", None, "this key is required -> add provider: existing or doks or oke"),
        ("cluster.pools[0].name", "g" * 64, "this is not a valid name"),
        ("cluster.pools", [], "must be a list of at least 1 item -> allowed: "),
        ("cluster.pools", [POOL, POOL], "two pools have the name gpu -> give each its own"),
        (
            "cluster.kubeconfig",
            None,
            "neither is given -> write kubeconfig (a path) or kubeconfigSecret (the name of a",
        ),
        ("cluster.ranges.pods", "10.244.0.0/99", "this is not a valid network -> write CIDR notation, such as"),
        ("cluster", None, "this key is required -> add cluster:"),
        ("cluster", [], "must be a mapping of keys to values"),
        ("fabric.addressing.supernet", "192.168.0.1/16", "192.168.0.1/16 has host bits set"),
        ("fabric.addressing.supernet", "192.168.0/x", "this is not a valid network -> write CIDR notation, such as"),
        ("fabric.addressing.supernet", "192.168.0.0", "this is not a valid network -> write CIDR notation, such as"),
        ("fabric.addressing.supernet", "fd00::1/48", "fd00::1/48 has host bits set -> write fd00::/48"),
        (
            "fabric.addressing.supernet",
            192,
            "this is not a valid network -> write CIDR notation, such as 192.168.0.0/16",
        ),
        (
            "fabric.addressing.layout",
            "per-pod",
            "must be 'none', 'flat', 'per-rail' or 'per-node', and not 'per-pod' -> did you mean 'per-node'? allowed: ",
        ),
        ("fabric.addressing.ipam", "dhcp", "allowed: 'nv-ipam', 'whereabouts', 'spiderpool' or 'host' (what assigns"),
        ("fabric.addressing.prefixLength", 128, "must be less than or equal to 127"),
        ("fabric.addressing.railSlots", 65, "must be less than or equal to 64"),
        ("fabric.addressing.exclude", "192.168.0.1", "must be a list -> allowed: a list (addresses that hosts or"),
        ("fabric.pkey", "0x8001", "this is not a valid partition key"),
        ("fabric.model", "rdma", "must be 'host-device', 'macvlan', 'sriov', 'ib-sriov', 'ipoib' or 'host-network'"),
        ("fabric.rails", [{"rail": 3}, {"rail": 3}], "rail 3 is listed twice -> list each rail once"),
        ("cluster.kubernetes", 1.34, "must be text, in quotes where it looks like a number"),
        ("cluster.pools[0].nodeNames", ["a", "b"], "2 names for 3 nodes -> list one per node, or none"),
        ("cluster.pools[0].nodeNames", ["a", "b", "b"], "a node is named twice -> give each its own"),
        (
            "cluster.pools[0].labels",
            {"a b": "c"},
            "'a b=c' is not a valid label -> write [domain/]name with at most 63 letters",
        ),
        (
            "cluster.pools[0].labels",
            {"a": "b c"},
            "'a=b c' is not a valid label -> write [domain/]name with at most 63 letters",
        ),
        ("fabric.mtu", 100, "must be greater than or equal to 1280 -> allowed: greater than or equal to 1280"),
        ("fabric.namespaces", ["a", "b", "a"], "a is listed twice -> list each namespace once"),
        (
            "software.releaseLine",
            26.4,
            "must be text, in quotes where it looks like a number -> allowed: text, in quotes",
        ),
        (
            "software.releaseLine",
            "26.5",
            "no release line '26.5' -> did you mean '26.7'? allowed: 23.10, 26.1, 26.4, 26.7",
        ),
        ("software.releaseLine", "23", "no release line '23' -> allowed: 23.10, 26.1, 26.4, 26.7"),
        ("software.charts", "http://mirror", "'http://mirror' names no charts -> allowed: upstream, bundled, or a"),
        (
            "software.charts",
            "ftp://mirror",
            "'ftp://mirror' names no charts -> allowed: upstream, bundled, or a mirror",
        ),
    ],
)
def test_a_problem_names_its_place_what_is_wrong_and_the_remedy(
    problems_with: Any, place: str, value: Any, says: str
) -> None:
    (only,) = problems_with({place: value})

    assert only.path == f"gpu-fabric:{place}"
    assert says in f"{only.message} -> {only.remedy}"


def test_a_path_beside_a_secret_key_is_one_kubeconfig_too_many(problems_with: Any) -> None:
    (only,) = problems_with({"cluster.kubeconfigSecret": "access"})

    assert (only.path, only.message) == ("gpu-fabric:cluster.kubeconfig", "both are given")


def test_a_problem_inside_a_list_is_placed_by_its_entry(problems_with: Any) -> None:
    (only,) = problems_with({"cluster.pools[0].taints": [{"key": "a"}, {"key": "b", "effect": "Never"}]})

    assert only.path == "gpu-fabric:cluster.pools[0].taints[1].effect"
    assert only.remedy.startswith("allowed: 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'")


@pytest.mark.parametrize(
    ("part", "says"), [("key", "this is not a valid key of"), ("value", "this is not a valid value of a taint")]
)
def test_a_taint_that_no_node_can_carry_is_placed_by_its_part(problems_with: Any, part: str, says: str) -> None:
    (only,) = problems_with({"cluster.pools[0].taints": [{"key": "dedicated", part: "a b"}]})

    assert only.path == f"gpu-fabric:cluster.pools[0].taints[0].{part}"
    assert says in only.message


@pytest.mark.parametrize(
    ("span", "says"),
    [
        ("192.168.0.9-192.168.0.1", "192.168.0.9-192.168.0.1 runs backwards -> write the lower address first"),
        ("192.168.0.1-fd00::1", "192.168.0.1-fd00::1 runs backwards"),
        ("192.168.0.1/16", "192.168.0.1/16 has host bits set -> write 192.168.0.0/16"),
        ("leaf-1", "this is not a valid address -> write an address, a range first-last, or a network"),
        (7, "this is not a valid address -> write an address, a range first-last, or a network"),
    ],
)
def test_an_exclusion_that_names_no_addresses_is_placed_by_its_entry(problems_with: Any, span: Any, says: str) -> None:
    (only,) = problems_with({"fabric.addressing.exclude": ["192.168.0.1", span]})

    assert only.path == "gpu-fabric:fabric.addressing.exclude[1]"
    assert says in f"{only.message} -> {only.remedy}"


def test_an_empty_file_lacks_the_one_section_that_is_required(dev_document: StackDocument) -> None:
    spec, problems = validate(dev_document.model_copy(update={"sections": {}}))

    assert spec is None
    assert [(entry.id, entry.path) for entry in problems] == [("SPC003", "gpu-fabric:cluster")]


def test_all_problems_come_at_once(problems_with: Any) -> None:
    found = problems_with(
        {
            "fabrik": {},
            "cluster.pools[0].nodes": 0,
            "cluster.pools[0].shape": "X",
            "cluster.kubeconfig": None,
            "fabric.addressing.supernet": "x",
            "software.releaseLine": 26.4,
            "software.chart": "bundled",
        }
    )

    assert sorted(entry.path.removeprefix("gpu-fabric:") for entry in found) == [
        "cluster.kubeconfig",
        "cluster.pools[0].nodes",
        "cluster.pools[0].shape",
        "fabric.addressing.supernet",
        "fabrik",
        "software.chart",
        "software.releaseLine",
    ]


@pytest.mark.parametrize(
    "place",
    [
        "cluster.pools[0].nodes",
        "cluster.pools[0].name",
        "cluster.pools[0].shape",
        "cluster.pools[0].taints",
        "cluster.pools[0]",
        "cluster.pools",
        "cluster.kubeconfig",
        "cluster.kubeconfigSecret",
        "cluster.context",
        "cluster.provider",
        "cluster.ranges",
        "cluster.shapes",
        "cluster.pools[0].labels",
        "cluster.pools[0].nodeNames",
        "fabric.addressing",
        "fabric.addressing.supernet",
        "fabric.addressing.exclude",
        "fabric.rails",
        "fabric.pkey",
        "fabric.mtu",
        "fabric.namespaces",
        "software",
        "software.gpuOperator.driver",
        "software.gpuOperator.values",
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


def test_a_secret_key_that_nothing_refers_to_is_named_without_its_value(problems_with: Any) -> None:
    (found,) = problems_with({"access": {"secure": "s3cr3t"}})

    assert found.path == "gpu-fabric:access"
    assert "s3cr3t" not in found.message + found.remedy


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
