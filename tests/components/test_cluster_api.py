"""A connection to a cluster is the same, whether this program reads the kubeconfig or the kubernetes client does."""

import base64
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from json_server import json_server, verify_as_newer_python

from components.engine.cluster_api import ClusterApi, RequestError
from sandbox.certificates import self_signed

Entry = dict[str, Any]


class Server:
    """A server with TLS, which says whose token a request has, and can require the certificate of its user."""

    def __init__(self, folder: Path) -> None:
        self.files = {}
        for name in ("localhost", "user"):
            self.files[name] = (folder / f"{name}.pem", folder / f"{name}.key")
            for file, content in zip(self.files[name], self_signed(name), strict=True):
                file.write_bytes(content)
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.files["user"][0]))
        self.tls.load_cert_chain(*self.files["localhost"])
        self.port = 0

    def cluster(self) -> Entry:
        authority = self.encoded(self.files["localhost"][0])
        return {"server": f"https://localhost:{self.port}/", "certificate-authority-data": authority}

    def certificate(self) -> Entry:
        names = ("client-certificate-data", "client-key-data")
        return {name: self.encoded(file) for name, file in zip(names, self.files["user"], strict=True)}

    @staticmethod
    def encoded(file: Path) -> str:
        return base64.standard_b64encode(file.read_bytes()).decode()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    with json_server(lambda _method, path, _body, bearer: (200, {"path": path, "from": bearer}), made.tls) as port:
        made.port = port
        yield made


def kubeconfig(cluster: Entry, user: Entry) -> str:
    return yaml.safe_dump(
        {
            "current-context": "another",
            "contexts": [{"name": name, "context": {"cluster": "c", "user": name}} for name in ("one", "another")],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "one", "user": user}, {"name": "another", "user": {"token": "another"}}],
        }
    )


# A key that changes nothing, and that this program does not read itself.
@pytest.mark.parametrize("further", [{}, {"disable-compression": False}], ids=["plain", "by the kubernetes client"])
@pytest.mark.parametrize("required", [ssl.CERT_NONE, ssl.CERT_REQUIRED], ids=["token", "certificate"])
def test_a_request_reaches_the_contexts_cluster_as_the_contexts_user(
    server: Server, required: ssl.VerifyMode, further: Entry
) -> None:
    server.tls.verify_mode = required
    user = server.certificate() if required == ssl.CERT_REQUIRED else {"token": "mine"}
    api = ClusterApi(kubeconfig(server.cluster() | further, user), "one", 1)

    said = "" if required == ssl.CERT_REQUIRED else "Bearer mine"
    assert api.request("GET", "/version") == {"path": "/version", "from": said}


def signed_without_identifiers(server: Server) -> None:
    """Give the server a certificate and an authority without key identifiers, as old clusters have."""
    now, keys = datetime.now(UTC), [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("authority", "localhost")]
    made = []
    for name, key, extension in zip(
        names,
        keys,
        (x509.BasicConstraints(True, None), x509.SubjectAlternativeName([x509.DNSName("localhost")])),
        strict=True,
    ):
        one = x509.CertificateBuilder().subject_name(name).issuer_name(names[0]).public_key(key.public_key())
        one = one.serial_number(x509.random_serial_number()).add_extension(extension, critical=True)
        one = one.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
        made.append(one.sign(keys[0], hashes.SHA256()).public_bytes(Encoding.PEM))
    private = keys[1].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    certificate, key_file = server.files["localhost"]
    certificate.write_bytes(made[1])
    key_file.write_bytes(private)
    server.tls.load_cert_chain(certificate, key_file)
    certificate.write_bytes(made[0])


@pytest.mark.parametrize("further", [{}, {"disable-compression": False}], ids=["plain", "by the kubernetes client"])
def test_an_authority_without_a_key_identifier_is_trusted_by_newer_pythons_too(
    server: Server, further: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_without_identifiers(server)
    verify_as_newer_python(monkeypatch)
    api = ClusterApi(kubeconfig(server.cluster() | further, {"token": "mine"}), "one", 1)

    assert api.request("GET", "/version") == {"path": "/version", "from": "Bearer mine"}


@pytest.mark.parametrize("further", [{}, {"disable-compression": False}], ids=["plain", "by the kubernetes client"])
def test_a_server_with_another_authoritys_certificate_is_refused(server: Server, further: Entry) -> None:
    other = {"certificate-authority-data": server.encoded(server.files["user"][0])}
    api = ClusterApi(kubeconfig(server.cluster() | other | further, {"token": "mine"}), "one", 1)

    with pytest.raises(RequestError, match="not reached"):
        api.request("GET", "/version")


@pytest.mark.parametrize(
    ("user", "imported"),
    [
        ({"token": "mine"}, False),
        ({"tokenFile": "/nowhere"}, True),
        ({"username": "me", "password": "mine"}, True),
        ({"exec": {"command": "print-a-token"}}, True),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_the_kubernetes_client_is_imported_only_for_a_kubeconfig_that_needs_it(user: Entry, imported: bool) -> None:
    text = kubeconfig({"server": "https://127.0.0.1:1"}, user)
    program = f"""
import sys
from components.engine.cluster_api import ClusterApi, RequestError
try:
    ClusterApi({text!r}, "one", 1)
except RequestError:
    pass
print("kubernetes" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={})
    assert run.stdout.strip() == str(imported)
