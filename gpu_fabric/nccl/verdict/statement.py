"""A verdict as an in-toto statement: what was judged, by which plan, and with which result.

Sources: in-toto's attestation framework, spec/v1/statement.md and spec/predicates/test-result.md; DSSE's protocol.md
and envelope.md (secure-systems-lab/dsse).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpu_fabric.findings import Severity
from gpu_fabric.nccl.verdict.report import Verdict
from gpu_fabric.nccl.verdict.result import refuse_repeated_keys

PAYLOAD_TYPE = "application/vnd.in-toto+json"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PLAN = "plan of stack "
"""Beginning of the name of the subject that is a plan; the stack's name follows."""


class StatementError(ValueError):
    """The file is not a signed statement of a verdict, or not this one; the message gives the reason."""


class Content(NamedTuple):
    """A named content, of which a statement has the digest."""

    name: str
    data: bytes

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()


class Signature(NamedTuple):
    """A signature, and a hint at its key."""

    key_id: str
    value: bytes


# Fields that others may add are ignored, as the framework asks of its consumers.
class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


Form = TypeVar("Form", bound=_Document)


class _Digests(_Document):
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class _Subject(_Document):
    name: str
    digest: _Digests


class _Predicate(_Document):
    result: Literal["PASSED", "WARNED", "FAILED"]
    verdict: dict[str, Any]


class _Statement(_Document):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: tuple[_Subject, ...] = Field(min_length=1, strict=False)
    predicate_type: Literal["https://in-toto.io/attestation/test-result/v0.1"] = Field(alias="predicateType")
    predicate: _Predicate


class _Signature(_Document):
    keyid: str = ""
    sig: str


class _Envelope(_Document):
    payload_type: Literal["application/vnd.in-toto+json"] = Field(alias="payloadType")
    payload: str
    signatures: tuple[_Signature, ...] = Field(min_length=1, strict=False)


class Envelope(NamedTuple):
    """A signed payload; nothing of it is trusted before a signature of it is verified."""

    payload: bytes
    signatures: tuple[Signature, ...]


class Statement(NamedTuple):
    """A statement: its result, the SHA-256 of its subjects by name, and the verdict."""

    result: str
    subjects: dict[str, str]
    verdict: Verdict

    @property
    def plan(self) -> str | None:
        """Name of the subject that is a plan; None if the verdict is by a bar of the user's own."""
        return next((name for name in self.subjects if name.startswith(PLAN)), None)


def statement_of(verdict: Verdict, results: Content, plan: Content | None) -> bytes:
    """The statement of a verdict on results, by the bars of a plan or of the user."""
    subjects = [_descriptor(content) for content in (results, plan) if content is not None]
    bar = "no bar" if verdict.bar is None else verdict.bar.explanation
    by_bar = {"name": "bar", "content": base64.b64encode(bar.encode()).decode()}
    remarks = {
        severity: [f"{reason.id} {reason.path}" for reason in verdict.findings if reason.severity is severity]
        for severity in Severity
    }
    good = [f"rail {rail.rail}" for rail in verdict.rails if rail.passed]
    document = {
        "_type": _STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": _result(verdict),
            "configuration": [by_bar if plan is None else _descriptor(plan)],
            "passedTests": [*good, *(["fabric"] if verdict.passed else [])],
            "warnedTests": remarks[Severity.WARNING],
            "failedTests": remarks[Severity.ERROR],
            "verdict": verdict.model_dump(mode="json", by_alias=True),
        },
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _result(verdict: Verdict) -> str:
    if not verdict.passed:
        return "FAILED"
    return "WARNED" if verdict.findings else "PASSED"


def _descriptor(content: Content) -> dict[str, Any]:
    return {"name": content.name, "digest": {"sha256": content.digest}}


def signed_bytes(payload: bytes) -> bytes:
    """The bytes that a signature is of: type and payload with their lengths (DSSE's pre-authentication encoding)."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)


def envelope_line(payload: bytes, signature: Signature) -> str:
    """The file of a signed statement: an envelope on one line."""
    document = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": signature.key_id, "sig": base64.b64encode(signature.value).decode()}],
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def read_envelope(data: bytes) -> Envelope:
    """The envelope in a file.

    Raises:
        StatementError: the file has no envelope, more than one, or one of another type.
    """
    lines = [line for line in data.splitlines() if line.strip()]
    if len(lines) != 1:
        raise StatementError(f"{len(lines)} lines: one signed statement a file is verified")
    found = _validated(_Envelope, lines[0], "no DSSE envelope of an in-toto statement")
    return Envelope(
        _from_base64(found.payload, "payload"),
        tuple(Signature(one.keyid, _from_base64(one.sig, "signature")) for one in found.signatures),
    )


def read_statement(payload: bytes) -> Statement:
    """The statement in a payload whose signature was verified.

    Raises:
        StatementError: the payload is not a statement of a verdict, or contradicts itself.
    """
    found = _validated(_Statement, payload, "no in-toto statement of a test result by this program")
    subjects = {subject.name: subject.digest.sha256 for subject in found.subject}
    if len(subjects) != len(found.subject):
        raise StatementError("two subjects have one name")
    try:
        verdict = Verdict.model_validate_json(json.dumps(found.predicate.verdict))
    except ValidationError:
        raise StatementError("the statement's verdict has another form; use the version that signed it") from None
    if _result(verdict) != found.predicate.result:
        raise StatementError(f"the result is {found.predicate.result}, and the verdict says {_result(verdict)}")
    return Statement(found.predicate.result, subjects, verdict)


def _validated(form: type[Form], data: bytes, otherwise: str) -> Form:
    try:
        document = json.loads(data, object_pairs_hook=refuse_repeated_keys)
        return form.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise StatementError(f"{otherwise}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (ValueError, RecursionError):
        raise StatementError(otherwise) from None


def _from_base64(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise StatementError(f"the {what} is not in Base64") from None
