"""What a bundle leaves out of a cluster's objects, logs and records of Helm: everything that may be a secret."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
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


def redacted(value: Any, name: str = "") -> Any:
    """A value of JSON without secrets; `name` is its key, or that of the variable whose value it is."""
    if isinstance(value, str):
        return REMOVED if value and _NAME.search(name) else redacted_text(value)
    if isinstance(value, list):
        return [redacted(entry, name) for entry in value]
    if not isinstance(value, Mapping):
        return value
    if _is_secret(value):
        return _redacted_secret(value)
    # An environment variable, or a parameter of a chart: its name is a value itself.
    variable = str(value["name"]) if isinstance(value.get("name"), str) and isinstance(value.get("value"), str) else ""
    return {key: redacted(entry, variable if variable and key == "value" else key) for key, entry in value.items()}


def redacted_text(text: str) -> str:
    """A text without what has the form of a secret."""
    return _TEXT.sub(REMOVED, text)


def redacted_answer(request: str, answer: Any) -> Any:
    """What the API server answered to a request without secrets; a list of Secrets does not name their kind."""
    if request.partition("?")[0].endswith("/secrets") and isinstance(answer, Mapping):
        answer = {**answer, "items": [{"kind": "Secret", **item} for item in answer.get("items") or ()]}
    return redacted(answer)


def _is_secret(value: Mapping[str, Any]) -> bool:
    return value.get("kind") == "Secret" and isinstance(value.get("metadata"), Mapping)


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

    chart = {"metadata": field(record, "chart", "metadata") or {}}
    try:
        documents = [redacted(entry) for entry in yaml.safe_load_all(str(record.get("manifest") or "")) if entry]
        manifest = yaml.safe_dump_all(documents, sort_keys=False)
    except yaml.YAMLError:
        manifest = ""
    return {**redacted({**record, "manifest": "", "hooks": []}), "chart": chart, "manifest": manifest}


def _packed(record: Json) -> str:
    """A record as Helm stores it; see `record_of`."""
    content = base64.b64encode(gzip.compress(json.dumps(record).encode(), mtime=0))
    return base64.b64encode(content).decode()
