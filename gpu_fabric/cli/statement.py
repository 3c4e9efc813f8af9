"""Sign a verdict, and verify a signed one without a network: the files and options of `gpu-fabric verdict`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from gpu_fabric.base.user_files import argument_content
from gpu_fabric.cli.conversation import refuse
from gpu_fabric.nccl.verdict.report import Verdict
from gpu_fabric.nccl.verdict.signing import KeyFileError, private_key, public_key, sign, verify
from gpu_fabric.nccl.verdict.statement import (
    PLAN,
    Content,
    Statement,
    StatementError,
    envelope_line,
    read_envelope,
    read_statement,
    statement_of,
)

PASSPHRASE = "GPU_FABRIC_SIGNING_PASSPHRASE"
"""The variable with the passphrase of an encrypted key: arguments are shown to all users of a machine."""

_FROM_VARIABLE = "env:"


def write_signed(verdict: Verdict, results: Content, plan: Content | None, key: str, out: Path) -> None:
    """Write the signed statement of a verdict; refuses a key or a file that cannot be used."""
    _require_library()
    if key.startswith(_FROM_VARIABLE):
        name = key.removeprefix(_FROM_VARIABLE)
        pem = os.environ.get(name, "").encode()
        if not pem:
            refuse(f"--sign {key}: the environment has no variable {name}, or it is empty")
    else:
        pem = argument_content(Path(key))
    passphrase = os.environ.get(PASSPHRASE)
    try:
        loaded = private_key(pem, passphrase.encode() if passphrase else None)
    except KeyFileError as error:
        refuse(f"--sign {key}: {error}; the passphrase is read from the variable {PASSPHRASE}")
    payload = statement_of(verdict, results, plan)
    out.write_text(envelope_line(payload, sign(loaded, payload)), encoding="utf-8")


def verified(file: Path, key: Path, results: Content | None, plan: Content | None) -> Statement:
    """The statement in a file, if its signature is the key's and it is about these results and this plan."""
    _require_library()
    try:
        trusted = public_key(argument_content(key))
        statement = read_statement(verify(trusted, read_envelope(argument_content(file))))
    except KeyFileError as error:
        refuse(f"--key {key}: {error}")
    except StatementError as error:
        refuse(f"{file}: {error}")
    if results is not None and results.digest not in statement.subjects.values():
        refuse(f"{file}: it is about other results than {results.name} (SHA-256 {results.digest})")
    if plan is not None and statement.subjects.get(plan.name) != plan.digest:
        names = statement.plan or "no plan: its bar was given by hand"
        refuse(f"{file}: it is not about the {plan.name} as it is now (SHA-256 {plan.digest}), but about {names}")
    return statement


def subject_lines(statement: Statement) -> tuple[str, ...]:
    """What a statement is about, for people."""
    return tuple(f"signed: {name}, SHA-256 {digest}" for name, digest in statement.subjects.items())


def plan_content(stack: str, document: str) -> Content:
    """A plan as a subject: the bytes that `gpu-fabric plan --format json` prints."""
    return Content(f"{PLAN}{stack}", document.encode())


def _require_library() -> None:
    if find_spec("cryptography") is None:
        refuse("signatures need the package cryptography: pip install cryptography")
