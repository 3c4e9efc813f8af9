"""Values that the schema of stack files allows at a place: most are accepted there, and few files have them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from gpu_fabric.spec.places import Location
from gpu_fabric.spec.stack import StackSpec

Json = dict[str, Any]

_SCHEMA: Json = StackSpec.model_json_schema(by_alias=True)
# For texts whose pattern a schema does not say: right for some keys, wrong for most.
TEXTS = [
    *("", "x", "gpu", "rail-00", "jobs", "é", "-x", "{", "a=b", "x" * 300, "NoSchedule", "h100", "mlx5_0", "ens1f0"),
    *("10.0.0.0/8", "10.10.0.0/20", "fd00::/64", "10.0.0.1", "0000:3b:00.0", "nvidia.com/gpu", "1.34", "26.7"),
    *("*/10 * * * *", "2026-12-01", "50%", "1h", "10Gi", "https://x.example:6443", "ocid1.cluster.oc1.iad.aaaa"),
]


def forms(schema: Json) -> Iterator[Json]:
    """The schema without references and alternatives: one for each form that a value can have."""
    if "$ref" in schema:
        schema = _SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    alternatives = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if alternatives is None:
        yield schema
    for alternative in alternatives or ():
        yield from forms(alternative)


def schemas_at(place: Location) -> list[Json]:
    """The forms of a place of a stack file's sections; none where no key leads there."""
    found = list(forms(_SCHEMA))
    for part in place:
        inner = (_inner(form, part) for form in found)
        found = [form for schema in inner if schema is not None for form in forms(schema)]
    return found


def _inner(form: Json, part: str | int) -> Json | None:
    if isinstance(part, int):
        items: Json | None = form.get("items")
        return items
    others = form.get("additionalProperties")
    found: Json | None = form.get("properties", {}).get(part, others if isinstance(others, dict) else None)
    return found


def keys_at(place: Location) -> list[str]:
    """The keys that a mapping can have there."""
    return sorted({key for form in schemas_at(place) for key in form.get("properties", {})})


def schema_key(place: Location) -> str:
    """A place as a key of the schema: `*` is an entry of a list, or a name that the user chose."""
    return ".".join(str(part) if part in keys_at(place[:at]) else "*" for at, part in enumerate(place))


def schema_keys(schema: Json = _SCHEMA, inside: tuple[str, ...] = ()) -> Iterator[str]:
    """Every key of the schema."""
    for form in forms(schema):
        entries = (form.get("items"), form.get("additionalProperties"))
        inner = [("*", entry) for entry in entries if isinstance(entry, dict)] + [*form.get("properties", {}).items()]
        for part, below in inner:
            if part != "*":
                yield ".".join((*inside, part))
            yield from schema_keys(below, (*inside, part))


def allowed(form: Json, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a form; its bounds are among them. A mapping has its required keys and few of the others."""
    if "const" in form:
        return st.just(form["const"])
    if "enum" in form:
        return st.sampled_from(form["enum"])
    match form.get("type"):
        case "object":
            return _mappings(form, depth)
        case "array":
            return st.lists(_any_of(form.get("items", {}), depth + 1), max_size=3)
        case "integer":
            return _integers(form)
        case "number":
            return _integers(form) | st.just(0.5)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return st.sampled_from(TEXTS)


def _any_of(schema: Json, depth: int) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: st.one_of([allowed(form, depth) for form in forms(schema)]))


def _integers(form: Json) -> st.SearchStrategy[int]:
    low = int(form.get("minimum", form.get("exclusiveMinimum", -1) + 1))
    high = int(form.get("maximum", form.get("exclusiveMaximum", low + 1001) - 1))
    return st.sampled_from([low, high]) | st.integers(low, high)


def _mappings(form: Json, depth: int) -> st.SearchStrategy[Json]:
    known, required = form.get("properties", {}), form.get("required", ())
    values = {key: _any_of(schema, depth + 1) for key, schema in known.items()}
    needed = {key: value for key, value in values.items() if key in required}
    if depth > 3 or not known:
        return st.fixed_dictionaries(needed)
    others = st.sets(st.sampled_from(sorted(known)), max_size=3)
    return others.flatmap(lambda keys: st.fixed_dictionaries({**needed, **{key: values[key] for key in keys}}))


def places(value: Any, here: Location = ()) -> Iterator[Location]:
    """Every place of a document, the outer ones first."""
    if here:
        yield here
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from places(below, (*here, key))


def put(sections: dict[str, Any], place: Location, value: Any) -> None:
    """Put a value at a place; where the way there leads through something else, there is nothing to put it in."""
    *parents, last = place
    holder: Any = sections
    with suppress(KeyError, IndexError, TypeError, AttributeError):
        for part in parents:
            holder = holder.setdefault(part, {}) if isinstance(holder, dict) else holder[part]
        holder[last] = value
