"""Every edit of one key of a committed stack that the schema allows: another value, one more key, one fewer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, NamedTuple

from committed_stacks import ROOT, folder_of, stack_names
from schema_values import TEXTS, forms, keys_at, schema_key, schemas_at

from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import PlannedStack, prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.places import Location
from gpu_fabric.spec.stack_text import StackDocument

_ABSENT = object()
# Of a place with more values than this, so many are drawn.
_MOST = 6


class SingleEdit(NamedTuple):
    """A value at a place of a stack's file; `_ABSENT` takes the key out. `before` is an edit made earlier."""

    stack: str
    place: Location
    value: Any
    before: SingleEdit | None = None

    @property
    def words(self) -> str:
        """The edit for a message."""
        where = ".".join(map(str, self.place))
        this = f"{where} {'taken out' if self.value is _ABSENT else f'= {self.value!r}'}"
        return f"{self.before.words}, then {this}" if self.before else f"{self.stack}: {this}"

    def document(self) -> StackDocument:
        """The stack's file with the edit."""
        document = self.before.document() if self.before else _document(self.stack)
        sections = deepcopy(document.sections)
        *parents, last = self.place
        holder: Any = sections
        for part in parents:
            holder = holder[part]
        if self.value is _ABSENT:
            del holder[last]
        elif isinstance(holder, list) and last == len(holder):
            holder.append(deepcopy(self.value))
        else:
            holder[last] = deepcopy(self.value)
        return document.model_copy(update={"sections": sections})

    def plan(self) -> Plan | None:
        """The plan after the edit; None where the file is refused."""
        try:
            return prepare(self.document(), for_up=False).plan
        except ConfigurationError:
            return None


def stacks() -> list[str]:
    """The stacks that are edited: all but the large one, whose small likes are among them."""
    examples = (path.name.split(".")[1] for path in (ROOT / "examples").glob("Pulumi.*.yaml"))
    return sorted({*stack_names(), *examples} - {"large-per-node"})


def edits_of(stack: str) -> list[SingleEdit]:
    """Every edit of a stack, the same at each run."""
    chance = Random(f"edits of {stack}")  # noqa: S311  # tests, not secrets
    return list(_edits(stack, _document(stack).sections, (), chance))


def _edits(stack: str, value: Any, place: Location, chance: Random) -> Iterator[SingleEdit]:
    if place and place != ("guard",):
        yield SingleEdit(stack, place, _ABSENT)
        for other in _drawn(place, value, chance):
            yield SingleEdit(stack, place, other)
    if isinstance(value, dict):
        for key in sorted({*value, *keys_at(place)} - {"guard"}):
            if key in value:
                yield from _edits(stack, value[key], (*place, key), chance)
            else:
                for other in _drawn((*place, key), _ABSENT, chance):
                    yield SingleEdit(stack, (*place, key), other)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _edits(stack, entry, (*place, index), chance)


class KeyEdits(NamedTuple):
    """A key of the schema: its edits, each made to the stack file that `before` names, whose plan is `base`."""

    key: str
    before: str
    base: PlannedStack
    edits: list[SingleEdit]


def edits_by_key(stack: str, is_chosen: Callable[[str], bool]) -> Iterator[KeyEdits]:
    """Every key that a stack's file can have, with its edits, the same at each run.

    A section that the file lacks is written first: as short as it can be, and as the fullest of another stack.
    `is_chosen` says of a key that has its section in the file whether it is wanted, with all keys that it leads to.
    """
    document, chance = _document(stack), Random(f"keys of {stack}")  # noqa: S311  # tests, not secrets
    base = prepare(document, for_up=False)
    return _by_key(_Written(stack, None, base), document.sections, (), is_chosen, chance)


class _Written(NamedTuple):
    """A stack's file with what was written into it before."""

    stack: str
    edit: SingleEdit | None
    base: PlannedStack


def _by_key(
    file: _Written, value: Any, place: Location, is_chosen: Callable[[str], bool], chance: Random
) -> Iterator[KeyEdits]:
    if isinstance(value, list):
        # Entries of one list differ in little: the first and the last.
        for index in sorted({0, len(value) - 1} if value else ()):
            yield from _by_key(file, value[index], (*place, index), is_chosen, chance)
    if not isinstance(value, dict):
        return
    keys = keys_at(place)
    for key in sorted({*value, *keys}):
        here = (*place, key)
        name, present = schema_key(here), value.get(key, _ABSENT)
        if key in keys and (file.edit or is_chosen(name)):
            others = [_ABSENT] * (present is not _ABSENT) + _drawn(here, present, chance)
            edits = [SingleEdit(file.stack, here, other, file.edit) for other in others]
            yield KeyEdits(name, file.edit.words if file.edit else file.stack, file.base, edits)
            for written in _sections(file, here) if present is _ABSENT else ():
                assert written.edit is not None
                yield from _by_key(written, written.edit.value, here, is_chosen, chance)
        yield from _by_key(file, present, here, is_chosen, chance)


def _sections(file: _Written, place: Location) -> list[_Written]:
    """The file with the shortest and with the fullest value at a place, of those that lead to keys and are accepted."""
    known = sorted(_known().get(_key_path(place), ()), key=lambda value: len(repr(value)))
    leading = [value for value in (*_of_schema(place, _ABSENT), *known) if _leads_to_keys(value, place)]
    edits = [SingleEdit(file.stack, place, value, file.edit) for value in leading]
    found: dict[int, _Written] = {}
    for order in (edits, edits[::-1]):
        for edit in order:
            try:
                base = prepare(edit.document(), for_up=False)
            except ConfigurationError:
                continue
            found.setdefault(edits.index(edit), _Written(file.stack, edit, base))
            break
    return list(found.values())


def _leads_to_keys(value: Any, place: Location) -> bool:
    if isinstance(value, list):
        return bool(value) and _leads_to_keys(value[0], (*place, 0))
    return isinstance(value, dict) and bool(
        keys_at(place) or any(_leads_to_keys(inner, (*place, key)) for key, inner in value.items())
    )


def _drawn(place: Location, value: Any, chance: Random) -> list[Any]:
    """Values that differ from the present one: those of the schema, and what other stacks have there."""
    found: list[Any] = []
    candidates = [*_known().get(_key_path(place), ()), *_of_schema(place, value)]
    for candidate in candidates:
        if candidate != value and type(candidate) is not type(None) and candidate not in found:
            found.append(candidate)
    return found if len(found) <= _MOST else chance.sample(found, _MOST)


def _of_schema(place: Location, value: Any) -> Iterator[Any]:
    for form in schemas_at(place):
        yield from _values(form, value)


def _values(form: dict[str, Any], value: Any, depth: int = 0) -> Iterator[Any]:
    match form:
        case {"const": const}:
            yield const
        case {"enum": among}:
            yield from among
        case {"type": "boolean"}:
            yield from (True, False)
        case {"type": "integer"}:
            low, high = form.get("minimum", 0), form.get("maximum", 64)
            around = (value - 1, value + 1, value * 2) if isinstance(value, int) else (low, low + 1, min(high, low + 8))
            yield from (number for number in around if low <= number <= high)
        case {"type": "string"}:
            yield from TEXTS
        case {"type": "number"}:
            low, high = form.get("minimum", 0), form.get("maximum", 64)
            around = (value / 2, value * 2) if isinstance(value, int | float) else (low, min(high, low + 8))
            yield from (number for number in around if low <= number <= high)
        case {"type": "array"}:
            if isinstance(value, list):
                yield from (value[:place] + value[place + 1 :] for place in range(len(value)))
                yield value[::-1]
            elif depth < 3:
                yield from ([entry] for item in forms(form["items"]) for entry in _values(item, _ABSENT, depth + 1))
        case {"type": "object", "additionalProperties": dict(inside)} if "properties" not in form and depth < 3:
            yield {}
            yield from ({"x": entry} for item in forms(inside) for entry in _values(item, _ABSENT, depth + 1))
        case {"type": "object"}:
            required = form.get("required", ())
            inner = {
                key: next(iter(_values(next(forms(form["properties"][key])), _ABSENT, depth + 1)), None)
                for key in required
                if depth < 3
            }
            if all(found is not None for found in inner.values()):
                yield inner


def _key_path(place: Location) -> str:
    return ".".join("*" if isinstance(part, int) else part for part in place)


@cache
def _known() -> dict[str, list[Any]]:
    """What the committed stacks have at each place."""
    found: dict[str, list[Any]] = defaultdict(list)

    def walk(value: Any, place: Location) -> None:
        if place and value not in found[_key_path(place)]:
            found[_key_path(place)].append(value)
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, below in inner:
            walk(below, (*place, key))

    for stack in stacks():
        walk(_document(stack).sections, ())
    return found


@cache
def _document(stack: str) -> StackDocument:
    return read_document(stack, folder_of(stack))
