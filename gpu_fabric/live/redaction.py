"""What is left out of what another person gets: everything that may be a secret; for strangers ids of accounts, too."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any

from gpu_fabric.live.cluster import Json, field
from gpu_fabric.live.helm_records import record_of

REMOVED = "removed by gpu-fabric"
# Names of keys and variables whose values are secrets by their end: `secretName` and `imagePullSecrets` are none.
_NAME = re.compile(
    r"(passw(or)?d|passphrase|pwd|token|secret|api[-_.]?key|access[-_.]?key|private[-_.]?key|credentials?|authorization"
    r"|kubeconfig|cookie|session)$",
    re.IGNORECASE,
)
# Secrets by their form, wherever they are.
_TEXT = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\b(?:dop|doo|dor)_v1_[0-9a-f]{16,}|\b(?:ghp|gho|ghs|github_pat|glpat|nvapi|hf|pul)[-_][\w-]{16,}|\bAKIA[0-9A-Z]{12,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?i:(?<=bearer )|(?<=basic ))[\w.~+/=-]{8,}"
    r"""|(?i:(?<=password)|(?<=passwd)|(?<=token)|(?<=secret)|(?<=api_key)|(?<=apikey)|(?<=access_key))["']?\s*[=:]\s*["']?[^\s"',;]{4,}""",
    re.DOTALL,
)

# What leads to an account, or to a person, and is not secret: Oracle's ids, UUIDs (DigitalOcean's clusters, pools and
# networks, subscriptions of Azure), machines of DigitalOcean, account numbers of AWS, projects of Google, registries'
# tenancies, fingerprints of API keys.
_IDS = re.compile(
    r"(?P<ocid>\bocid1\.(?P<type>[a-z0-9_]+)\.[\w.-]+)"
    r"|(?P<uuid>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)"
    r"|(?P<machine>(?<=digitalocean://)[0-9]+)"
    r"|(?P<account>(?<=:)[0-9]{12}(?=:)|\b[0-9]{12}(?=\.dkr\.ecr\.)|(?<=\bgke_)[a-z0-9-]+(?=_)|(?<=ocir\.io/)[\w-]+)"
    r"|(?P<fingerprint>\b(?:[0-9a-f]{2}:){15}[0-9a-f]{2}\b)"
    r"|(?P<e_mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<address>\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|(?<![\w:])[23][0-9a-f]{3}(?::[0-9a-f]{0,4}){2,7}(?![\w:]))",
)


def redacted(value: Any, name: str = "") -> Any:
    """A value of JSON without secrets; `name` is its key, or that of the variable whose value it is."""
    if isinstance(value, str):
        return REMOVED if value and _NAME.search(name) else redacted_text(value)
    if isinstance(value, list):
        return [redacted(entry, name) for entry in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("kind") == "Secret" and isinstance(value.get("metadata"), Mapping):
        return _redacted_secret(value)
    # An environment variable, or a parameter of a chart: its name is a value itself.
    variable = str(value["name"]) if isinstance(value.get("name"), str) and isinstance(value.get("value"), str) else ""
    return {key: redacted(entry, variable if variable and key == "value" else key) for key, entry in value.items()}


def redacted_text(text: str) -> str:
    """A text without what has the form of a secret."""
    return _TEXT.sub(REMOVED, text)


def without_ids(text: str, names: Iterable[str] = ()) -> str:
    """A text for strangers: ids of accounts, addresses on the internet and `names` are numbered, the same alike.

    It is for texts without secrets, see `redacted_text`. Private addresses stay, since a plan of addresses is of them.
    """
    numbers: dict[str, dict[str, int]] = {}

    def replaced(kind: str, found: str) -> str:
        known = numbers.setdefault(kind, {})
        return f"[{kind} {known.setdefault(found, len(known) + 1)}]"

    def name_of(match: re.Match[str]) -> str:
        kind = str(match.lastgroup)
        if kind == "address" and not _is_public(match[0]):
            return match[0]
        return replaced(f"ocid1.{match['type']}" if kind == "ocid" else kind.replace("_", " "), match[0])

    text = _IDS.sub(name_of, text)
    for name in sorted({name for name in names if len(name) > 2}, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", lambda match: replaced("name", match[0]), text)
    return text


def _is_public(text: str) -> bool:
    try:
        return ip_address(text).is_global
    except ValueError:
        return False


def redacted_answer(request: str, answer: Any) -> Any:
    """What the API server answered to a request without secrets; a list of Secrets does not name their kind."""
    if request.partition("?")[0].endswith("/secrets") and isinstance(answer, Mapping):
        answer = {**answer, "items": [{"kind": "Secret", **item} for item in answer.get("items") or ()]}
    return redacted(answer)


def _redacted_secret(secret: Mapping[str, Any]) -> Json:
    """A Secret with its keys alone; of Helm's record of a release what the chart wrote, without the chart."""
    record = record_of(dict(secret))
    metadata = {key: entry for key, entry in (field(secret, "metadata") or {}).items() if key != "annotations"}
    kept = {"data": dict.fromkeys(secret.get("data") or {}, "")}
    if record is not None:
        kept = {"data": {"release": _packed(_redacted_record(record))}}
    plain = {key: entry for key, entry in secret.items() if key not in ("data", "stringData", "metadata")}
    return {**redacted(plain), "metadata": redacted(metadata), **kept}


def _redacted_record(record: Json) -> Json:
    import yaml

    from gpu_fabric.base.yaml_files import as_yaml

    chart = {"metadata": field(record, "chart", "metadata") or {}}
    try:
        documents = [redacted(entry) for entry in yaml.safe_load_all(str(record.get("manifest") or "")) if entry]
        manifest = "---\n".join(map(as_yaml, documents))
    except yaml.YAMLError:
        manifest = ""
    return {**redacted({**record, "manifest": "", "hooks": []}), "chart": chart, "manifest": manifest}


def _packed(record: Json) -> str:
    """A record as Helm stores it; see `record_of`."""
    content = base64.b64encode(gzip.compress(json.dumps(record).encode(), mtime=0))
    return base64.b64encode(content).decode()
