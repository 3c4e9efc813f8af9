"""Find the workloads among documents and their pod templates, by the tables next to this file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gpu_fabric.attach import argo
from gpu_fabric.attach.place import Malformed, Place
from gpu_fabric.base.tables import read_rows
from gpu_fabric.contract.consumer import consumer_of
from gpu_fabric.k8s.amounts import amount
from gpu_fabric.k8s.names import QUEUE_LABEL
from gpu_fabric.model import FrozenModel

_TABLES = Path(__file__).parent
_TRAIN_JOB = "TrainJob"
_WRAPPERS = ("workload.codeflare.dev/v1beta2",)


class TemplatePath(FrozenModel):
    """The path of a kind's pod templates, and the name of their role.

    `pod_spec` is the path of the pod spec, for a mapping that contains labels and annotations as its own keys.
    `container` is the path in the document of the container that its controller puts first into the pod, under the name
    of the path's last key.
    """

    path: tuple[str, ...]
    role: str | None = None
    role_key: str | None = None
    pod_spec: tuple[str, ...] = ()
    container: tuple[str, ...] = ()


class WorkloadKind(FrozenModel):
    """A row of `kinds.yaml`; the comment at the top of that file explains the fields."""

    kind: str
    api_versions: tuple[str, ...]
    templates: tuple[TemplatePath, ...]
    never: frozenset[str] = frozenset()
    unless: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    queue: tuple[str, ...] = ()
    queue_of: str | None = None
    cluster_wide: bool = False
    note: str | None = None

    @property
    def queue_keeper(self) -> str | None:
        """The scheduler that manages the queue; None if the kind has no queue."""
        return self.queue_of or ("kueue" if self.queue[-1:] == (QUEUE_LABEL,) else None)

    @property
    def places(self) -> list[tuple[str, ...]]:
        """The paths that attaching changes, besides the strategy of a Deployment; none if they are not in a table."""
        found = [
            (*template.path, *own)
            for template in self.templates
            if template.path
            for own in ((template.pod_spec, ("annotations",)) if template.pod_spec else ((),))
        ]
        found += [template.container for template in self.templates if template.container]
        return [*found, self.queue] if found and self.queue else found

    @property
    def of_a_train_job(self) -> bool:
        """Whether the kind has no pod template, but patches for the templates of its runtime."""
        return self.kind == _TRAIN_JOB


class Template(NamedTuple):
    """One pod template (`metadata` and `spec`) of a workload, and its role."""

    place: Place
    role: str | None


class Workload(NamedTuple):
    """A document that creates pods. If an AppWrapper contains it, Kueue queues the wrapper."""

    place: Place
    kind: WorkloadKind
    wrapper: Place | None = None

    @property
    def name(self) -> str:
        """Kind and name."""
        metadata = self.place.content.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return f"{self.kind.kind} {name}" if isinstance(name, str) else self.kind.kind


def workload_kinds() -> tuple[WorkloadKind, ...]:
    """Every known kind."""
    return read_rows(_TABLES / "kinds.yaml", WorkloadKind)


def workloads(place: Place, skipped: Sequence[str] = ()) -> Iterator[Workload]:
    """The workloads in a document, which may be a List; problems are recorded, other documents are left unchanged.

    Documents of `skipped` kinds are left unchanged as well, with a note.
    """
    content = place.content
    if content.get("kind") == "List" and isinstance(content.get("items"), list):
        for item in place.entries("items"):
            yield from workloads(item, skipped)
        return
    if content.get("kind") == "AppWrapper" and place.content.get("apiVersion") in _WRAPPERS:
        yield from _workloads_in_wrapper(place, skipped)
        return
    kind, version = content.get("kind"), content.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str):
        message = "is not a Kubernetes object: it has no apiVersion and kind"
        owner = consumer_of(content)
        remedy = "add both, or leave it out" if owner is None else owner.said
        place.refuse("ATT005", "", message, remedy)
        return
    if kind.lower() in (name.lower() for name in skipped):
        place.note("ATT065", "kind", f"{kind} is left as it is, as --skip asks")
        return
    rows = [row for row in workload_kinds() if row.kind == kind]
    for row in rows:
        if version in row.api_versions:
            if row.elsewhere and field_at(place, row.elsewhere):
                where = ".".join(row.elsewhere)
                place.note("ATT067", where, f"{kind} runs in pods of another document: attach the fabric to that")
            elif row.base and field_at(place, row.base) and not any(templates(Workload(place, row))):
                message = f"{kind} has its pods from the documents that it names: attach the fabric to those"
                place.note("ATT067", ".".join(row.base), message)
            elif not row.steps or _makes_pods(place, row):
                yield Workload(place, row)
            return
    groups = {known.rpartition("/")[0]: known for row in rows for known in row.api_versions}
    if (known := groups.get(version.rpartition("/")[0])) is not None:
        why, remedy = reason(kind, version) or ("which is not known here", f"known is {known}")
        place.refuse("ATT007", "apiVersion", f"{kind} of {version}, {why}", remedy)
    elif not creates_no_pods(kind, version) and (asked := find_pods(content) or hidden_pods(kind, version)) is not None:
        what, where = asked
        why, remedy = reason(kind, version) or ("but is not known here", f"known are {_known()}")
        message = f"{kind} of {version} {what} ({where}), {why}"
        place.refuse("ATT006", "kind", message, f"leave it as it is: --skip {kind}; {remedy}")


def _makes_pods(place: Place, kind: WorkloadKind) -> bool:
    """Whether a workflow creates pods itself; manifests that it contains as text are recorded as problems."""
    workflow = _inside(place, kind.steps)
    for template, _ in argo.all_templates(workflow):
        resource = template.seen("resource")
        if (asked := find_pods(resource.content)) is not None:
            what, key = asked
            remedy = "attach the fabric to it in a file of its own"
            resource.refuse("ATT006", key, f"{what}, to which nothing is attached here", remedy)
    elsewhere = argo.runs_elsewhere(workflow)
    if elsewhere:
        message = f"{kind.kind} has no pods of its own: attach the fabric to the templates that it refers to"
        workflow.note("ATT067", "templates", message)
    return not elsewhere


def _inside(place: Place, path: Sequence[str]) -> Place:
    for key in path:
        place = place.seen(key)
    return place


def volumes_of_all(workload: Workload) -> Iterator[str]:
    """The names of volumes that every pod of the workload mounts and no pod template declares."""
    if workload.kind.steps:
        yield from filter(None, argo.volumes_of(_inside(workload.place, workload.kind.steps)))
    if workload.kind.claims:
        *folders, last = workload.kind.claims
        for claim in _inside(workload.place, folders).entries(last):
            if name := claim.seen("metadata").text("name"):
                yield name


def _workloads_in_wrapper(place: Place, skipped: Sequence[str]) -> Iterator[Workload]:
    """The workloads in an AppWrapper; they run in its namespace unless they set their own."""
    for component in place.seen("spec").entries("components"):
        if (inner := component.found("template")) is not None:
            for workload in workloads(inner, skipped):
                yield workload._replace(wrapper=place)


def field_at(place: Place, path: Sequence[str]) -> object:
    """The value at a path of keys; None if it is unset."""
    *folders, last = path
    here: Place | None = place
    for key in folders:
        here = None if here is None else here.found(key)
    return None if here is None else here.content.get(last)


def templates(workload: Workload) -> Iterator[Template]:
    """The pod templates of a workload.

    Raises:
        Malformed: the document does not have the structure of its kind.
    """
    if workload.kind.steps:
        for step, name in argo.steps(_inside(workload.place, workload.kind.steps)):
            yield Template(step, name)
    for row in workload.kind.templates:
        for found in _templates(workload.place, row, row.path, row.role):
            yield _with_container(found, workload.place, row.container) if row.container else found


def _templates(here: Place, row: TemplatePath, path: tuple[str, ...], role: str | None) -> Iterator[Template]:
    if not path:
        if row.pod_spec:
            if (spec := field_at(here, row.pod_spec)) is None:
                return
            content = {"metadata": here.content, "spec": spec}
            here = _SplitTemplate(content, here.path, here.document, here.said, row.pod_spec)
        yield Template(here, role)
    elif len(path) > 1 and path[1] == "*":
        if isinstance(here.content.get(path[0]), list):
            for entry in here.entries(path[0]):
                name = entry.text(row.role_key) if row.role_key else None
                yield from _templates(entry, row, path[2:], name)
        elif (group := here.found(path[0])) is not None:
            for key in group.content:
                if (entry_of_key := group.found(str(key))) is not None:
                    yield from _templates(entry_of_key, row, path[2:], str(key))
    elif (inner := here.found(path[0])) is not None:
        yield from _templates(inner, row, path[1:], role)


@dataclass(frozen=True)
class _SplitTemplate(Place):
    """A pod template whose metadata are the keys of a mapping, and whose spec is nested in the same mapping."""

    pod_spec: tuple[str, ...]

    def under(self, key: str) -> str:
        """The path in the manifest."""
        head, _, rest = key.partition(".")
        return super().under(".".join([*(self.pod_spec if head == "spec" else ()), *([rest] if rest else [])]))


def _with_container(template: Template, document: Place, path: Sequence[str]) -> Template:
    here = _inside(document, path)
    container = _Named(here.content, here.path, here.document, here.said, path[-1])
    place = template.place
    return Template(_TemplateBeside(place.content, place.path, place.document, place.said, container), template.role)


@dataclass(frozen=True)
class _Named(Place):
    """A container whose name is not in the manifest."""

    given: str

    @property
    def name(self) -> str:
        """The name that its controller gives it."""
        return self.given


@dataclass(frozen=True)
class _TemplateBeside(Place):
    """A pod template whose container is elsewhere in the document."""

    container: Place

    def found(self, key: str) -> Place | None:
        """The mapping at a key; the pod spec with the container."""
        place = super().found(key)
        if place is None or key != "spec":
            return place
        return _SpecBeside(place.content, place.path, place.document, place.said, self.container)


@dataclass(frozen=True)
class _SpecBeside(Place):
    """A pod spec whose first container is elsewhere in the document."""

    container: Place

    def entries(self, key: str) -> list[Place]:
        """The mappings in the list at a key; among the containers the one that is elsewhere first."""
        return [*([self.container] if key == "containers" else ()), *super().entries(key)]


def spec_keys(document: Mapping[str, Any]) -> frozenset[str]:
    """The keys of a workload's spec in which attaching changes something; none where it may change all of the spec."""
    rows = [row for row in workload_kinds() if row.kind == document.get("kind")]
    paths = [path for row in rows if document.get("apiVersion") in row.api_versions for path in row.places]
    found = {path[1] for path in paths if path[0] == "spec" and len(path) > 1}
    strategy = {"strategy"} if document.get("kind") == "Deployment" else set()
    return frozenset(found | strategy if found else ())


def containers(template: Place) -> list[Place]:
    """The containers of a pod template, without init containers (and so without native sidecars).

    Raises:
        Malformed: there is no container, or the value is not a list of mappings.
    """
    spec = template.found("spec")
    found = [] if spec is None else spec.entries("containers")
    if not found:
        where = template.under("spec.containers")
        remedy = "write the container that trains"
        raise Malformed(template.document, where, "there is no container", remedy)
    return found


def _known() -> str:
    rows = workload_kinds()
    several = {row.kind for row in rows if sum(other.kind == row.kind for other in rows) > 1}
    return ", ".join(f"{row.kind} ({row.api_versions[0]})" if row.kind in several else row.kind for row in rows)


_AMOUNTS = frozenset({"limits", "requests", "resources"})
_GPU_KEYS = frozenset({"gpu", "gpus", "gpucount"})
_GPU_IN_TEXT = re.compile(r"[\w.-]+/gpu[\"']?\s*:\s*[\"']?[^\s0\"']")
_KIND_IN_TEXT = re.compile(r"^[\s-]*[\"']?kind[\"']?\s*:\s*[\"']?\w", re.M)
_PODS_IN_TEXT = re.compile(r"[cC]ontainers?[\"']?\s*:")


class _Kinds(FrozenModel):
    kinds: tuple[str, ...]
    group: str
    why: str

    def has(self, kind: str, version: str) -> bool:
        return kind in self.kinds and self.group == version.rpartition("/")[0]


class _Refused(_Kinds):
    remedy: str
    source: str
    hidden: bool = False


def creates_no_pods(kind: str, version: str) -> bool:
    """Whether a kind creates no pods itself, although it may describe pods or amounts of GPUs."""
    return any(row.has(kind, version) for row in read_rows(_TABLES / "passing.yaml", _Kinds))


def reason(kind: str, version: str) -> tuple[str, str] | None:
    """Why the fabric cannot be attached to a known kind that creates pods, and the remedy; None for other kinds."""
    rows = read_rows(_TABLES / "refused.yaml", _Refused)
    return next(((row.why, row.remedy) for row in rows if row.has(kind, version)), None)


def hidden_pods(kind: str, version: str) -> tuple[str, str] | None:
    """How a document concerns pods that it does not show, by its kind alone, and the path of its kind; else None."""
    rows = read_rows(_TABLES / "refused.yaml", _Refused)
    return ("makes pods", "kind") if any(row.hidden and row.has(kind, version) for row in rows) else None


def find_pods(value: Any, path: str = "", *, in_amounts: bool = False) -> tuple[str, str] | None:
    """How a document concerns pods, and at which path: it creates pods, requests GPUs, or contains a manifest as text.

    None if it does none of these.
    """
    if isinstance(value, list):
        found = (find_pods(entry, f"{path}[{k}]", in_amounts=in_amounts) for k, entry in enumerate(value))
        return next(filter(None, found), None)
    if isinstance(value, str):
        return ("has the text of a manifest", path) if _is_manifest(value) else None
    if not isinstance(value, dict):
        return None
    for key, inner in value.items():
        here = f"{path}.{key}".lstrip(".")
        name = str(key)
        if _holds_containers(name, inner):
            return "makes pods", here
        if in_amounts and _is_amount(inner) and (name.endswith("/gpu") or name.lower() in _GPU_KEYS):
            return "asks for GPUs", here
        if name.lower() == "gpu" and isinstance(inner, dict) and _is_amount(inner.get("quantity")):
            return "asks for GPUs", here
        found_inside = find_pods(inner, here, in_amounts=in_amounts or name in _AMOUNTS)
        if found_inside is not None:
            return found_inside
    return None


def _holds_containers(key: str, value: Any) -> bool:
    if isinstance(value, list):
        return key == "containers" and any(isinstance(entry, dict) and "name" in entry for entry in value)
    return isinstance(value, dict) and key.lower().endswith("container") and "image" in value


def _is_amount(value: Any) -> bool:
    """Whether it is an amount other than 0, or text such as a template that may become one."""
    return isinstance(value, str | int | float) and not isinstance(value, bool) and amount(value) != 0


def _is_manifest(text: str) -> bool:
    if "\n" not in text and "{" not in text:
        return False
    return bool(_GPU_IN_TEXT.search(text) or (_KIND_IN_TEXT.search(text) and _PODS_IN_TEXT.search(text)))
