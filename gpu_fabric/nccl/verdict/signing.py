"""Sign and verify statements with keys in PEM: Ed25519, or ECDSA on the curve P-256.

The library is imported in the functions, since the core is installed without it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from gpu_fabric.nccl.verdict.statement import Envelope, Signature, StatementError, signed_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    PrivateKey = Ed25519PrivateKey | EllipticCurvePrivateKey
    PublicKey = Ed25519PublicKey | EllipticCurvePublicKey

_KINDS = "an Ed25519 key, or an ECDSA key on the curve P-256"


class KeyFileError(ValueError):
    """A key cannot be used; the message gives the reason, and nothing of the key."""


def private_key(pem: bytes, passphrase: bytes | None) -> PrivateKey:
    """The key in a PEM file (PKCS 8).

    Raises:
        KeyFileError: it is no such key, or the passphrase does not fit.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, passphrase)
    except TypeError:
        # What the library raises where a key is encrypted and no passphrase is given, and the other way round.
        fault = "it is encrypted, and no passphrase was given" if passphrase is None else "it is not encrypted"
        raise KeyFileError(fault) from None
    except (ValueError, UnsupportedAlgorithm):
        fault = "no private key in PEM" if passphrase is None else "no private key in PEM, or another passphrase"
        raise KeyFileError(fault) from None
    if isinstance(key, Ed25519PrivateKey):
        return key
    if isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP256R1):
        return key
    raise KeyFileError(f"a key of another kind: give {_KINDS}")


def public_key(pem: bytes) -> PublicKey:
    """The key in a PEM file (SubjectPublicKeyInfo).

    Raises:
        KeyFileError: it is no such key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise KeyFileError("no public key in PEM") from None
    if isinstance(key, Ed25519PublicKey):
        return key
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        return key
    raise KeyFileError(f"a key of another kind: give {_KINDS}")


def key_id(key: PublicKey) -> str:
    """SHA-256 of the public key in DER."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def sign(key: PrivateKey, payload: bytes) -> Signature:
    """The signature of a payload."""
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.hashes import SHA256

    signed = signed_bytes(payload)
    value = key.sign(signed) if isinstance(key, Ed25519PrivateKey) else key.sign(signed, ECDSA(SHA256()))
    return Signature(key_id(key.public_key()), value)


def verify(key: PublicKey, envelope: Envelope) -> bytes:
    """The payload of an envelope, if one of its signatures is the key's.

    The hint at the key is not trusted: every signature is tried.

    Raises:
        StatementError: none is.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.hashes import SHA256

    signed = signed_bytes(envelope.payload)
    for signature in envelope.signatures:
        try:
            if isinstance(key, Ed25519PublicKey):
                key.verify(signature.value, signed)
            else:
                key.verify(signature.value, signed, ECDSA(SHA256()))
        except InvalidSignature:
            continue
        return envelope.payload
    raise StatementError("no signature of this key: the file was changed, or another key signed it")
