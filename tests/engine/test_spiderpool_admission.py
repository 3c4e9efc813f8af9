"""Where the stand-in for Spiderpool's chart has its webhooks answered, for what, and with which certificate."""

from __future__ import annotations

import base64
from typing import Any

import pytest
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
    ("lists", "meant"),
    [
        ({}, {"NotIn": ["kube-system", "spiderpool", "metallb-system", "istio-system"]}),
        ({"namespacesExclude": ["kube-system"]}, {"NotIn": ["kube-system"]}),
        ({"namespacesExclude": [], "namespacesInclude": ["ai", "more-ai"]}, {"In": ["ai", "more-ai"]}),
        ({"namespacesExclude": ["no"], "namespacesInclude": ["ai"]}, {"NotIn": ["no"], "In": ["ai"]}),
    ],
)
def test_pods_are_changed_only_when_asked_for_and_in_the_namespaces_that_are_meant(
    helm: Helm, lists: Values, meant: dict[str, list[str]]
) -> None:
    assert "pods.spiderpool.spidernet.io" not in webhooks(helm.objects(CHART), "Mutating")
    inject = {"spiderpoolController": {"podResourceInject": {"enabled": True, **lists}}}
    hook = webhooks(helm.objects(CHART, inject), "Mutating")["pods.spiderpool.spidernet.io"]
    assert hook["rules"] == [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
    assert hook["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": operator, "values": namespaces}
        for operator, namespaces in meant.items()
    ]


def test_the_webhooks_are_at_the_service_with_the_chart_s_own_authority(helm: Helm) -> None:
    objects = helm.objects(CHART)
    secret = only(objects, "Secret")
    every = [*webhooks(objects, "Mutating").values(), *webhooks(objects, "Validating").values()]
    for client in (hook["clientConfig"] for hook in every):
        assert (client["service"]["name"], client["service"]["namespace"]) == ("spiderpool-controller", "operators")
        assert client["service"]["port"] == 5722
        assert client["caBundle"] == secret["data"]["ca.crt"]


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
