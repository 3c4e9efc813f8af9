"""A plan held against clusters as people have them: each planted difference is found by its rule, and by no other."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest
from each_case import each
from lived_in_clusters import CLEAN, clean, committed, lived_in, planned

from gpu_fabric.findings import Finding, rules
from gpu_fabric.live.judging import JUDGES, differences
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan import Plan
from gpu_fabric.spec.stack import StackSpec
from tests.support.played_cluster import PlayedCluster

sys.path.insert(0, str(Path(__file__).parent))
from planted import (
    DAEMON_SETS,
    DEPLOYMENTS,
    HARMLESS,
    MULTUS,
    PLANTED,
    SRIOV_PLUGIN,
    Planted,
    expects,
    webhook,
    workload,
)

ROOT = Path(__file__).parents[3]


def found_in(cluster: PlayedCluster, spec: StackSpec, plan: Plan) -> tuple[Finding, ...]:
    return differences(Stack(spec, plan), cluster.cluster)


def stack_of(case: Planted) -> tuple[StackSpec, Plan]:
    return planned(case.stack, case.changes) if case.changes else committed(case.stack)


@each("case", PLANTED, ids=lambda case: case.what)
def test_what_is_planted_is_found_by_its_rule_and_by_no_other(case: Planted) -> None:
    spec, plan = stack_of(case)
    cluster = PlayedCluster(spec)

    case.plant(cluster)

    found = found_in(cluster, spec, plan)
    assert [entry.id for entry in found] == [case.rule], [(entry.id, entry.message) for entry in found]
    assert found[0].seen[0].object
    assert found[0].seen[0].value
    assert found[0].message
    assert found[0].remedy


@each("case", HARMLESS, ids=lambda case: f"{case.rule}: {case.what}")
def test_what_does_no_harm_is_no_difference(case: Planted) -> None:
    spec, plan = stack_of(case)
    cluster = PlayedCluster(spec)

    case.plant(cluster)

    assert [entry.id for entry in found_in(cluster, spec, plan)] == []


@each("name", CLEAN)
def test_in_a_clean_cluster_nothing_is_found(name: str) -> None:
    spec, plan = committed(name)

    assert found_in(clean(spec), spec, plan) == ()


def after_up(spec: StackSpec, plan: Plan) -> PlayedCluster:
    """The cluster when the stack has been up, with the operators that its charts and operators run."""
    cluster = lived_in(spec, plan)
    for release in plan.releases:
        image = f"nvcr.io/nvidia/{release.chart.name}:{release.chart.version}"
        cluster.add(DEPLOYMENTS, workload(release.name, release.namespace, image, release.name), "helm")
        cluster.add(DAEMON_SETS, workload("kube-multus-ds", release.namespace, MULTUS), "network-operator")
        cluster.add(DAEMON_SETS, workload("plug-in", release.namespace, SRIOV_PLUGIN), "network-operator")
    return cluster


@each("name", CLEAN)
def test_after_an_up_its_own_objects_are_no_differences(name: str) -> None:
    spec, plan = committed(name)

    assert found_in(after_up(spec, plan), spec, plan) == ()


def test_at_least_forty_differences_are_planted_and_every_rule_is_among_them_or_tested_below() -> None:
    planted = {case.rule for case in PLANTED}

    assert len(PLANTED) >= 40
    # Those of accounts are planted in test_account.py.
    of_accounts = {name for name in rules() if name.startswith(("PRE12", "PRE13"))}
    about_clusters = {name for name, rule in rules().items() if rule.group == "preflight"} - of_accounts
    # Those of shared clusters are planted in test_shared_cluster.py.
    assert about_clusters - planted == {"PRE071", "PRE036", "PRE037", "PRE038"}


def test_every_judge_is_asked() -> None:
    judges = {
        f"{file.stem}.{node.name}"
        for file in (ROOT / "gpu_fabric/live").glob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if "Iterator[Finding]" in ast.unparse(node.returns or node) and node.args.args[0].arg == "case"
    }

    # Those of a run's state and releases, and of what follows from other damages, have a place of their own.
    alone = {"release_records.release_damages", "release_records.creation_damages", "offers.offer_damages"}
    assert {f"{judge.module}.{judge.function}" for judge in JUDGES} == judges - alone


def test_nodes_of_digitalocean_offer_the_rails_by_the_clouds_own_plug_in() -> None:
    spec, plan = committed("doks-h200")
    cluster = clean(spec)
    assert [entry.id for entry in found_in(cluster, spec, plan)] == ["PRE071"]

    for node in cluster.nodes:
        node["status"]["allocatable"] |= {rail.resource_name or "": "1" for rail in plan.rails}

    assert found_in(cluster, spec, plan) == ()


def test_a_cluster_is_read_by_as_many_requests_whatever_the_number_of_its_nodes() -> None:
    requests = []
    for nodes in (3, 300):
        spec, plan = planned("dev", {"cluster": {"pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": nodes}]}})
        cluster = PlayedCluster(spec)
        assert found_in(cluster, spec, plan) == ()
        requests.append(cluster.requests)

    assert requests[0] == requests[1]
    assert len(requests[0]) == len(set(requests[0])) < 60


def test_nothing_is_concluded_from_what_may_not_be_read() -> None:
    spec, plan = planned("dev", expects("cert-manager", "kueue"))
    cluster = PlayedCluster(spec)
    cluster.forbidden = {"/api/v1/nodes", "/api/v1/namespaces", f"/{DEPLOYMENTS}", f"/{DAEMON_SETS}"}

    found = found_in(cluster, spec, plan)

    assert [entry.id for entry in found] == ["PRE101"]
    assert "/api/v1/nodes" in found[0].message


def test_differences_of_one_cause_are_one_for_all_nodes_with_the_first_names() -> None:
    spec, plan = planned("dev", {"cluster": {"pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 40}]}})
    cluster = PlayedCluster(spec)
    for node in cluster.nodes:
        node["spec"]["unschedulable"] = True

    (found,) = found_in(cluster, spec, plan)

    assert found.id == "PRE059"
    assert "gpu-0, gpu-1, gpu-10, gpu-11 and 36 more" in found.message


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"judged": "yes"}},
        {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["default", "gpu-operator", "nvidia-network-operator"],
                }
            ]
        },
    ],
)
def test_a_webhook_that_leaves_the_stacks_namespaces_alone_is_not_in_the_way(selector: dict[str, Any]) -> None:
    spec, plan = committed("dev")
    cluster = PlayedCluster(spec)
    webhook(("policy", "engine"), None, namespaceSelector=selector)(cluster)

    assert found_in(cluster, spec, plan) == ()


def test_a_webhook_that_may_fail_is_not_in_the_way() -> None:
    spec, plan = committed("dev")
    cluster = PlayedCluster(spec)
    webhook(("policy", "engine"), None, failurePolicy="Ignore")(cluster)

    assert found_in(cluster, spec, plan) == ()


def test_software_that_the_stack_file_lists_is_expected_and_no_difference() -> None:
    spec, plan = planned("dev", expects("cert-manager"))
    cluster = PlayedCluster(spec)
    image = "quay.io/jetstack/cert-manager-controller:v1.18.0"
    cluster.add(DEPLOYMENTS, workload("cert-manager", "kube-system", image), "helm")

    assert found_in(cluster, spec, plan) == ()
