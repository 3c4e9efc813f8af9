"""The stamp: an annotation that records what was added to a pod template, so that it can be removed or updated."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError

from gpu_fabric.attach.choice import Chosen, patched_template, template_of
from gpu_fabric.attach.kinds import Workload, containers, templates, workloads
from gpu_fabric.attach.networks import network_names, remove_networks
from gpu_fabric.attach.place import Place, Tree, deep_copy
from gpu_fabric.base.enumeration import first_names
from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from gpu_fabric.model import FrozenModel

STAMP = "gpu-fabric.dev/attached"
"""The annotation of a pod template that records what `attach` added to it."""

Unit = tuple[str, str]

# Lists whose entries are matched by these keys and merged; an entry of any other list is added or removed as a whole.
_NAMES = ("manager", "name", "groupName")
_GONE_THROUGH = frozenset({"runtimePatches", "replicatedJobs", "containers"})
_NOTHING: Any = object()


class Added(FrozenModel):
    """The additions: `new` are keys of mappings and entries of lists, by the JSON-pointer-like path of their parent.

    `changed` are pairs of old and new values; `empty` are the paths of values that were null before.
    """

    new: dict[str, Any] = Field(default={}, alias="added")
    changed: dict[str, list[Any]] = {}
    empty: list[str] = []

    def below(self, pointer: str) -> Added:
        """The additions at and below a path, with paths relative to it."""
        return self._where(lambda here: _is_within(here, pointer), len(pointer))

    def outside(self, pointers: Sequence[str]) -> Added:
        """The additions that are not at or below any of the paths."""
        return self._where(lambda here: not any(_is_within(here, pointer) for pointer in pointers))

    def _where(self, keeps: Callable[[str], bool], start: int = 0) -> Added:
        return Added(
            new={here[start:]: value for here, value in self.new.items() if keeps(here)},
            changed={here[start:]: value for here, value in self.changed.items() if keeps(here)},
            empty=[here[start:] for here in self.empty if keeps(here)],
        )

    def names(self) -> list[str]:
        """The name of each addition, in order."""
        return [name for pointer, value in self.new.items() for name in _names(value, pointer)]

    def leave_out(self, other: Added) -> Added:
        """The additions that `other` does not contain."""
        kept = Counter(unit for pointer, value in other.new.items() for unit in _units(value, pointer))
        new = {pointer: _rest(value, pointer, kept) for pointer, value in self.new.items()}
        changed = {here: pair for here, pair in self.changed.items() if other.changed.get(here) != pair}
        left = {pointer: value for pointer, value in new.items() if value is not _NOTHING}
        return Added(new=left, changed=changed, empty=self.empty)


def difference(before: Any, after: Any) -> Added:
    """The additions that turn `before` into `after`."""
    found = Added()
    _compare(before, after, "", found)
    found.empty.sort()
    return found


def remove_additions(content: Any, added: Added) -> None:
    """Remove from `content`, in place, the additions that are unchanged since; everything else stays."""
    for pointer, (was, now) in added.changed.items():
        outer, _, last = pointer.rpartition("/")
        holder, key = _value_at(content, outer), last.replace("~1", "/").replace("~0", "~")
        if isinstance(holder, dict) and key in holder:
            if holder[key] == now:
                holder[key] = was
            elif key == NETWORKS_ANNOTATION and isinstance(now, str) and isinstance(holder[key], str):
                holder[key] = remove_networks(holder[key], now, was) or was
    for pointer, new in added.new.items():
        here = _value_at(content, pointer)
        if here is not None:
            _remaining(here, new, pointer, frozenset(added.empty))


def pointer_to(content: Any, part: Any, pointer: str = "") -> str | None:
    """The path of a mapping inside a content; None if the content does not contain it."""
    if content is part:
        return pointer
    found = (pointer_to(inner, part, here) for here, inner in _values_in(content, pointer))
    return next((here for here in found if here is not None), None)


def _is_within(here: str, pointer: str) -> bool:
    return here == pointer or here.startswith(f"{pointer}/")


def _compare(before: Any, after: Any, pointer: str, found: Added) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        new = {}
        for key, value in after.items():
            here = f"{pointer}/{_step(key)}"
            if key not in before or (before[key] is None and value is not None):
                new[key] = value
                found.empty.extend([here] if key in before else [])
            else:
                _compare(before[key], value, here, found)
        if new:
            found.new[pointer] = new
    elif isinstance(before, list) and isinstance(after, list):
        for old, (here, value) in zip(before, _values_in(after, pointer), strict=False):
            _compare(old, value, here, found)
        if len(after) > len(before):
            found.new[pointer] = after[len(before) :]
    elif before != after:
        found.changed[pointer] = [before, after]


def _remaining(present: Any, new: Any, pointer: str, empty: frozenset[str]) -> Any:
    """The rest of a value without the additions `new`; mappings and lists are edited in place."""
    if isinstance(present, dict) and isinstance(new, dict):
        for key, value in new.items():
            here = f"{pointer}/{_step(key)}"
            if key in present:
                left = _remaining(present[key], value, here, empty)
                if left is not _NOTHING:
                    present[key] = left
                elif here in empty:
                    present[key] = None
                else:
                    del present[key]
        return present or _NOTHING
    if isinstance(present, list) and isinstance(new, list):
        for entry in new:
            if _is_merged_list(pointer):
                _remove_from_entry(present, entry, pointer, empty)
            elif entry in present:
                present.remove(entry)
        return present or _NOTHING
    if pointer.endswith(_STAMP):
        return _NOTHING
    if pointer.endswith(_NETWORKS) and isinstance(present, str) and isinstance(new, str):
        rest = remove_networks(present, new)
        return _NOTHING if rest is None else rest
    return _NOTHING if present == new else present


def _remove_from_entry(present: list[Any], new: dict[str, Any], pointer: str, empty: frozenset[str]) -> None:
    names = _own_names(new)
    for entry in present:
        if isinstance(entry, dict) and names and _own_names(entry) == names:
            for key in names:
                del entry[key]
            rest = {key: value for key, value in new.items() if key not in names}
            if _remaining(entry, rest, _of_entry(pointer, new), empty) is _NOTHING:
                present.remove(entry)
            else:
                entry.update(names)
            return


def _units(value: Any, pointer: str) -> Iterator[Unit]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _units(inner, f"{pointer}/{_step(key)}")
    elif isinstance(value, list):
        for entry in value:
            if _is_merged_list(pointer):
                yield from _units(entry, _of_entry(pointer, entry))
            else:
                yield pointer, json.dumps(entry, sort_keys=True)
    else:
        yield pointer, json.dumps(value)


def _rest(value: Any, pointer: str, kept: Counter[Unit]) -> Any:
    """The part of an addition that is not kept. A mapping is always returned: it may become empty and be removed."""
    if isinstance(value, dict):
        inner = {key: _rest(part, f"{pointer}/{_step(key)}", kept) for key, part in value.items()}
        return {key: part for key, part in inner.items() if part is not _NOTHING}
    if isinstance(value, list):
        if _is_merged_list(pointer):
            return [_rest(one, _of_entry(pointer, one), kept) | _own_names(one) for one in value]
        return [entry for entry in value if not _is_kept((pointer, json.dumps(entry, sort_keys=True)), kept)]
    return _NOTHING if _is_kept((pointer, json.dumps(value)), kept) else value


def _is_kept(unit: Unit, kept: Counter[Unit]) -> bool:
    kept[unit] -= 1
    return kept[unit] >= 0


def _names(value: Any, pointer: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield from _names(inner, f"{pointer}/{_step(key)}")
            elif key not in (*_NAMES, STAMP, NETWORKS_ANNOTATION):
                yield str(key)
            elif key == NETWORKS_ANNOTATION:
                yield from (f"network {name}" for name in network_names(str(inner)))
    elif isinstance(value, list):
        for entry in value:
            if _is_merged_list(pointer):
                yield from _names(entry, pointer)
            else:
                own = entry if isinstance(entry, dict) else {}
                yield str(own.get("mountPath") or own.get("name") or own.get("key") or entry)


def _value_at(content: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        content = next((inner for here, inner in _values_in(content, "") if here == f"/{step}"), None)
    return content


def _values_in(content: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """The values in a mapping or list with their paths; a list entry is addressed by its name if that is unique."""
    if isinstance(content, Mapping):
        for key, inner in content.items():
            yield f"{pointer}/{_step(key)}", inner
    elif isinstance(content, list):
        names = [next(iter(_own_names(entry).values()), None) for entry in content]
        for number, (name, entry) in enumerate(zip(names, content, strict=True)):
            alone = name is not None and names.count(name) == 1
            yield f"{pointer}/{_step(name if alone else number)}", entry


def _own_names(entry: Any) -> dict[str, str]:
    own = entry if isinstance(entry, dict) else {}
    return {key: own[key] for key in _NAMES if isinstance(own.get(key), str)}


def _of_entry(pointer: str, entry: Any) -> str:
    return f"{pointer}/{_step(next(iter(_own_names(entry).values()), ''))}"


def _is_merged_list(pointer: str) -> bool:
    return pointer.rpartition("/")[2] in _GONE_THROUGH


def _step(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


_NETWORKS, _STAMP = f"/{_step(NETWORKS_ANNOTATION)}", f"/{_step(STAMP)}"


# The parts of a contract that reach pods; the others may change without a new pod.
_OF_PODS: Any = {
    **dict.fromkeys(("pod_template_patch", "annotations", "networks_from_elsewhere", "resources", "environment"), True),
    "scheduler_hints": {"annotations": True},
}


class Stamp(Added):
    """The additions to a pod template and, in the first stamp of a document, those `around` all pod templates."""

    contract: str
    around: Added = Added()
    queue: str | None = None
    claim: str | None = None
    rack: str | None = None
    libraries: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The value of the annotation."""
        text = self.model_dump(by_alias=True, exclude_defaults=True)
        return json.dumps(text, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

    def names(self) -> list[str]:
        """The name of each addition, in order."""
        return [*super().names(), *self.around.names()]

    def remove(self, root: Tree, template: Tree) -> None:
        """Remove the additions from a template and from the document that contains it."""
        remove_additions(template, self)
        remove_additions(root, self.around)


def digest(contract: FabricContract) -> str:
    """A short hash of the parts of a contract that reach pods."""
    known = contract.model_dump(mode="json", include=_OF_PODS)
    text = json.dumps(known, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def stamp_of(template: Place) -> Stamp | None:
    """The stamp of a pod template; None if it has none, and None with a problem if the stamp cannot be parsed."""
    text = template.seen("metadata").seen("annotations").content.get(STAMP)
    if text is None:
        return None
    try:
        return Stamp.model_validate_json(text)
    except (ValidationError, TypeError):
        annotations = template.seen("metadata").seen("annotations")
        annotations.refuse("ATT029", STAMP, "cannot be read", "remove it, or attach the manifest as it was before")
        return None


def stamped_templates(content: Any, document: Place) -> Iterator[Place]:
    """The pod templates with a stamp in the content of a document, which may be of any kind."""
    if isinstance(content, list):
        for entry in content:
            yield from stamped_templates(entry, document)
    elif isinstance(content, dict):
        metadata = content.get("metadata")
        if _has_stamp(content):
            yield Place({"metadata": content}, "", document.document, document.said)
        elif isinstance(metadata, dict) and _has_stamp(metadata):
            yield Place(content, "", document.document, document.said)
        for key, inner in content.items():
            if key != "metadata":
                yield from stamped_templates(inner, document)


def _has_stamp(metadata: Tree) -> bool:
    annotations = metadata.get("annotations")
    return isinstance(annotations, dict) and STAMP in annotations


_MOST_NAMES = 6


def root_of(workload: Workload) -> Place:
    """The outermost document of a workload: its wrapper, or the workload itself."""
    return workload.wrapper or workload.place


def holder_of(entry: Chosen) -> Place:
    """The pod template whose annotations contain the stamp; for a TrainJob, that of our patch, or an empty one."""
    template = entry.template
    if not entry.workload.kind.of_a_train_job:
        return template
    return patched_template(entry.workload) or Place({}, template.path, template.document, template.said)


def new_stamps(
    before: object, chosen: Sequence[Chosen], contract: FabricContract, wishes: Mapping[str, Any]
) -> list[Stamp]:
    """The stamps of the pod templates of one document after an attach.

    `before` is the document before it, `wishes` are the options that the next attach takes over.
    """
    root, holders = root_of(chosen[0].workload).content, [holder_of(entry) for entry in chosen]
    for holder in holders:
        holder.made("metadata").made("annotations").content[STAMP] = ""
    added = difference(before, root)
    # A holder that is assembled from parts of the document is not a mapping in it, so it has no pointer.
    places = [pointer_to(root, holder.content) for holder in holders]
    around, mark = added.outside([place for place in places if place is not None]), digest(contract)
    parts = [Added() if place is None else added.below(place) for place in places]
    first, *others = (Stamp(contract=mark, **wishes, **dict(part)) for part in parts)
    stamps = [first.model_copy(update={"around": around}), *others]
    # Two pod templates may have the annotations in common, and then have one stamp.
    held = [holder.made("metadata").made("annotations").content for holder in holders]
    return [stamps[next(place for place, other in enumerate(held) if other is own)] for own in held]


def write_stamps(chosen: Sequence[Chosen], written: Sequence[Stamp]) -> None:
    """Write a stamp into each pod template."""
    # Before any is written: what a stamp records is the document itself.
    texts = list(map(str, written))
    for entry, text in zip(chosen, texts, strict=True):
        holder_of(entry).made("metadata").made("annotations").content[STAMP] = text


def copy_without_additions(
    chosen: Sequence[Chosen], old: Sequence[Stamp | None], skipped: Sequence[str]
) -> list[Chosen]:
    """The same containers in a copy of their document without the additions that their stamps record."""
    first = chosen[0].workload
    outer = root_of(first)
    place = Place(deep_copy(outer.content), outer.path, outer.document, [])
    twin = next(one for one in workloads(place, skipped) if one.place.path == first.place.path)
    there = [_find_again(entry, twin) for entry in chosen]
    for entry, stamp in zip(there, old, strict=True):
        if stamp is not None:
            stamp.remove(place.content, holder_of(entry).content)
    return [_find_again(entry, twin) for entry in chosen]


def update_additions(chosen: Sequence[Chosen], old: Sequence[Stamp | None], new: Sequence[Stamp]) -> list[Chosen]:
    """Remove from a document the additions of its old stamps that its new ones lack; returns the containers in it."""
    first = chosen[0].workload
    for entry, before, after in zip(chosen, old, new, strict=True):
        if before is None:
            continue
        remove_additions(holder_of(entry).content, before.leave_out(after))
        remove_additions(root_of(first).content, before.around.leave_out(after.around))
        gone = [*dict.fromkeys((Counter(before.names()) - Counter(after.names())).elements())]
        if gone:
            listed = first_names(gone, _MOST_NAMES)
            entry.container.note("ATT070", "", f"loses what was added and is not asked for any more: {listed}")
    return [_find_again(entry, first) for entry in chosen]


def _find_again(entry: Chosen, workload: Workload) -> Chosen:
    """The same container, looked up in another state of its document."""
    if workload.kind.of_a_train_job:
        template = template_of(workload).place
    else:
        # Two templates may have their labels and annotations, but not their spec, in common.
        spec = entry.template.under("spec")
        template = next(one.place for one in templates(workload) if one.place.under("spec") == spec)
    inside = [one.path for one in containers(entry.template)]
    return Chosen(workload, template, containers(template)[inside.index(entry.container.path)])
