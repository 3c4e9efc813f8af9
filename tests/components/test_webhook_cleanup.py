"""Webhook configurations that an operator has left are deleted, and those of a running operator never."""

from __future__ import annotations

from typing import Any

import pytest
from recording import Recording

from components.cluster_api import RequestError
from components.operators import webhook_cleanup
from components.operators.webhook_cleanup import WebhookCleanupError, WebhookCleanupProvider

pytestmark = pytest.mark.components

Json = dict[str, Any]
NAME = "sriov-operator-webhook-config"
CLEANUP = f"webhook-cleanup-{NAME}"
PATHS = [
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{NAME}" for kind in ("validating", "mutating")
]
SERVICE = "/api/v1/namespaces/spiderpool/services/operator-webhook-service"
PROPS = {"kubeconfig": "k", "cluster": "c", "webhooks": NAME, "namespace": "spiderpool"}


def configuration(*clients: Json) -> Json:
    return {"webhooks": [{"name": f"webhook-{place}", "clientConfig": client} for place, client in enumerate(clients)]}


def service(namespace: str = "spiderpool") -> Json:
    return {"service": {"name": "operator-webhook-service", "namespace": namespace, "path": "/validating"}}


class Cluster:
    """A cluster's objects by their paths; `refusal` is what it answers to a deletion."""

    def __init__(self, objects: dict[str, Json], refusal: RequestError | None = None) -> None:
        self.objects = dict(objects)
        self._refusal = refusal

    def request(self, _method: str, path: str) -> Json:
        if path not in self.objects:
            raise RequestError(404, "not found")
        return self.objects[path]

    def delete(self, path: str) -> None:
        if self._refusal is not None:
            raise self._refusal
        del self.objects[path]


@pytest.fixture(params=["create", "delete"])
def clean_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Creates the resource on a cluster, or deletes it: both do the same there."""

    def act(cluster: Cluster) -> None:
        monkeypatch.setattr(webhook_cleanup, "ClusterApi", lambda *_: cluster)
        provider = WebhookCleanupProvider()
        provider.create(PROPS) if request.param == "create" else provider.delete(NAME, PROPS)

    return act


def test_configurations_whose_service_is_gone_are_deleted(clean_up: Any) -> None:
    cluster = Cluster({path: configuration(service(), service()) for path in PATHS})
    clean_up(cluster)
    assert cluster.objects == {}


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param((service("another"),), id="those of another installation"),
        pytest.param((service(), service("another")), id="those that another installation serves, too"),
        pytest.param(({"url": "https://127.0.0.1:9443"},), id="those without a Service"),
        pytest.param((), id="those without webhooks"),
    ],
)
def test_configurations_of_others_stay(clean_up: Any, asked: tuple[Json, ...]) -> None:
    cluster = Cluster({path: configuration(*asked) for path in PATHS})
    clean_up(cluster)
    assert list(cluster.objects) == PATHS


def test_configurations_of_an_operator_whose_service_exists_stay(clean_up: Any) -> None:
    cluster = Cluster({SERVICE: {}, **{path: configuration(service()) for path in PATHS}})
    clean_up(cluster)
    assert list(cluster.objects) == [SERVICE, *PATHS]


def test_a_cluster_without_them_is_left_as_it_is(clean_up: Any) -> None:
    clean_up(Cluster({}))


def test_a_refused_deletion_ends_the_run_with_the_configurations_and_the_reason(clean_up: Any) -> None:
    cluster = Cluster({path: configuration(service()) for path in PATHS}, RequestError(403, "it is forbidden"))
    with pytest.raises(WebhookCleanupError, match=f"{NAME} could not be looked at or deleted: it is forbidden"):
        clean_up(cluster)


def test_an_unreachable_cluster_counts_as_clean_where_the_user_has_said_so(
    clean_up: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    clean_up(Cluster({path: configuration(service()) for path in PATHS}, RequestError(0, "not reached")))


@pytest.mark.parametrize(("key", "replaced"), [("cluster", True), ("namespace", True), ("kubeconfig", False)])
def test_another_cluster_or_namespace_replaces_the_resource_and_new_credentials_do_not(
    key: str, replaced: bool
) -> None:
    difference = WebhookCleanupProvider().diff(NAME, PROPS, {**PROPS, key: "new"})
    assert difference.replaces == ([key] if replaced else None)


@pytest.mark.parametrize(
    ("stack", "namespace"), [("spiderpool-sriov", "spiderpool"), ("sriov-operator", "nvidia-network-operator")]
)
def test_the_clean_up_is_created_before_the_operators_namespace_and_deleted_after_it(
    recorded: Any, stack: str, namespace: str
) -> None:
    recording: Recording = recorded(stack)
    assert recording.comes_after(f"namespaces-{namespace}", CLEANUP)


def test_a_stack_without_the_sriov_operator_has_no_clean_up(recorded: Any) -> None:
    assert CLEANUP not in {entry.name for entry in recorded("dev").resources}
