"""A signed verdict: what its file says, and that a changed one, another key, result or stack is refused."""

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from nccl_logs import log_lines
from typer.testing import CliRunner, Result
from verdict_results import file_of, healthy, log_of

from gpu_fabric.cli.app import app
from gpu_fabric.cli.verdict import PASSPHRASE

ROOT = Path(__file__).parents[3]
PAE = b"DSSEv1 28 application/vnd.in-toto+json %d %s"


class Folder:
    """A result, two key pairs and a signed verdict."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.result, self.log, self.signed = path / "result.json", path / "log.txt", path / "verdict.intoto.jsonl"
        self.result.write_bytes(file_of(healthy(nodes=3)))
        self.log.write_bytes(log_of(log_lines(nodes=3)))
        self.own = ed25519.Ed25519PrivateKey.generate()
        self.write_keys("own", self.own)

    def write_keys(self, name: str, key: Any, encryption: KeySerializationEncryption | None = None) -> None:
        how = encryption or NoEncryption()
        (self.path / f"{name}.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (self.path / f"{name}.pub").write_bytes(public)

    def sign(self, *options: str, key: str | None = None) -> Result:
        chosen = key or str(self.path / "own.pem")
        with_log = ["--log", str(self.log)]
        words = [str(self.result), *with_log, "--sign", chosen, "--out", str(self.signed), *options]
        return CliRunner().invoke(app, ["verdict", *words])

    def verify(self, *options: str, key: str = "own") -> Result:
        words = ["--verify", str(self.signed), "--key", str(self.path / f"{key}.pub"), *options]
        return CliRunner().invoke(app, ["verdict", *words])

    @property
    def envelope(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.signed.read_text())
        return found

    @property
    def statement(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(base64.b64decode(self.envelope["payload"]))
        return found

    def put(self, envelope: dict[str, Any]) -> None:
        self.signed.write_text(json.dumps(envelope) + "\n")

    def put_statement(self, statement: Any) -> None:
        """Another payload, truly signed."""
        payload = statement if isinstance(statement, bytes) else json.dumps(statement).encode()
        value = self.own.sign(PAE % (len(payload), payload))
        signature = {"keyid": "", "sig": base64.b64encode(value).decode()}
        payload_text = base64.b64encode(payload).decode()
        self.put({"payloadType": "application/vnd.in-toto+json", "payload": payload_text, "signatures": [signature]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(ROOT)
    return Folder(tmp_path)


@pytest.fixture
def signed(folder: Folder) -> Folder:
    assert folder.sign("-s", "verification").exit_code == 0
    return folder


def test_the_envelope_is_signed_as_dsse_says(signed: Folder) -> None:
    envelope = signed.envelope
    payload = base64.b64decode(envelope["payload"])
    (signature,) = envelope["signatures"]
    signed.own.public_key().verify(base64.b64decode(signature["sig"]), PAE % (len(payload), payload))
    der = signed.own.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert signature["keyid"] == hashlib.sha256(der).hexdigest()


def test_the_statement_is_of_the_results_and_of_the_plan_that_anybody_can_print(signed: Folder) -> None:
    statement = signed.statement
    plan = CliRunner().invoke(app, ["plan", "-s", "verification", "--format", "json"]).stdout
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert {one["name"]: one["digest"]["sha256"] for one in statement["subject"]} == {
        "result.json": hashlib.sha256(signed.result.read_bytes()).hexdigest(),
        "plan of stack verification": hashlib.sha256(plan.encode()).hexdigest(),
    }
    assert statement["predicate"]["result"] == "PASSED"
    assert statement["predicate"]["configuration"] == [statement["subject"][1]]


def test_a_signed_verdict_is_verified_with_its_result_and_stack(signed: Folder) -> None:
    found = signed.verify(str(signed.result), "-s", "verification")
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout.startswith("signed: result.json, SHA-256 ")
    assert found.stdout.endswith("measured: 388.00 GB/s (3 nodes, 24 ranks, 8589934592 bytes)\npassed\n")


def test_the_verified_verdict_is_the_signers_as_json_too(signed: Folder) -> None:
    found = json.loads(signed.verify("--json").stdout)
    assert (found["passed"], found["measured"]) == (True, 388.0)


def test_a_failed_verdict_is_signed_as_failed_and_never_verifies_with_status_0(folder: Folder) -> None:
    folder.result.write_bytes(file_of(healthy(200.0, nodes=3)))
    assert folder.sign("-s", "verification").exit_code == 1
    assert folder.statement["predicate"]["result"] == "FAILED"
    assert "VER017 size 8589934592" in folder.statement["predicate"]["failedTests"]
    assert folder.verify().exit_code == 1


def test_a_statement_of_the_form_before_is_verified_and_said_as_one_of_today(folder: Folder) -> None:
    folder.result.write_bytes(file_of(healthy(200.0, nodes=3)))
    folder.sign("-s", "verification")
    said, today = folder.verify().stdout, folder.statement
    verdict = today["predicate"]["verdict"]
    reasons = [{"where": entry.pop("path"), **entry} for entry in verdict.pop("findings")]
    verdict |= {"schemaVersion": "v1", "reasons": reasons}
    folder.put_statement(today)

    assert (folder.verify().exit_code, folder.verify().stdout) == (1, said)


def test_a_verdict_by_a_bar_of_ones_own_names_no_plan(folder: Folder) -> None:
    assert folder.sign("--bar", "380").exit_code == 0
    assert [one["name"] for one in folder.statement["subject"]] == ["result.json"]
    assert folder.verify().exit_code == 0
    refused = folder.verify("-s", "verification")
    assert refused.exit_code == 2
    assert "no plan: its bar was given by hand" in refused.stderr


def refused(found: Result, words: str) -> None:
    assert (found.exit_code, found.stdout) == (2, "")
    assert words in found.stderr.replace("\n", " ")


def test_another_key_is_refused(signed: Folder) -> None:
    signed.write_keys("other", ed25519.Ed25519PrivateKey.generate())
    refused(signed.verify(key="other"), "no signature of this key")
    signed.write_keys("curve", ec.generate_private_key(ec.SECP256R1()))
    refused(signed.verify(key="curve"), "no signature of this key")


def test_a_wrong_hint_at_the_key_neither_helps_nor_harms(signed: Folder) -> None:
    envelope = signed.envelope
    envelope["signatures"][0]["keyid"] = "somebody"
    signed.put(envelope)
    assert signed.verify().exit_code == 0
    signed.write_keys("other", ed25519.Ed25519PrivateKey.generate())
    refused(signed.verify(key="other"), "no signature of this key")


def test_every_changed_byte_of_the_payload_is_refused(signed: Folder) -> None:
    envelope = signed.envelope
    payload = base64.b64decode(envelope["payload"])
    for place in range(0, len(payload), max(1, len(payload) // 40)):
        changed = payload[:place] + bytes([payload[place] ^ 1]) + payload[place + 1 :]
        signed.put({**envelope, "payload": base64.b64encode(changed).decode()})
        refused(signed.verify(), "no signature of this key")


def _other(document: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {**document, name: value}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: _other(e, "payloadType", "application/json"), "no DSSE envelope"),
        (lambda e: _other(e, "signatures", []), "no DSSE envelope"),
        (lambda e: _other(e, "signatures", [{"sig": ""}]), "no signature of this key"),
        (lambda e: _other(e, "signatures", [{"sig": "?"}]), "not in Base64"),
        (lambda e: _other(e, "signatures", [{"sig": "AAAA" + e["signatures"][0]["sig"][4:]}]), "no signature of this"),
        (lambda e: _other(e, "payload", "?"), "not in Base64"),
        (lambda e: {"payload": e["payload"], "signatures": e["signatures"]}, "no DSSE envelope"),
    ],
)
def test_each_changed_part_of_the_envelope_is_refused(
    signed: Folder, change: Callable[[dict[str, Any]], dict[str, Any]], words: str
) -> None:
    signed.put(change(signed.envelope))
    refused(signed.verify(), words)


@pytest.mark.parametrize(
    ("text", "words"), [("", "0 lines"), ("{}\n{}\n", "2 lines"), ("[]", "no DSSE"), ('{"a":1,"a":2}', "no DSSE")]
)
def test_what_is_no_envelope_is_refused(signed: Folder, text: str, words: str) -> None:
    signed.signed.write_text(text)
    refused(signed.verify(), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: _other(s, "_type", "https://in-toto.io/Statement/v0.1"), "_type"),
        (lambda s: _other(s, "predicateType", "https://slsa.dev/provenance/v1"), "predicateType"),
        (lambda s: _other(s, "subject", []), "subject"),
        (lambda s: _other(s, "subject", [s["subject"][0], s["subject"][0]]), "two subjects have one name"),
        (lambda s: _other(s, "subject", [{"name": "x", "digest": {"sha256": "0"}}]), "sha256"),
        (lambda s: _other(s, "predicate", {"result": "PASSED"}), "verdict"),
        (lambda s: _other(s, "predicate", _other(s["predicate"], "result", "FAILED")), "the verdict says PASSED"),
        (lambda s: _other(s, "predicate", _other(s["predicate"], "verdict", {"passed": True})), "has another form"),
        (lambda _: b"not JSON", "no in-toto statement"),
    ],
)
def test_what_the_key_signed_for_another_purpose_is_no_verdict(
    signed: Folder, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    signed.put_statement(change(signed.statement))
    refused(signed.verify(), words)


def test_another_result_is_refused(signed: Folder) -> None:
    signed.result.write_bytes(file_of(healthy(389.0, nodes=3)))
    refused(signed.verify(str(signed.result)), "it is about other results than result.json")


def test_another_stack_is_refused(signed: Folder) -> None:
    refused(signed.verify("-s", "dev"), "it is not about the plan of stack dev as it is now")


def test_the_same_stack_with_another_plan_is_refused(signed: Folder) -> None:
    changed = signed.path / "Pulumi.verification.yaml"
    text = (ROOT / "examples/Pulumi.verification.yaml").read_text()
    changed.write_text(text.replace("192.168.0.0/16", "172.16.0.0/16"))
    refused(signed.verify("-f", str(changed)), "plan of stack verification as it is now")


def test_a_key_on_the_curve_p_256_signs_and_verifies_too(folder: Folder) -> None:
    folder.write_keys("curve", ec.generate_private_key(ec.SECP256R1()))
    assert folder.sign("--bar", "380", key=str(folder.path / "curve.pem")).exit_code == 0
    assert folder.verify(key="curve").exit_code == 0
    refused(folder.verify(), "no signature of this key")


def test_a_key_is_read_from_the_environment_where_no_file_shall_have_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(folder.sign("--bar", "380", key="env:SIGNING_KEY"), "no variable SIGNING_KEY")
    monkeypatch.setenv("SIGNING_KEY", (folder.path / "own.pem").read_text())
    assert folder.sign("--bar", "380", key="env:SIGNING_KEY").exit_code == 0
    assert folder.verify().exit_code == 0


def test_the_passphrase_of_an_encrypted_key_is_read_from_the_environment_alone(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_keys("own", folder.own, BestAvailableEncryption(b"correct horse"))
    refused(folder.sign("--bar", "380"), "it is encrypted, and no passphrase was given")
    monkeypatch.setenv(PASSPHRASE, "wrong horse")
    found = folder.sign("--bar", "380")
    refused(found, "another passphrase")
    assert "wrong horse" not in found.output
    assert not folder.signed.exists()
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    assert folder.sign("--bar", "380").exit_code == 0
    assert folder.verify().exit_code == 0


def test_keys_of_other_kinds_and_files_that_are_no_keys_are_refused(folder: Folder) -> None:
    folder.write_keys("rsa", rsa.generate_private_key(65537, 2048))
    refused(folder.sign("--bar", "380", key=str(folder.path / "rsa.pem")), "a key of another kind")
    refused(folder.sign("--bar", "380", key=str(folder.result)), "no private key in PEM")
    refused(folder.sign("--bar", "380", key=str(folder.path / "nothing.pem")), "No such file")
    assert folder.sign("--bar", "380").exit_code == 0
    refused(folder.verify(key="rsa"), "a key of another kind")
    (folder.path / "own.pub").write_bytes((folder.path / "own.pem").read_bytes())
    refused(folder.verify(), "no public key in PEM")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--verify", "x"], "name the public key"),
        (["--verify", "x", "--key", "y", "--bar", "3"], "leave the other options out"),
        (["x", "--bar", "3", "--key", "y"], "--key belongs to --verify"),
        (["x", "--bar", "3", "--out", "y"], "--out to --sign"),
        (["--bar", "3"], "Missing argument RESULT"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: list[str], said: str) -> None:
    refused(CliRunner().invoke(app, ["verdict", *words]), said)
