"""A bundle: what the commands read of a stack's cluster and state, in a file, so that another person can judge it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpu_fabric.base.api_objects import is_true
from gpu_fabric.live.cluster import Cluster, Json, NotAllowed, api_path, field, name_of
from gpu_fabric.live.drift_and_damages import damages, drift
from gpu_fabric.live.examination import Examination, Purpose
from gpu_fabric.live.judging import differences
from gpu_fabric.live.redaction import redacted, redacted_answer, redacted_text
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.state import Lock, StackState
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.records import HelmRelease
from gpu_fabric.spec.stack_text import StackDocument

_CONTENT = "bundle.json"
_LIST = "contents.txt"
_VERSION = 1
# Of a log, and of all: enough for a start that failed, and small enough for an issue.
LINES, LOG_BYTES, MOST_LOGS = 300, 64 * 1024, 60
Logs = Callable[[str, str, str], str]
"""The end of what a container printed, by namespace, pod and container. Raises NotAllowed."""


class Call(FrozenModel):
    """What the API server answered, or why it refused."""

    answer: Any = None
    refused: str | None = None


class Bundle(FrozenModel):
    """Everything that a judgement needs: the stack, the answers of its cluster, and its state.

    `calls` are the answers by request. `at_s` is when they were read, in seconds since 1970, `overdue` as in
    Examination. `definitions` are those in the charts' folders, by release. `state` is None where it was not read.
    """

    version: int = _VERSION
    program: str
    stack: str
    file: str
    sections: dict[str, Any]
    at_s: float
    overdue: str
    calls: dict[str, Call]
    definitions: dict[str, tuple[Any, ...]]
    state: dict[str, Any] | None
    why_no_state: str = ""

    @property
    def document(self) -> StackDocument:
        """The stack's configuration."""
        return StackDocument(name=self.stack, file=self.file, root=Path.cwd(), sections=self.sections)

    @property
    def cluster(self) -> Cluster:
        """The cluster as it was read; what was not read counts as not allowed."""
        return Cluster(_never, _never, _never).watched(self._answer)

    @property
    def stack_state(self) -> StackState | None:
        """The state, as far as damages are judged by it."""
        if self.state is None:
            return None
        locks = tuple(Lock(*entry) for entry in self.state["locks"])
        return StackState(tuple(self.state["resources"]), tuple(self.state["pending"]), locks)

    def definitions_of(self, release: HelmRelease) -> tuple[Any, ...]:
        """The definitions in the folder `crds` of a release's chart."""
        return self.definitions.get(release.name, ())

    def _answer(self, request: str, _ask: object) -> Any:
        found = self.calls.get(request, Call(refused="the bundle does not have it"))
        if found.refused is not None:
            raise NotAllowed(found.refused)
        return found.answer


def _never(*_request: object) -> Any:
    raise AssertionError("a bundle asks no cluster")


def record(case: Examination, overdue: str, document: StackDocument, program: str, why_no_state: str = "") -> Bundle:
    """A bundle of all that preflight, drift and doctor read of a case.

    `program` is this program's version. The cluster's refusals are kept; other errors are the caller's.
    """
    calls, used = dict[str, Call](), dict[str, tuple[Any, ...]]()

    def keep(request: str, ask: Callable[[], Any]) -> Any:
        try:
            answer = ask()
        except NotAllowed as error:
            calls[request] = Call(refused=redacted_text(str(error)))
            raise
        # Judges see what is kept, so that they ask the same of the bundle.
        calls[request] = Call(answer=redacted_answer(request, answer))
        return calls[request].answer

    def definitions(release: HelmRelease) -> tuple[Any, ...]:
        return used.setdefault(release.name, tuple(case.definitions(release)))

    cluster = case.cluster.watched(keep)
    asked: tuple[Purpose, ...] = ("up", "destroy")
    for purpose in asked:
        damages(replace(case, cluster=cluster, purpose=purpose, definitions=definitions))
    differences(case.stack, cluster)
    drift(case.stack, cluster, overdue)
    for namespace in software_namespaces(case.stack):
        for plural in ("pods", "events"):
            cluster.get(api_path("v1", plural, namespace))
    return Bundle(
        program=program,
        stack=document.name,
        file=document.file,
        # A key named after a secret has a secret's name there, and no value.
        sections=json.loads(redacted_text(json.dumps(document.sections, default=str))),
        at_s=case.at_s,
        overdue=overdue,
        calls=calls,
        definitions=used,
        state=None if case.state is None else _plain_state(case.state),
        why_no_state=why_no_state,
    )


def software_namespaces(stack: Stack) -> tuple[str, ...]:
    """The namespaces with pods of the stack's software and without jobs, whose logs are their owners' business."""
    homes = {*stack.namespaces, *(release.namespace for release in stack.plan.releases)}
    return tuple(sorted(homes - set(stack.jobs_namespaces) - {"kube-system", "default"}))


def container_logs(bundle: Bundle, stack: Stack, logs: Logs) -> dict[str, str]:
    """The end of the log of each container of the stack's pods, by its file's name; those that are not ready first."""
    cluster, found = bundle.cluster, dict[str, str]()
    places = [
        (is_true(pod, "Ready"), namespace, name_of(pod), str(entry.get("name")))
        for namespace in software_namespaces(stack)
        for pod in cluster.items(api_path("v1", "pods", namespace))
        for key in ("initContainers", "containers")
        for entry in field(pod, "spec", key) or ()
    ]
    for _, namespace, pod, container in sorted(places, key=lambda place: place[0])[:MOST_LOGS]:
        try:
            text = logs(namespace, pod, container)
        except NotAllowed as error:
            text = f"not read: {error}"
        if text:
            found[f"logs/{namespace}/{pod}/{container}.log"] = redacted_text(text)[-LOG_BYTES:]
    return found


def write(file: Path, bundle: Bundle, report: str, logs: Mapping[str, str]) -> tuple[str, ...]:
    """Write a bundle, readable by its owner alone, and give the lines that say what is in it.

    Raises:
        OSError: the file cannot be written.
    """
    entries = {
        _CONTENT: bundle.model_dump_json(),
        "plan.txt": report,
        **logs,
    }
    objects = sum(len(field(call.answer, "items") or (1,)) for call in bundle.calls.values() if call.answer)
    refused = sum(call.refused is not None for call in bundle.calls.values())
    lines = (
        f"bundle of stack {bundle.stack}, read by gpu-fabric {bundle.program}",
        f"  {_CONTENT}: the stack file's sections, {objects} objects of {len(bundle.calls)} requests"
        + (f" ({refused} refused)" if refused else "")
        + (", Pulumi's state with the names of its resources" if bundle.state is not None else ", no state of Pulumi"),
        "  plan.txt: the plan as text",
        f"  logs: {len(logs)} containers, of each at most {LINES} lines",
        "removed: data of Secrets, values of Helm's charts and of variables whose names are those of secrets, tokens, "
        "private keys and logins in texts. Look through it before you hand it on.",
    )
    file.touch(mode=0o600)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {_LIST: "".join(f"{line}\n" for line in lines), **entries}.items():
            archive.writestr(name, text)
    return lines


def read(file: Path) -> Bundle:
    """The bundle in a file.

    Raises:
        ValueError: it is not a bundle, or one of another version; the text says which.
        OSError: the file cannot be read.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            found = json.loads(archive.read(_CONTENT))
        if found.get("version") != _VERSION:
            raise ValueError(f"{file} is a bundle of version {found.get('version')}; this program reads {_VERSION}")
        return Bundle.model_validate(found)
    except (zipfile.BadZipFile, KeyError, AttributeError, json.JSONDecodeError, ValidationError) as error:
        raise ValueError(f"{file} is not a bundle of `gpu-fabric doctor --bundle`") from error


def _plain_state(state: StackState) -> Json:
    """What damages are judged by: which resources there are, and which operations were interrupted, on what."""

    def plain(resource: Json, *inputs: str) -> Json:
        kept: Json = {key: resource[key] for key in ("urn", "type", "id", "custom") if key in resource}
        found = resource.get("inputs") or {}
        return {**kept, "inputs": redacted({key: found[key] for key in inputs or found if key in found})}

    pending = [{**entry, "resource": plain(entry.get("resource") or {})} for entry in state.pending]
    named = [plain(entry, "name", "namespace") for entry in state.resources]
    return {"resources": named, "pending": pending, "locks": list(state.locks)}
