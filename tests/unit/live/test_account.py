"""Plans held against accounts at clouds: what each lacks is found by its rule, and by no other.

The answers have the fields of DigitalOcean's API, version 2, and the form in which the OCI command line 3.95 prints the
answers of Oracle's.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.findings import Finding, rules
from gpu_fabric.live.account_judging import account_differences
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

ROOT = Path(__file__).parents[3]
DOMAIN, TENANCY = "qIZq:US-CHICAGO-1-AD-1", "ocid1.tenancy.oc1..aaaaaaaaexample"
CONTRACTED = "gpu-h200x8-1128gb-fabric-contracted"
Answers = dict[str, Any]


def team() -> Answers:
    """A team at DigitalOcean that has all that `doks-inference` needs, and another cluster."""
    sizes = (CONTRACTED, "gpu-l40sx1-48gb", "s-4vcpu-8gb", "s-8vcpu-16gb")
    return {
        "account get": {"droplet_limit": 25, "status": "active"},
        "compute droplet list": [{"id": number, "size_slug": "s-1vcpu-1gb"} for number in range(4)],
        "compute size list": [{"slug": slug, "regions": ["nyc2", "tor1"], "available": True} for slug in sizes],
        "kubernetes cluster list": [
            {
                "name": "web",
                "cluster_subnet": "10.244.0.0/16",
                "service_subnet": "10.245.0.0/16",
                "node_pools": [{"name": "web", "count": 3}],
            }
        ],
        "kubernetes options versions": [{"slug": "1.36.1-do.0"}, {"slug": "1.35.2-do.3"}],
        "vpcs list": [{"name": "default-nyc2", "ip_range": "10.108.0.0/20"}],
    }


def tenancy() -> Answers:
    """A tenancy at Oracle that has all that `oke-pools` needs."""
    shapes = ("BM.GPU.H200.8", "VM.GPU.A10.1", "VM.Standard.E5.Flex")
    return {
        "ce cluster-options get": {"data": {"kubernetes-versions": ["v1.33.1", "v1.34.1"]}},
        "compute compute-capacity-report create": {
            "data": {"shape-availabilities": [{"availability-status": "AVAILABLE", "available-count": 6}]}
        },
        "compute image-shape-compatibility-entry list": {"data": [{"shape": "BM.GPU.H200.8"}]},
        "compute shape list": {"data": [{"shape": shape, "quota-names": [f"limit-of-{shape}"]} for shape in shapes]},
        "limits value list": {
            "data": [
                {"name": f"limit-of-{shape}", "availability-domain": domain, "value": value}
                for shape in shapes
                for domain, value in ((DOMAIN, 8), ("qIZq:US-CHICAGO-1-AD-2", 0))
            ]
        },
        "iam availability-domain list": {"data": [{"name": DOMAIN}]},
        "iam policy list": {
            "data": [
                {
                    "name": "administrators",
                    "statements": [
                        "define tenancy other as ocid1.tenancy.oc1..x",
                        "Allow group people to read all-resources in tenancy",
                        "ALLOW any-user to manage  network-security-groups in tenancy "
                        "where ALL {request.principal.type = 'cluster'}",
                        "Allow any-user to {COMPUTE_CLUSTER_LAUNCH_INSTANCE} in compartment gpu "
                        "where request.principal.type = 'nodepool'",
                        "Allow any-user to manage cluster-node-pools in compartment gpu "
                        "where request.principal.type='workload'",
                        "Allow any-user to manage all-resources in compartment gpu "
                        "where request.principal.type = 'workload'",
                    ],
                }
            ]
        },
    }


def compared(stack: str, answers: Answers, **cluster: Any) -> tuple[list[Finding], list[tuple[str, ...]]]:
    """The differences of a stack and an account, and the commands that were asked; `cluster` changes its section."""
    document = read_document(stack, ROOT)
    own = {**document.sections["cluster"], **cluster}
    spec, plan = prepare(document.model_copy(update={"sections": {**document.sections, "cluster": own}}), for_up=False)
    asked: list[tuple[str, ...]] = []

    def ask(*arguments: str) -> Any:
        asked.append(arguments)
        return copy.deepcopy(
            next(answer for key, answer in answers.items() if arguments[: len(key.split())] == tuple(key.split()))
        )

    return list(account_differences(spec, plan, ask)), asked


def test_an_account_that_has_everything_differs_in_nothing() -> None:
    assert compared("doks-inference", team())[0] == []
    assert compared("oke-pools", tenancy(), tenancyId=TENANCY)[0] == []


def _without(slug: str) -> Callable[[Answers], None]:
    def change(answers: Answers) -> None:
        answers["compute size list"] = [row for row in answers["compute size list"] if row["slug"] != slug]

    return change


def _size(slug: str, **fields: Any) -> Callable[[Answers], None]:
    def change(answers: Answers) -> None:
        next(row for row in answers["compute size list"] if row["slug"] == slug).update(fields)

    return change


def _set(key: str, value: Any) -> Callable[[Answers], None]:
    return lambda answers: answers.update({key: value})


def _other_cluster(pods: str, services: str) -> Callable[[Answers], None]:
    return lambda answers: answers["kubernetes cluster list"][0].update(cluster_subnet=pods, service_subnet=services)


def _report(status: str, count: int | None = None) -> Callable[[Answers], None]:
    row = {"availability-status": status, "available-count": count}
    return _set("compute compute-capacity-report create", {"data": {"shape-availabilities": [row]}})


def _no_shape(shape: str) -> Callable[[Answers], None]:
    def change(answers: Answers) -> None:
        answers["compute shape list"]["data"] = [
            row for row in answers["compute shape list"]["data"] if row["shape"] != shape
        ]

    return change


def _limit(shape: str, value: int) -> Callable[[Answers], None]:
    def change(answers: Answers) -> None:
        for row in answers["limits value list"]["data"]:
            if row["name"] == f"limit-of-{shape}" and row["availability-domain"] == DOMAIN:
                row["value"] = value

    return change


BY_ADMINISTRATOR = {"identity": {"create": False}}


def _statement(number: int, text: str) -> Callable[[Answers], None]:
    def change(answers: Answers) -> None:
        answers["iam policy list"]["data"][0]["statements"][number] = text

    return change


PLANTED: tuple[tuple[str, Callable[[Answers], None], list[tuple[str, str]]], ...] = (
    ("doks-inference", _without(CONTRACTED), [("PRE120", "cluster.pools[0].shape")]),
    ("doks-inference", _without("gpu-l40sx1-48gb"), [("PRE120", "cluster.otherPools[0].size")]),
    ("doks-inference", _without("s-4vcpu-8gb"), [("PRE120", "cluster.systemPool.size")]),
    ("doks-inference", _size(CONTRACTED, regions=["atl1"]), [("PRE121", "cluster.pools[0].shape")]),
    ("doks-inference", _size("s-8vcpu-16gb", available=False), [("PRE121", "cluster.otherPools[1].size")]),
    ("doks-inference", _set("kubernetes options versions", [{"slug": "1.35.2-do.3"}]), [("PRE122", "cluster.version")]),
    # 2 system, 2 of the fabric, 4 and 1 beside it are 9; 17 others leave 8.
    ("doks-inference", _set("compute droplet list", [{}] * 17), [("PRE123", "cluster.dropletQuota")]),
    ("doks-inference", _set("account get", {"droplet_limit": 20}), [("PRE124", "cluster.dropletQuota")]),
    (
        "doks-inference",
        _set("vpcs list", [{"name": "old", "ip_range": "10.158.8.0/22"}]),
        [("PRE125", "cluster.ranges.nodes")],
    ),
    (
        "doks-inference",
        _other_cluster("10.156.128.0/17", "10.157.0.0/20"),
        [("PRE125", "cluster.ranges.pods"), ("PRE125", "cluster.ranges.services")],
    ),
    (
        "oke-pools",
        _set("ce cluster-options get", {"data": {"kubernetes-versions": ["v1.35.1"]}}),
        [("PRE130", "cluster.version")],
    ),
    ("oke-pools", _no_shape("VM.GPU.A10.1"), [("PRE131", "cluster.otherPools[1].shape")]),
    ("oke-pools", _report("AVAILABLE", 3), [("PRE132", "cluster.pools[0].nodes")]),
    (
        "oke-pools",
        _report("OUT_OF_HOST_CAPACITY", 0),
        [("PRE132", "cluster.pools[0].nodes"), ("PRE132", "cluster.otherPools[1].nodes")],
    ),
    (
        "oke-pools",
        _report("HARDWARE_NOT_SUPPORTED"),
        [("PRE132", "cluster.pools[0].nodes"), ("PRE132", "cluster.otherPools[1].nodes")],
    ),
    ("oke-pools", _limit("BM.GPU.H200.8", 0), [("PRE134", "cluster.pools[0].shape")]),
    (
        "oke-pools",
        _set("compute image-shape-compatibility-entry list", {"data": [{"shape": "BM.GPU.H100.8"}]}),
        [("PRE133", "cluster.pools[0].imageId")],
    ),
)


@pytest.mark.parametrize(("stack", "change", "expected"), PLANTED)
def test_what_an_account_lacks_is_found_at_its_place(
    stack: str, change: Callable[[Answers], None], expected: list[tuple[str, str]]
) -> None:
    answers = team() if stack.startswith("doks") else tenancy()
    change(answers)
    more = {} if stack.startswith("doks") else {"tenancyId": TENANCY}

    found, _ = compared(stack, answers, **more)

    assert [(entry.id, entry.path.removeprefix("gpu-fabric:")) for entry in found] == expected
    assert all(entry.message and entry.remedy and entry.seen[0].value for entry in found)


@pytest.mark.parametrize(
    ("number", "text", "lacks"),
    [
        pytest.param(
            3,
            "Allow any-user to {HOST_GROUP_LAUNCH_INSTANCE} in compartment gpu "
            "where request.principal.type = 'nodepool'",
            "COMPUTE_CLUSTER_LAUNCH_INSTANCE by nodepool",
            id="another permission",
        ),
        pytest.param(
            2,
            "Allow any-user to use network-security-groups in tenancy where request.principal.type = 'cluster'",
            "manage network-security-groups by cluster",
            id="a weaker verb",
        ),
        pytest.param(
            2,
            "Allow group people to manage network-security-groups in tenancy",
            "manage network-security-groups by cluster",
            id="people instead of a service",
        ),
        pytest.param(
            2,
            "Allow any-user to manage network-security-groups in tenancy where request.principal.type = 'nodepool'",
            "manage network-security-groups by cluster",
            id="another service",
        ),
    ],
)
def test_a_statement_that_an_administrator_has_not_written_is_named(number: int, text: str, lacks: str) -> None:
    answers = tenancy()
    assert compared("oke-pools", answers, tenancyId=TENANCY, **BY_ADMINISTRATOR)[0] == []
    _statement(number, text)(answers)

    found, asked = compared("oke-pools", answers, tenancyId=TENANCY, **BY_ADMINISTRATOR)

    assert [(entry.id, entry.path) for entry in found] == [("PRE135", "gpu-fabric:cluster.identity.create")]
    assert lacks in found[0].message
    assert len([words for words in asked if words[:2] == ("iam", "policy")]) == 2


def test_policies_are_not_asked_for_where_the_stack_creates_them() -> None:
    assert all(words[:2] != ("iam", "policy") for words in compared("oke-pools", tenancy(), tenancyId=TENANCY)[1])


def test_every_rule_about_accounts_is_planted() -> None:
    about = {name for name in rules() if name.startswith(("PRE12", "PRE13"))}

    assert {rule for _, _, expected in PLANTED for rule, _ in expected} | {"PRE135"} == about


def test_a_cluster_that_exists_is_asked_neither_for_its_version_nor_its_ranges_and_its_nodes_count_once() -> None:
    answers = team()
    pools = [{"name": "system", "count": 2}, {"name": "gpu", "count": 2}, {"name": "inference", "count": 3}]
    own = {"name": "doks-inference", "cluster_subnet": "10.156.0.0/16", "service_subnet": "10.157.0.0/19"}
    answers["kubernetes cluster list"].append({**own, "node_pools": pools})
    # 16 others and the 9 of the stack are what the team may have; 7 of the 9 are there.
    answers["compute droplet list"] = [{}] * 23
    answers["kubernetes options versions"] = []
    answers["vpcs list"] = [{"name": "doks-inference", "ip_range": "10.158.0.0/20"}]
    # The pool that is there keeps a size that is sold no more.
    _without(CONTRACTED)(answers)

    found, asked = compared("doks-inference", answers)

    assert found == []
    assert ("kubernetes", "options", "versions") not in asked


def test_lists_that_doctl_prints_as_null_are_empty() -> None:
    answers = {**team(), "kubernetes cluster list": None, "vpcs list": None, "compute droplet list": None}

    assert compared("doks-inference", answers)[0] == []


def test_capacity_is_asked_of_the_tenancy_for_shapes_of_one_size_in_the_pools_domain() -> None:
    _, asked = compared("oke-pools", tenancy(), tenancyId=TENANCY)

    reports = [words for words in asked if words[1] == "compute-capacity-report"]
    assert [words[words.index("--shape-availabilities") + 1] for words in reports] == [
        '[{"instanceShape": "BM.GPU.H200.8"}]',
        '[{"instanceShape": "VM.GPU.A10.1"}]',
    ]
    assert {words[words.index("--availability-domain") + 1] for words in reports} == {DOMAIN}
    assert {words[words.index("--compartment-id") + 1] for words in reports} == {TENANCY}
    assert all(words[-2:] == ("--region", "us-chicago-1") for words in asked)


def test_without_the_tenancys_id_neither_capacity_nor_limits_are_asked_for() -> None:
    found, asked = compared("oke-pools", {**tenancy(), "compute compute-capacity-report create": None})

    assert found == []
    assert not any({"compute-capacity-report", "limits"} & set(words) for words in asked)


def test_nothing_is_asked_but_what_reads() -> None:
    asked = [*compared("doks-inference", team())[1], *compared("oke-pools", tenancy(), tenancyId=TENANCY)[1]]

    kept = {words[:3] for words in asked if not {"get", "list", "versions"} & set(words)}
    # A capacity report is made for its answer, and kept nowhere.
    assert kept == {("compute", "compute-capacity-report", "create")}
