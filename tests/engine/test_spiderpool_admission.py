"""Where the stand-in for Spiderpool's chart has its webhooks answered, for what, and with which certificate."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from rendered_charts import Helm, Objects, Values, names, of_kind, only

pytestmark = pytest.mark.engine

CHART = "26.4/spiderpool"


@pytest.fixture(scope="session")
def helm() -> Helm:
    return Helm()


def webhooks(objects: Objects, kind: str) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in only(objects, f"{kind}WebhookConfiguration")["webhooks"]}


def operations(objects: Objects, kind: str) -> dict[str, list[str]]:
    rules = [rule for hook in webhooks(objects, kind).values() for rule in hook["rules"]]
    return {resource: rule["operations"] for rule in rules for resource in rule["resources"]}


def test_spiderpools_objects_are_checked_and_the_deletion_of_those_that_hold_addresses_too(helm: Helm) -> None:
    objects = helm.objects(CHART)
    plurals = ("spiderippools", "spidersubnets", "spiderreservedips", "spidercoordinators", "spidermultusconfigs")
    written = {plural: ["CREATE", "UPDATE"] for plural in plurals}
    assert operations(objects, "Mutating") == written
    assert operations(objects, "Validating") == written | {
        plural: ["CREATE", "UPDATE", "DELETE"] for plural in ("spiderippools", "spidersubnets")
    }
    every = [*webhooks(objects, "Mutating").values(), *webhooks(objects, "Validating").values()]
    assert {(hook["failurePolicy"], hook["sideEffects"]) for hook in every} == {("Fail", "None")}
    assert names(objects, "MutatingWebhookConfiguration") == {"spiderpool-controller"}
    assert names(objects, "ValidatingWebhookConfiguration") == {"spiderpool-controller"}


@pytest.mark.parametrize(
    ("lists", "operator", "namespaces"),
    [
        ({}, "NotIn", ["kube-system", "spiderpool", "metallb-system", "istio-system"]),
        ({"namespacesExclude": ["kube-system"]}, "NotIn", ["kube-system"]),
        ({"namespacesInclude": ["ai", "more-ai"]}, "In", ["ai", "more-ai"]),
    ],
)
def test_pods_are_changed_only_when_asked_for_and_in_the_namespaces_that_are_meant(
    helm: Helm, lists: Values, operator: str, namespaces: list[str]
) -> None:
    assert "pods.spiderpool.spidernet.io" not in webhooks(helm.objects(CHART), "Mutating")
    inject = {"spiderpoolController": {"podResourceInject": {"enabled": True, **lists}}}
    hook = webhooks(helm.objects(CHART, inject), "Mutating")["pods.spiderpool.spidernet.io"]
    assert hook["rules"] == [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
    assert hook["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": operator, "values": namespaces}
    ]


def test_without_a_cluster_the_webhooks_are_at_the_service_with_the_chart_s_own_authority(helm: Helm) -> None:
    objects = helm.objects(CHART)
    secret = only(objects, "Secret")
    every = [*webhooks(objects, "Mutating").values(), *webhooks(objects, "Validating").values()]
    for client in (hook["clientConfig"] for hook in every):
        assert (client["service"]["name"], client["service"]["namespace"]) == ("spiderpool-controller", "operators")
        assert client["service"]["port"] == 5722
        assert client["caBundle"] == secret["data"]["ca.crt"]


class _Cluster(BaseHTTPRequestHandler):
    """As much of an API server as Helm asks for when it renders against one; it has the sandbox's ConfigMap."""

    answers = {
        "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {
            "kind": "APIResourceList",
            "groupVersion": "v1",
            "resources": [{"name": "configmaps", "namespaced": True, "kind": "ConfigMap", "verbs": ["get"]}],
        },
        "/api/v1/namespaces/kube-system/configmaps/sandbox-admission": {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "sandbox-admission", "namespace": "kube-system"},
            "data": {"url": "https://127.0.0.1:12345", "caBundle": "c2FuZGJveA=="},
        },
    }

    def do_GET(self) -> None:
        answer = self.answers.get(self.path.partition("?")[0])
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer or {"kind": "Status", "code": 404, "reason": "NotFound"}).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is the chart."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Path]:
    server = HTTPServer(("127.0.0.1", 0), _Cluster)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    kubeconfig = tmp_path / "kubeconfig"
    address = {"name": "stub", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
    context = {"name": "stub", "context": {"cluster": "stub", "user": ""}}
    kubeconfig.write_text(yaml.safe_dump({"clusters": [address], "contexts": [context], "current-context": "stub"}))
    yield kubeconfig
    server.shutdown()
    thread.join()
    server.server_close()


def test_in_the_sandbox_the_webhooks_are_at_its_admission_server(helm: Helm, cluster: Path) -> None:
    inject = {"spiderpoolController": {"podResourceInject": {"enabled": True}}}
    objects = helm.objects(CHART, inject, "--dry-run=server", "--kubeconfig", str(cluster))
    every = [*webhooks(objects, "Mutating").values(), *webhooks(objects, "Validating").values()]
    assert {hook["clientConfig"]["url"] for hook in every} == {
        f"https://127.0.0.1:12345/spiderpool/{path}" for path in ("mutate", "validate", "pods")
    }
    assert {hook["clientConfig"]["caBundle"] for hook in every} == {"c2FuZGJveA=="}


# --- certificates


def test_the_charts_own_certificate_is_another_one_at_each_render(helm: Helm) -> None:
    first, second = (only(helm.objects(CHART), "Secret") for _ in range(2))
    assert first["metadata"]["name"] == "spiderpool-controller-server-certs"
    assert first["data"]["ca.crt"] != second["data"]["ca.crt"]
    assert base64.b64decode(first["data"]["tls.crt"]).startswith(b"-----BEGIN CERTIFICATE-----")


def test_cert_manager_is_asked_by_an_issuer_of_the_charts_own_or_of_the_clusters(helm: Helm) -> None:
    def objects(**certmanager: str) -> Objects:
        tls = {"method": "certmanager", "certmanager": certmanager}
        return helm.objects(CHART, {"spiderpoolController": {"tls": tls}})

    own = objects()
    assert of_kind(own, "Secret") == []
    certificate = only(own, "Certificate")
    assert certificate["spec"]["secretName"] == "spiderpool-controller-server-certs"
    assert certificate["spec"]["issuerRef"]["name"] == only(own, "Issuer")["metadata"]["name"]
    assert "spiderpool-controller.operators.svc" in certificate["spec"]["dnsNames"]
    others = objects(issuerName="company")
    assert only(others, "Certificate")["spec"]["issuerRef"]["name"] == "company"
    assert of_kind(others, "Issuer") == []


def test_a_given_certificate_is_used_as_it_is_and_half_of_one_is_refused(helm: Helm) -> None:
    def values(**provided: str) -> Values:
        return {"spiderpoolController": {"tls": {"method": "provided", "provided": provided}}}

    objects = helm.objects(CHART, values(tlsCert="Y2VydA==", tlsKey="a2V5", tlsCa="Y2E="))
    assert only(objects, "Secret")["data"] == {"tls.crt": "Y2VydA==", "tls.key": "a2V5", "ca.crt": "Y2E="}
    assert {hook["clientConfig"]["caBundle"] for hook in webhooks(objects, "Mutating").values()} == {"Y2E="}
    refused = helm.template(CHART, values(tlsCert="Y2VydA=="))
    assert refused.returncode != 0
    assert "tlsCert, tlsKey and tlsCa" in refused.stderr
