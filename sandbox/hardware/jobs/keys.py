"""Keys for the ssh between the pods of a job, as the controllers make one for each job."""

from __future__ import annotations

import base64
from typing import NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


class SshKey(NamedTuple):
    """Both halves as the data of a Secret has them: base64 of PEM, and base64 of a line of `authorized_keys`."""

    private: str
    public: str


def new_key() -> SshKey:
    """A fresh key of curve P-521, the MPI operator's kind; Volcano's is an RSA key, which takes longer to make."""
    key = ec.generate_private_key(ec.SECP521R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return SshKey(base64.b64encode(private).decode(), base64.b64encode(public + b"\n").decode())
