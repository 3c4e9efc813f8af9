"""The made-up account of the simulated Oracle cloud: a tenancy, a user in it, and the key that the user signs with."""

from __future__ import annotations

import configparser
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...home import SandboxHome, file_lock, write_private
from .ids import new_ocid

_KEY_BITS = 2048


@dataclass(frozen=True)
class Credentials:
    """Who signs requests. `key_file` is the private key as PEM, readable by its owner only."""

    tenancy: str
    user: str
    fingerprint: str
    key_file: Path
    config_file: Path

    def holds(self, private_key: str) -> bool:
        """Whether a text is this account's private key."""
        return hmac.compare_digest(private_key.strip().encode(), self.key_file.read_bytes().strip())


def credentials(home: SandboxHome) -> Credentials:
    """The account of a sandbox; made at first use (files with mode 600)."""
    folder = home.cloud / "oci"
    file = folder / "account.json"
    with file_lock(home.cloud / "oci-account.lock", wait=True):
        if not file.exists():
            _make(folder)
    known = json.loads(file.read_text())
    return Credentials(
        tenancy=known["tenancy"],
        user=known["user"],
        fingerprint=known["fingerprint"],
        key_file=folder / "key.pem",
        config_file=folder / "config",
    )


def environment(home: SandboxHome) -> dict[str, str]:
    """The variables that lead the provider and the command `oci` to the account; none of them is a secret."""
    account = credentials(home)
    return {
        "TF_VAR_tenancy_ocid": account.tenancy,
        "TF_VAR_user_ocid": account.user,
        "TF_VAR_fingerprint": account.fingerprint,
        "TF_VAR_private_key_path": str(account.key_file),
        "OCI_CLI_CONFIG_FILE": str(account.config_file),
    }


def is_configured(account: Credentials, variables: Mapping[str, str]) -> bool:
    """Whether the command's configuration, as its variables name it, is this account's."""
    named = variables.get("OCI_CLI_CONFIG_FILE", "")
    if not named or not Path(named).is_file():
        return False
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(named)
    section = parser["DEFAULT"]
    key_file = Path(section.get("key_file", ""))
    given = (section.get("tenancy"), section.get("user"), section.get("fingerprint"))
    if given != (account.tenancy, account.user, account.fingerprint) or not key_file.is_file():
        return False
    return account.holds(key_file.read_text())


def _make(folder: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    digest = hashlib.md5(public, usedforsecurity=False).hexdigest()
    account = {
        "tenancy": new_ocid("tenancy"),
        "user": new_ocid("user"),
        "fingerprint": ":".join(digest[place : place + 2] for place in range(0, len(digest), 2)),
    }
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    write_private(folder / "key.pem", pem)
    lines = [
        "[DEFAULT]",
        f"user={account['user']}",
        f"fingerprint={account['fingerprint']}",
        f"tenancy={account['tenancy']}",
        f"key_file={folder / 'key.pem'}",
    ]
    write_private(folder / "config", "\n".join(lines) + "\n")
    # last: its existence means that all of them exist
    write_private(folder / "account.json", json.dumps(account) + "\n")
