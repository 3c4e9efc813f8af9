"""Taking Kueue away: the queue is emptied, and no finalizer keeps anything once its controller has ended."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pulumi.dynamic import ConfigureRequest

from components.cluster_api import RequestError
from components.operators import queue_teardown
from components.operators.queue_teardown import QueueDrainProvider, QueueReleaseProvider, QueueTeardownError

pytestmark = pytest.mark.components

Json = dict[str, Any]
API = "/apis/kueue.x-k8s.io/v1beta2"
DEPLOYMENT = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager"
QUEUE = f"{API}/clusterqueues/fabric"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
PROPS = {
    "kubeconfig": "k",
    "context": None,
    "cluster": "c",
    "queue": "fabric",
    "namespace": "kueue-system",
    "controller": "kueue-controller-manager",
}


def workload(name: str, queue: str | None = "fabric", *, finished: bool = False) -> Json:
    conditions = [{"type": "Finished", "status": "True"}] if finished else []
    status: Json = {"conditions": conditions}
    if queue is not None:
        status["admission"] = {"clusterQueue": queue}
    metadata = {"name": name, "namespace": "ai", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    return {"metadata": metadata, "status": status}


class Cluster:
    """A cluster with Kueue, by paths; a controller that runs stops the jobs of a stopped queue, but for `stubborn`."""

    def __init__(self, *workloads: Json, running: bool = True, stubborn: str = "") -> None:
        self.stubborn = stubborn
        self.asked: list[tuple[str, str]] = []
        self.objects: dict[str, Json] = {
            QUEUE: {"metadata": {"name": "fabric", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}, "spec": {}},
            DEPLOYMENT: {"status": {"replicas": 1, "availableReplicas": 1} if running else {"replicas": 1}},
        }
        for kind in ("validating", "mutating"):
            self.objects[f"{WEBHOOKS}/{kind}webhookconfigurations/kueue-{kind}-webhook-configuration"] = {}
        for item in workloads:
            self.objects[f"{API}/namespaces/ai/workloads/{item['metadata']['name']}"] = copy.deepcopy(item)

    def request(self, method: str, path: str, body: Json | None = None, _headers: Json | None = None) -> Json:
        self.asked.append((method, path))
        if path not in self.objects:
            raise RequestError(404, "not found")
        if body is not None:
            self._patched(path, body)
        return self.objects[path]

    def delete(self, path: str) -> None:
        self.asked.append(("DELETE", path))
        self.objects.pop(path, None)

    def finalizers(self) -> list[str]:
        """The names of Kueue's objects that have one."""
        return [
            path.rpartition("/")[2] for path, item in self.objects.items() if item.get("metadata", {}).get("finalizers")
        ]

    def items(self, collection: str, _selector: str) -> list[Json]:
        kind = collection.rpartition("/")[2]
        return [item for known, item in self.objects.items() if known.split("/")[-2] == kind]

    def _patched(self, path: str, body: Json) -> None:
        item = self.objects[path]
        for section, values in body.items():
            item.setdefault(section, {}).update(values)
        if path == DEPLOYMENT and item["spec"]["replicas"] == 0:
            item["status"] = {}
        if (
            path == QUEUE
            and item["spec"].get("stopPolicy")
            and self.objects[DEPLOYMENT]["status"].get("availableReplicas")
        ):
            for known, other in self.objects.items():
                if "/workloads/" in known and not known.endswith(f"/{self.stubborn}"):
                    other["status"].pop("admission", None)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_PATIENCE", "_DRAINING", "_STOPPING"):
        monkeypatch.setattr(queue_teardown, name, 0.2)
    monkeypatch.setattr(queue_teardown, "_LOOK_AGAIN", 0.01)


def taken_down(
    monkeypatch: pytest.MonkeyPatch, provider: QueueDrainProvider | QueueReleaseProvider, cluster: Cluster
) -> None:
    monkeypatch.setattr(queue_teardown, "ClusterApi", lambda *_: cluster)
    provider.configure(ConfigureRequest(config=None))  # type: ignore[arg-type]
    provider.delete("fabric", PROPS)


def test_a_queue_lets_nobody_in_and_has_its_jobs_stopped_before_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(workload("a"), workload("b", queue=None))
    taken_down(monkeypatch, QueueDrainProvider(), cluster)

    assert cluster.objects[QUEUE]["spec"] == {"stopPolicy": "HoldAndDrain"}
    assert "spec" not in cluster.objects[DEPLOYMENT]


def test_jobs_that_go_on_are_named_and_the_queue_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(workload("a"), workload("stuck"), stubborn="stuck")

    with pytest.raises(QueueTeardownError, match=r"still hold resources of the queue fabric .*: ai/stuck; delete"):
        taken_down(monkeypatch, QueueDrainProvider(), cluster)


@pytest.mark.parametrize("other", [workload("done", finished=True), workload("other", queue="of-another-team")])
def test_jobs_that_are_over_or_of_another_queue_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, other: Json
) -> None:
    cluster = Cluster(other, stubborn=other["metadata"]["name"])

    taken_down(monkeypatch, QueueDrainProvider(), cluster)


def test_without_a_controller_nobody_is_waited_for_and_nothing_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(workload("a"), running=False)
    taken_down(monkeypatch, QueueDrainProvider(), cluster)

    assert cluster.finalizers() == []


def test_a_queue_that_somebody_deleted_needs_no_draining(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(workload("a"))
    del cluster.objects[QUEUE]
    taken_down(monkeypatch, QueueDrainProvider(), cluster)

    assert cluster.asked == [("PATCH", QUEUE)]


@pytest.mark.parametrize("provider", [QueueDrainProvider(), QueueReleaseProvider()])
def test_queues_on_a_cluster_that_is_gone_for_good_are_gone(
    monkeypatch: pytest.MonkeyPatch, provider: QueueDrainProvider | QueueReleaseProvider
) -> None:
    class Gone(Cluster):
        def request(self, *_: Any, **__: Any) -> Json:
            raise RequestError(0, "the API server was not reached")

        delete = request  # type: ignore[assignment]

    with pytest.raises(QueueTeardownError, match="not reached"):
        taken_down(monkeypatch, provider, Gone())
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    taken_down(monkeypatch, provider, Gone())


def test_webhooks_and_controller_go_before_finalizers_are_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(workload("a", queue=None))
    taken_down(monkeypatch, QueueReleaseProvider(), cluster)
    writes = [path.rpartition("/")[2] for method, path in cluster.asked if method != "GET"]

    assert writes == [
        "kueue-validating-webhook-configuration",
        "kueue-mutating-webhook-configuration",
        "kueue-controller-manager",
        "a",
        "fabric",
    ]
    assert cluster.finalizers() == []
    assert cluster.objects[DEPLOYMENT]["spec"] == {"replicas": 0}


def test_a_pod_of_kueues_loses_kueues_finalizer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    pod = "/api/v1/namespaces/ai/pods/one"
    finalizers = ["example.com/own", "kueue.x-k8s.io/managed"]
    cluster.objects[pod] = {"metadata": {"name": "one", "namespace": "ai", "finalizers": finalizers}}
    taken_down(monkeypatch, QueueReleaseProvider(), cluster)

    assert cluster.objects[pod]["metadata"]["finalizers"] == ["example.com/own"]


def test_nothing_of_kueues_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.objects.clear()
    taken_down(monkeypatch, QueueReleaseProvider(), cluster)

    assert [entry for entry in cluster.asked if entry[0] == "PATCH"] == []


def test_renewed_credentials_replace_nothing_and_another_cluster_does() -> None:
    provider = QueueDrainProvider()

    assert not provider.diff("fabric", PROPS, {**PROPS, "kubeconfig": "renewed"}).replaces
    assert provider.diff("fabric", PROPS, {**PROPS, "cluster": "another"}).replaces == ["cluster"]
