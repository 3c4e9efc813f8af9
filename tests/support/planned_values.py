"""Values of a plan by the words that lead to them, as the rows of tests/unit/plan/rows write them.

A place begins with what it is a part of:

- a kind, then an object's name: `DaemonSet kube-multus-ds spec`. The namespace goes before the name where the object
  has one of the same name in another: `LocalQueue research/gpus`.
- `step`, then its name: the items of the step, of an object its manifest as `object`; `after`: the steps before it;
- `release` and `config`, then a name: a Helm release; the CNI configuration of a network;
- `oke`, then a logical name: what Oracle is asked for. An output of another record is `@record.output`, `@record` its
  id, and a script for the start of a machine is plain text;
- a field of the plan.

Then the keys and numbers that lead on. Text that is JSON is read. `pod` is the specification of the pod of a template.
`*` goes on with each, as one list; `each` goes on with each, and all must be the same; `keys` is the sorted keys;
`key=value` is the entry of a list that has it, and `#` at the end of a name its hash. What there is not is null.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from gpu_fabric.plan import Plan

Json = Any
_TEMPLATE = ("spec", "template", "spec")


def value_at(plan: Plan, place: str) -> Json:
    """The value at a place."""
    first, *words = place.split()
    if first[0].isupper():
        found: Json = _objects(plan, first)
    elif first == "step":
        found, words = _items(plan, words[0]), words[1:]
    elif first == "after":
        found = {entry.name: list(entry.after) for entry in plan.steps}
    elif first == "release":
        found = {entry.name: entry.model_dump(mode="json") for entry in plan.releases}
    elif first == "config":
        found = {entry.name: entry.object.manifest()["spec"]["config"] for entry in plan.applied("networks")}
    elif first == "oke":
        assert plan.cluster.oke is not None
        found = {entry.logical_name: _written(entry.model_dump(mode="json")) for entry in plan.cluster.oke.records}
    else:
        assert first in Plan.model_fields, first
        found = _written(plan.model_dump(mode="json", include={first}))
        words = [first, *words]
    return _follow(found, words)


def _objects(plan: Plan, kind: str) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for entry in plan.objects:
        if entry.object.kind == kind:
            name = f"{entry.object.metadata.namespace}/{entry.name}" if entry.name in found else entry.name
            found[name] = entry.object.manifest()
    return found


def _items(plan: Plan, name: str) -> list[Json] | None:
    step = plan.step(name)
    return None if step is None else [entry.model_dump(mode="json") for entry in step.items]


def _written(value: Json) -> Json:
    """A value with its references in one word."""
    if isinstance(value, dict):
        if value.keys() == {"ref", "output"}:
            return f"@{value['ref']}" + ("" if value["output"] == "id" else f".{value['output']}")
        return {
            key: b64decode(inner).decode() if key == "user_data" and isinstance(inner, str) else _written(inner)
            for key, inner in value.items()
        }
    return [_written(inner) for inner in value] if isinstance(value, list) else value


def _follow(found: Json, words: list[str]) -> Json:
    for place, word in enumerate(words):
        if isinstance(found, str) and found[:1] in ("{", "["):
            found = json.loads(found)
        if found is None:
            return None
        rest = words[place + 1 :]
        if word in ("*", "each"):
            reached = [_follow(entry, rest) for entry in _entries(found)]
            if word == "each":
                assert reached, f"nothing to look at before `each {' '.join(rest)}`"
                assert all(entry == reached[0] for entry in reached), reached
                return reached[0]
            nested = "*" in rest
            return [inner for entry in reached for inner in (entry or [])] if nested else reached
        found = _step(found, word)
    return json.loads(found) if isinstance(found, str) and found[:1] in ("{", "[") else found


def _entries(found: Json) -> Iterable[Json]:
    return found.values() if isinstance(found, dict) else found


def _step(found: Json, word: str) -> Json:
    if word == "pod" and "pod" not in found:
        return _follow(found, list(_TEMPLATE))
    if word == "keys":
        return sorted(found)
    if isinstance(found, dict):
        if word in found:
            return found[word]
        if word.endswith("#"):
            return next((found[name] for name in found if re.fullmatch(f"{word[:-1]}[0-9a-f]{{8}}", name)), None)
        found = list(found.values()) if word.lstrip("-").isdigit() else None
    if isinstance(found, list):
        if word.lstrip("-").isdigit():
            return found[int(word)] if -len(found) <= int(word) < len(found) else None
        key, _, value = word.partition("=")
        return next((entry for entry in found if isinstance(entry, dict) and entry.get(key) == value), None)
    return None


def differs(plan: Plan | Mapping[str, Json], place: str, wanted: Json) -> str | None:
    """How a plan, or what is asked of one, differs from what a row wants; None where it does not.

    The last word of a place may be `has`: at least these entries or this text, or `lacks`: none of them.
    """
    *words, last = place.split()
    compared = last not in ("has", "lacks")
    words = [*words, last] if compared else words
    found = value_at(plan, " ".join(words)) if isinstance(plan, Plan) else _follow(plan, words)
    if compared:
        return None if found == wanted else f"{place}: {found!r} instead of {wanted!r}"
    if isinstance(wanted, dict):
        had = [(found or {}).get(key) == value for key, value in wanted.items()]
    else:
        had = [entry in (found or ()) for entry in (wanted if isinstance(wanted, list) else [wanted])]
    right = all(had) if last == "has" else not any(had)
    return None if right and had else f"{place}: {found!r} {'lacks' if last == 'has' else 'has'} some of {wanted!r}"
