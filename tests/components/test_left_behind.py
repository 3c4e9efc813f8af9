"""What operators would leave on a cluster: queues, labels and webhooks go, others' never; a policy stays."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from pulumi.dynamic import ConfigureRequest

from components.engine import retained_objects
from components.engine.cluster_api import RequestError
from components.engine.retained_objects import retain
from components.engine.waiting import NodesError
from components.operators import label_cleanup, queue_teardown, webhook_cleanup
from components.operators.label_cleanup import LabelCleanupError, LabelCleanupProvider
from components.operators.queue_teardown import QueueDrainProvider, QueueReleaseProvider, QueueTeardownError
from components.operators.webhook_cleanup import WebhookCleanupError, WebhookCleanupProvider
from gpu_fabric.plan.records import PlannedRetention

Json = dict[str, Any]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
QUEUE, WORKLOADS = f"{KUEUE}/clusterqueues/fabric", f"{KUEUE}/namespaces/ai/workloads"
CONTROLLER = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
NODE = "/api/v1/nodes/gpu-0"
SRIOV = "sriov-operator-webhook-config"
CONFIGURATIONS = [f"{ADMISSION}/{kind}webhookconfigurations/{SRIOV}" for kind in ("validating", "mutating")]
SERVICE = "/api/v1/namespaces/spiderpool/services/operator-webhook-service"
POLICY = "/apis/mellanox.com/v1alpha1/nicclusterpolicies/nic-cluster-policy"
PROPS = {
    "kubeconfig": "k",
    "context": None,
    "cluster": "c",
    "queue": "fabric",
    "namespace": "kueue-system",
    "controller": "kueue-controller-manager",
    "prefixes": ["nvidia.com/gpu", "feature.node.kubernetes.io/"],
}
OF_WEBHOOKS = {**PROPS, "webhooks": SRIOV, "namespace": "spiderpool"}
GONE = RequestError(0, "the API server was not reached")


class Cluster:
    """Objects by path; `refusals` are the first answers, the last one for ever where `refuses` is true."""

    def __init__(self, objects: dict[str, Json], *refusals: RequestError, refuses: bool = False) -> None:
        self.objects = copy.deepcopy(objects)
        self.asked: list[tuple[str, str]] = []
        self.refusals, self.refuses = list(refusals), refuses

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(method, path.rpartition("/")[2]) for method, path in self.asked if method != "GET"]

    def request(self, method: str, path: str, body: Json | None = None, headers: Json | None = None) -> Json:
        self._answer(method, path)
        if method == "GET" and (items := [item for key, item in self.objects.items() if key.startswith(f"{path}/")]):
            return {"items": items}
        if path not in self.objects:
            raise RequestError(404, "not found")
        if body is not None:
            assert headers == {"Content-Type": "application/merge-patch+json"}
            merge(self.objects[path], body)
            self.patched(path)
        return self.objects[path]

    def items(self, collection: str, _selector: str = "") -> list[Json]:
        """The objects of a kind in every namespace."""
        self._answer("GET", collection)
        return [item for path, item in self.objects.items() if path.split("/")[-2] == collection.rpartition("/")[2]]

    def delete(self, path: str) -> None:
        self._answer("DELETE", path)
        self.objects.pop(path, None)

    def patched(self, path: str) -> None:
        """What controllers do when an object was patched."""

    def _answer(self, method: str, path: str) -> None:
        self.asked.append((method, path))
        if self.refusals:
            raise self.refusals[0] if self.refuses else self.refusals.pop(0)


def merge(item: Json, changes: Json) -> None:
    """A JSON merge patch (RFC 7386)."""
    for key, value in changes.items():
        if value is None:
            item.pop(key, None)
        elif isinstance(value, dict):
            merge(item.setdefault(key, {}), value)
        else:
            item[key] = value


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    for name in ("_DRAINING", "_STOPPING"):
        monkeypatch.setattr(queue_teardown, name, 0.2)
    monkeypatch.setattr(queue_teardown, "_LOOK_AGAIN", 0.01)

    class Clock:
        """In the place of the module `time`: pauses are over at once, and each takes its seconds."""

        @staticmethod
        def monotonic() -> float:
            return now[0]

        @staticmethod
        def sleep(seconds: float) -> None:
            now[0] += seconds

    monkeypatch.setattr(retained_objects, "time", Clock)


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[Cluster, Any], Any]:
    """A provider that works on a cluster."""

    def use(cluster: Cluster, provider: Any) -> Any:
        for module in (queue_teardown, label_cleanup, webhook_cleanup):
            monkeypatch.setattr(module, "ClusterApi", lambda *_: cluster)
        provider.configure(ConfigureRequest(config=None))  # type: ignore[arg-type]
        return provider

    return use


On = Callable[[Cluster, Any], Any]


@pytest.mark.parametrize(
    ("provider", "props", "error", "reason"),
    [
        (QueueDrainProvider(), PROPS, QueueTeardownError, "not reached"),
        (QueueReleaseProvider(), PROPS, QueueTeardownError, "not reached"),
        (LabelCleanupProvider(), {**PROPS, "kept": []}, LabelCleanupError, "could not be deleted: "),
        (WebhookCleanupProvider(), OF_WEBHOOKS, WebhookCleanupError, f"{SRIOV} could not be looked at or deleted: "),
    ],
)
def test_a_cluster_that_is_gone_counts_as_clean_where_the_user_says_so_and_a_refusal_never_does(
    on: On, monkeypatch: pytest.MonkeyPatch, provider: Any, props: Json, error: type[Exception], reason: str
) -> None:
    gone = on(Cluster({}, GONE, refuses=True), provider)
    with pytest.raises(error, match=reason):
        gone.delete("id", props)
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    gone.delete("id", props)
    with pytest.raises(error, match="it is forbidden"):
        on(Cluster({}, RequestError(403, "it is forbidden"), refuses=True), provider).delete("id", props)


@pytest.mark.parametrize(
    ("provider", "others"),
    [(QueueDrainProvider(), []), (LabelCleanupProvider(), []), (WebhookCleanupProvider(), ["namespace"])],
)
def test_renewed_credentials_replace_nothing_and_another_cluster_does(provider: Any, others: list[str]) -> None:
    assert not provider.diff("id", OF_WEBHOOKS, {**OF_WEBHOOKS, "kubeconfig": "renewed"}).replaces
    for key in ("cluster", *others):
        assert provider.diff("id", OF_WEBHOOKS, {**OF_WEBHOOKS, key: "another"}).replaces == [key]


# Kueue's queues


def workload(name: str, queue: str | None = "fabric", *, finished: bool = False) -> dict[str, Json]:
    conditions = [{"type": "Finished", "status": "True"}] if finished else []
    admission = {} if queue is None else {"admission": {"clusterQueue": queue}}
    metadata = {"name": name, "namespace": "ai", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    return {f"{WORKLOADS}/{name}": {"metadata": metadata, "status": {"conditions": conditions, **admission}}}


class WithKueue(Cluster):
    """A controller that runs stops the jobs of a stopped queue, but for those that are called `stuck`."""

    def __init__(self, *workloads: dict[str, Json], running: bool = True) -> None:
        objects: dict[str, Json] = {
            QUEUE: {"metadata": {"name": "fabric", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}, "spec": {}},
            CONTROLLER: {"status": {"replicas": 1, "availableReplicas": int(running)}},
        }
        for item in workloads:
            objects |= item
        super().__init__(objects)

    def patched(self, path: str) -> None:
        if path == CONTROLLER and self.objects[path]["spec"]["replicas"] == 0:
            self.objects[path]["status"] = {}
        runs = self.objects[CONTROLLER]["status"].get("availableReplicas")
        if path == QUEUE and runs and self.objects[QUEUE]["spec"].get("stopPolicy"):
            for known, other in self.objects.items():
                if known.startswith(WORKLOADS) and not known.endswith("stuck"):
                    other["status"].pop("admission", None)

    def finalizers(self) -> list[str]:
        """The names of objects that have one."""
        return [
            path.rpartition("/")[2] for path, item in self.objects.items() if item.get("metadata", {}).get("finalizers")
        ]


def test_a_queue_lets_nobody_in_and_has_its_jobs_stopped_before_it_goes(on: On) -> None:
    cluster = WithKueue(workload("a"), workload("b", queue=None))
    on(cluster, QueueDrainProvider()).delete("fabric", PROPS)

    assert cluster.objects[QUEUE]["spec"] == {"stopPolicy": "HoldAndDrain"}
    assert "spec" not in cluster.objects[CONTROLLER]


def test_jobs_that_go_on_are_named_and_the_queue_stays(on: On) -> None:
    cluster = WithKueue(workload("a"), workload("stuck"), workload("over-stuck", finished=True))
    cluster.objects |= workload("theirs-stuck", queue="of-another-team")
    with pytest.raises(QueueTeardownError, match=r"still hold resources of the queue fabric .*: ai/stuck; delete"):
        on(cluster, QueueDrainProvider()).delete("fabric", PROPS)


def test_without_a_controller_nobody_is_waited_for_and_nothing_is_held(on: On) -> None:
    cluster = WithKueue(workload("a"), running=False)
    on(cluster, QueueDrainProvider()).delete("fabric", PROPS)

    assert cluster.finalizers() == []


def test_what_somebody_deleted_needs_nothing(on: On) -> None:
    cluster = WithKueue(workload("a"))
    del cluster.objects[QUEUE]
    on(cluster, QueueDrainProvider()).delete("fabric", PROPS)
    assert cluster.asked == [("PATCH", QUEUE)]

    nothing = Cluster({})
    on(nothing, QueueReleaseProvider()).delete("fabric", PROPS)
    assert [entry for entry in nothing.asked if entry[0] == "PATCH"] == []


def test_webhooks_and_controller_go_before_kueues_finalizers_and_those_of_others_stay(on: On) -> None:
    cluster = WithKueue(workload("a", queue=None))
    finalizers = ["example.com/own", "kueue.x-k8s.io/managed"]
    cluster.objects["/api/v1/namespaces/ai/pods/one"] = {
        "metadata": {"name": "one", "namespace": "ai", "finalizers": finalizers}
    }
    on(cluster, QueueReleaseProvider()).delete("fabric", PROPS)

    assert cluster.writes == [
        ("DELETE", "kueue-validating-webhook-configuration"),
        ("DELETE", "kueue-mutating-webhook-configuration"),
        ("PATCH", "kueue-controller-manager"),
        ("PATCH", "a"),
        ("PATCH", "fabric"),
        ("PATCH", "one"),
    ]
    assert cluster.finalizers() == ["one"]
    assert cluster.objects["/api/v1/namespaces/ai/pods/one"]["metadata"]["finalizers"] == ["example.com/own"]
    assert cluster.objects[CONTROLLER]["spec"] == {"replicas": 0}


# Labels of nodes


def test_keys_that_came_after_the_stack_are_deleted_and_all_others_stay(on: On) -> None:
    cluster = Cluster(
        {
            NODE: {"metadata": {"name": "gpu-0", "labels": {"zone": "a", "feature.node.kubernetes.io/own": "x"}}},
            "/api/v1/nodes/cpu-0": {"metadata": {"name": "cpu-0"}},
        }
    )
    provider = on(cluster, LabelCleanupProvider())
    made = provider.create(PROPS)
    metadata = cluster.objects[NODE]["metadata"]
    metadata["labels"] |= {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu-operator.resource-allocation.mode": "dra",
        "feature.node.kubernetes.io/pci-15b3.present": "true",
        "nvidia.com/other": "theirs",
    }
    metadata["annotations"] = {"nvidia.com/gpu-driver-upgrade-enabled": "true", "note": "mine"}
    # An update keeps what was noted at the creation.
    new = {**PROPS, "prefixes": ["nvidia.com/gpu", "feature.node.kubernetes.io/", "nvidia.com/mig"]}
    assert provider.diff(made.id, made.outs, new).changes
    provider.delete(made.id, provider.update(made.id, made.outs, new).outs)

    assert metadata["labels"] == {"zone": "a", "feature.node.kubernetes.io/own": "x", "nvidia.com/other": "theirs"}
    assert metadata["annotations"] == {"note": "mine"}
    assert cluster.writes == [("PATCH", "gpu-0")]


def test_nodes_that_may_not_be_read_end_the_run_with_the_reason(on: On) -> None:
    provider = on(Cluster({}, RequestError(403, "nodes is forbidden"), refuses=True), LabelCleanupProvider())
    with pytest.raises(LabelCleanupError, match="could not be read: nodes is forbidden"):
        provider.create(PROPS)


# Webhook configurations


def service(namespace: str = "spiderpool") -> Json:
    return {"service": {"name": "operator-webhook-service", "namespace": namespace, "path": "/validating"}}


@pytest.mark.parametrize("act", ["create", "delete"])
@pytest.mark.parametrize(
    ("asked", "there", "stay"),
    [
        pytest.param([service(), service()], {}, False, id="those whose Service is gone"),
        pytest.param([service()], {SERVICE: {}}, True, id="those of an operator whose Service exists"),
        pytest.param([service("another")], {}, True, id="those of another installation"),
        pytest.param([service(), service("another")], {}, True, id="those that another installation serves, too"),
        pytest.param([{"url": "https://127.0.0.1:9443"}], {}, True, id="those without a Service"),
        pytest.param([], {}, True, id="those without webhooks"),
    ],
)
def test_configurations_that_nobody_serves_any_more_go_and_no_others(
    on: On, act: str, asked: list[Json], there: dict[str, Json], stay: bool
) -> None:
    webhooks = [{"name": f"webhook-{place}", "clientConfig": client} for place, client in enumerate(asked)]
    cluster = Cluster({**{path: {"webhooks": webhooks} for path in CONFIGURATIONS}, **there})
    provider = on(cluster, WebhookCleanupProvider())
    provider.create(OF_WEBHOOKS) if act == "create" else provider.delete(SRIOV, OF_WEBHOOKS)

    assert [path for path in cluster.objects if path != SERVICE] == (CONFIGURATIONS if stay else [])


# The policy of an older chart

RETAINED = PlannedRetention(
    api_version="mellanox.com/v1alpha1", kind="NicClusterPolicy", plural="nicclusterpolicies", name="nic-cluster-policy"
)
KEPT = {"helm.sh/resource-policy": "keep"}


@pytest.mark.parametrize(
    ("annotations", "refusals", "marks"),
    [
        ({"meta.helm.sh/release-name": "network-operator"}, [], 1),
        ({**KEPT, "other": "x"}, [], 0),
        (None, [], 0),
        # A busy API server is asked again.
        ({}, [RequestError(503, "starting"), RequestError(0, "no answer")], 1),
    ],
)
def test_the_policy_of_an_older_chart_gets_helms_mark(
    annotations: Json | None, refusals: list[RequestError], marks: int
) -> None:
    before = {} if annotations is None else {POLICY: {"metadata": {"annotations": annotations}}}
    cluster = Cluster(before, *refusals)
    retain(RETAINED, cluster)  # type: ignore[arg-type]

    assert cluster.writes == [("PATCH", "nic-cluster-policy")] * marks
    assert cluster.objects == ({POLICY: {"metadata": {"annotations": {**annotations, **KEPT}}}} if before else {})


@pytest.mark.parametrize("refusal", [RequestError(403, "forbidden"), RequestError(503, "starting")])
def test_a_release_is_not_upgraded_while_its_policy_could_not_be_marked(refusal: RequestError) -> None:
    with pytest.raises(NodesError, match="NicClusterPolicy nic-cluster-policy could not be marked to stay: "):
        retain(RETAINED, Cluster({POLICY: {"metadata": {}}}, refusal, refuses=True))  # type: ignore[arg-type]
