"""The sandbox's own keys, certificates, token and kubeconfig, made at first start, readable by their owner only."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import secrets
from dataclasses import dataclass
from pathlib import Path

from gpu_fabric.base.yaml_files import as_yaml
from .home import Inside, SandboxHome, write_private

ADMIN = "sandbox-admin"
AUTHENTICATE = "/authenticate"
"""Where the sandbox's own server answers whose a bearer token is."""

_LIFETIME = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class Pki:
    """The files under ``pki/``."""

    root: Path
    ca = Inside("ca.crt")
    certificate = Inside("server.crt")
    """What every server on 127.0.0.1 shows, and what they show each other as clients."""
    key = Inside("server.key")
    service_accounts = Inside("service-accounts.key")
    """The key with which service-account tokens are signed."""
    tokens = Inside("tokens.csv")
    """The API server's token file: one random token, in the group that may do everything."""

    def complete(self) -> bool:
        files = (self.ca, self.certificate, self.key, self.service_accounts, self.tokens)
        return all(file.exists() for file in files)


def ensure_pki(home: SandboxHome) -> Pki:
    """The key material of a sandbox, made when it is not there yet."""
    pki = Pki(home.pki)
    if not pki.complete():
        _make(pki, ipaddress.ip_network(home.ranges.services)[1])
    return pki


def write_kubeconfig(home: SandboxHome, pki: Pki, port: int) -> None:
    """Write the kubeconfig for the API server on 127.0.0.1 and the given port (mode 600)."""
    authority = {"certificate-authority-data": base64.b64encode(pki.ca.read_bytes()).decode()}
    token = pki.tokens.read_text().partition(",")[0]
    _write_config(home.kubeconfig, f"https://127.0.0.1:{port}", authority, {"token": token})


def write_token_kubeconfig(home: SandboxHome, file: Path, token: str) -> None:
    """Write a kubeconfig for the same API server with another token (mode 600)."""
    port = home.load_state()["ports"]["kube-apiserver"]
    authority = {"certificate-authority-data": base64.b64encode(Pki(home.pki).ca.read_bytes()).decode()}
    _write_config(file, f"https://127.0.0.1:{port}", authority, {"token": token})


def self_signed(name: str, lifetime: datetime.timedelta = _LIFETIME) -> tuple[bytes, bytes]:
    """A certificate for a server of this DNS name, its own authority, and its key, both PEM.

    With a negative lifetime of less than an hour it has expired.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(own)
        .issuer_name(own)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(*form)


def write_authentication(home: SandboxHome, pki: Pki, port: int) -> None:
    """Write where the API server asks about tokens that are not its own, in the form of a kubeconfig."""
    authority = {"certificate-authority": str(pki.ca)}
    _write_config(home.authentication, f"https://127.0.0.1:{port}{AUTHENTICATE}", authority, {})


def _write_config(file: Path, server: str, authority: dict[str, str], user: dict[str, str]) -> None:
    name = "gpu-fabric-sandbox"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server, **authority}}],
        "users": [{"name": ADMIN, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": ADMIN}}],
    }
    content = as_yaml(document)
    if not file.exists() or file.read_text() != content:
        write_private(file, content)


def _make(pki: Pki, service: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    # imported here: a second `up` needs none of it, and it costs a fifth of a second
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return key.private_bytes(encoding, form, serialization.NoEncryption())

    def name(common: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])

    def builder(subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("gpu-fabric sandbox CA"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + _LIFETIME)
        )

    ca_key = ec.generate_private_key(ec.SECP256R1())
    # Python refuses an authority without a key identifier since 3.13, and certificates that do not name it.
    identifier = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    ca = (
        builder("gpu-fabric sandbox CA", ca_key)
        .add_extension(identifier, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .sign(ca_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    # the first service address is what pods would call the API server by
    addresses = [ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"), service]
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    certificate = (
        builder("gpu-fabric sandbox", key)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([*map(x509.DNSName, names), *map(x509.IPAddress, addresses)]), critical=False
        )
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .sign(ca_key, hashes.SHA256())
    )
    service_accounts = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    # the CA's key is not kept: nothing is ever signed again, and what does not exist cannot leak
    write_private(pki.ca, ca.public_bytes(serialization.Encoding.PEM))
    write_private(pki.certificate, certificate.public_bytes(serialization.Encoding.PEM))
    write_private(pki.key, pem(key))
    write_private(pki.service_accounts, pem(service_accounts))
    write_private(pki.tokens, f'{secrets.token_urlsafe(32)},{ADMIN},{ADMIN},"system:masters"\n')
