"""A certificate for a controller's webhooks, in the place of those that it makes itself."""

from __future__ import annotations

import base64

from ..certificates import self_signed
from ..kubernetes_api import Api, ApiError, Object
from .table import IssuedCertificate

_PATH = "/apis/admissionregistration.k8s.io/v1"


def issue(api: Api, wanted: IssuedCertificate, namespace: str) -> None:
    """Fill the Secret unless it has a certificate, and have the API server trust it in the webhook configurations.

    A Secret that does not exist is created.

    Raises ApiError.
    """
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    data = _data(api, f"{secrets}/{wanted.secret}")
    if data is None:
        api.post(secrets, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": wanted.secret}})
    if not data or "tls.crt" not in data:
        certificate, key = self_signed(f"{wanted.service}.{namespace}.svc")
        made = {"ca.crt": certificate, "tls.crt": certificate, "tls.key": key}
        data = {name: base64.b64encode(content).decode() for name, content in made.items()}
        api.patch(f"{secrets}/{wanted.secret}", {"data": data})
    for name in wanted.webhooks:
        kind = "mutatingwebhookconfigurations" if "mutating" in name else "validatingwebhookconfigurations"
        path = f"{_PATH}/{kind}/{name}"
        found = api.get(path)
        webhooks = [_trusting(webhook, data["ca.crt"]) for webhook in found.get("webhooks") or ()]
        if webhooks != found.get("webhooks"):
            api.patch(path, {"webhooks": webhooks})


def _data(api: Api, secret: str) -> dict[str, str] | None:
    """A Secret's content; None where there is no such Secret."""
    try:
        return api.get(secret).get("data") or {}
    except ApiError as error:
        if error.status == 404:
            return None
        raise


def _trusting(webhook: Object, authority: str) -> Object:
    return {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": authority}}
