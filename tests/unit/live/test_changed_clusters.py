"""A stack that was up, held against what its cluster has become: each change is found by its rule, and by no other."""

import sys
from pathlib import Path

import yaml
from committed_stacks import folder_of, stack_names
from each_case import each
from lived_in_clusters import CLEAN, SECRETS, LivedInCluster, committed, lived_in, planned, record_of
from stack_plans import stack_plan

from gpu_fabric.findings import Finding, rules
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.drift_and_damages import drift
from gpu_fabric.live.fields import changed_fields
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan import Plan
from gpu_fabric.resources import resources
from gpu_fabric.resources.charts import RELEASE as RELEASE_TYPE
from gpu_fabric.spec.stack import StackSpec

sys.path.insert(0, str(Path(__file__).parent))
from changed_by_hand import (
    CHANGED,
    DAEMON_SETS,
    IP_POOLS,
    OVERDUE,
    Changed,
    condition,
    manager,
    of_chart,
    spiderpool,
    whereabouts,
)

ROOT = Path(__file__).parents[3]


def found_in(cluster: LivedInCluster, spec: StackSpec, plan: Plan) -> tuple[Finding, ...]:
    return drift(Stack(spec, plan), Cluster(cluster.read, cluster.create, cluster.apply), OVERDUE)


@each("case", CHANGED, ids=lambda case: case.what)
def test_what_is_changed_is_found_by_its_rule_and_by_no_other(case: Changed) -> None:
    spec, plan = planned(case.stack, case.changes) if case.changes else committed(case.stack)
    cluster = lived_in(spec, plan)

    case.change(cluster, plan)

    found = found_in(cluster, spec, plan)
    assert {entry.id for entry in found} == {case.rule}, [(entry.id, entry.message) for entry in found]
    assert found[0].seen[0].object
    assert case.seen in found[0].seen[0].value
    assert found[0].message
    assert found[0].remedy
    assert "hunter2" not in str(found)
    assert "letmein" not in str(found)


@each("name", CLEAN)
def test_after_an_up_nothing_is_found(name: str) -> None:
    spec, plan = committed(name)

    assert found_in(lived_in(spec, plan), spec, plan) == ()


def test_every_rule_of_the_group_has_a_change() -> None:
    assert {name for name, rule in rules().items() if rule.group == "drift"} == {
        case.rule for case in CHANGED if case.rule.startswith("DRI")
    }


def test_an_amount_in_another_spelling_is_none_since_the_api_server_judges() -> None:
    spec, plan = committed("dev")
    cluster = lived_in(spec, plan)

    assert found_in(cluster, spec, plan) == ()

    # The charts write `1000m` where the server keeps `1`; every other object is compared without a dry run.
    assert cluster.applied == ["DaemonSet"] * len(plan.releases)


def test_without_the_right_to_patch_the_values_are_compared_as_they_are() -> None:
    spec, plan = committed("dev")
    cluster = lived_in(spec, plan)
    cluster.objects[IP_POOLS][0]["spec"]["perNodeBlockSize"] = 7

    found = drift(Stack(spec, plan), Cluster(cluster.read, cluster.create), OVERDUE)

    assert [entry.seen[0].field for entry in found if entry.id == "DRI002"] == ["spec.perNodeBlockSize"]


def test_of_what_a_definition_does_not_declare_an_empty_value_is_no_drift() -> None:
    live = {"kind": "SriovOperatorConfig", "metadata": {"name": "default"}, "spec": {"logLevel": 2}}
    chart = {**live, "spec": {"logLevel": 2, "configDaemonEnvVars": {}, "featureGates": {"new": True}}}

    # The API server refuses the dry run as a whole.
    assert [entry.path for entry in changed_fields(live, chart, lambda manifest: None)] == ["spec.featureGates"]


def test_pods_that_exist_hold_their_addresses_and_those_of_stateful_sets_keep_them() -> None:
    for name, change in (
        ("whereabouts", whereabouts(at_4="default/alive")),
        ("mi300x-macvlan", spiderpool("default/alive", "Job")),
        ("mi300x-macvlan", spiderpool("default/gone", "StatefulSet")),
    ):
        spec, plan = committed(name)
        cluster = lived_in(spec, plan)
        change(cluster, plan)

        assert found_in(cluster, spec, plan) == ()


def test_a_proven_node_and_a_restart_by_hand_are_no_drift() -> None:
    spec, plan = committed("dev")
    cluster = lived_in(spec, plan)
    condition("True")(cluster, plan)
    annotation = {"f:template": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}}}}
    for item in cluster.objects[DAEMON_SETS]:
        item["metadata"]["managedFields"].append(manager("kubectl-rollout", {"f:spec": annotation}))

    assert found_in(cluster, spec, plan) == ()


def test_nothing_is_concluded_from_what_may_not_be_read() -> None:
    spec, plan = committed("dev")
    cluster = lived_in(spec, plan)
    cluster.forbidden = {f"/{IP_POOLS}", "/api/v1/secrets", "/api/v1/pods", "/apis/apps/v1/daemonsets"}

    assert {entry.id for entry in found_in(cluster, spec, plan)} == {"PRE101"}


def test_values_of_a_changed_variable_are_never_told() -> None:
    spec, plan = committed("dev")
    cluster = lived_in(spec, plan)
    of_chart(lambda item: item["env"][0].update(value="letmein"))(cluster, plan)

    (found,) = found_in(cluster, spec, plan)

    assert "env[TOKEN].value is not as written" in found.message


def test_a_kind_that_the_cluster_no_longer_knows_is_gone_with_its_objects() -> None:
    spec, plan = committed("dev")
    cluster = lived_in(spec, plan)
    odd = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    cluster.add(SECRETS, record_of(plan.releases[0], version=4, manifest=yaml.safe_dump(odd)), "helm")

    (found,) = found_in(cluster, spec, plan)

    assert (found.id, found.seen[0].object) == ("DRI013", "Thing x")
    # Without a number Helm goes back to the revision before, with its values.
    assert f"`helm rollback {plan.releases[0].name} 4 -n " in found.remedy


def test_a_refused_dry_run_leaves_the_values_as_they_are_compared_and_repeats_nothing() -> None:
    spec, plan = committed("dev")
    cluster = lived_in(spec, plan)
    cluster.refuses = True
    of_chart(lambda item: item.update(image="evil:1"))(cluster, plan)

    found = found_in(cluster, spec, plan)

    assert {"spec.template.spec.containers[main].image"} <= {entry.seen[0].field for entry in found}
    assert "hunter2" not in str(found)


def test_every_release_that_a_stack_makes_is_looked_into() -> None:
    looked_into = 0
    for stack in stack_names():
        plan = stack_plan(stack, folder_of(stack))
        made = [entry.properties for entry in resources(plan) if entry.type == RELEASE_TYPE]
        looked = [(release.namespace, release.name) for release in plan.releases]
        assert sorted(looked) == sorted((entry["namespace"], entry["name"]) for entry in made)
        looked_into += len(made)
    assert looked_into > 10


def test_a_clusters_drift_is_read_by_as_many_requests_whatever_the_number_of_its_nodes() -> None:
    requests = []
    for nodes in (3, 300):
        spec, plan = planned("dev", {"cluster": {"pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": nodes}]}})
        cluster = lived_in(spec, plan)
        assert found_in(cluster, spec, plan) == ()
        requests.append(cluster.requests)

    assert requests[0] == requests[1]


def test_a_node_that_offers_a_thousand_devices_lacks_none() -> None:
    """The API server writes 1000 as 1k, as nodes of DigitalOcean show it."""
    spec, plan = committed("roce-macvlan")
    cluster = lived_in(spec, plan)
    shared = [name for name in cluster.nodes[0]["status"]["allocatable"] if name.startswith("rdma/")]
    for node in cluster.nodes:
        node["status"]["allocatable"].update(dict.fromkeys(shared, "1k"))

    assert shared
    assert found_in(cluster, spec, plan) == ()
