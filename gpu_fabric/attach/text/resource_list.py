"""Attach the fabric as a function of the KRM Functions Specification: a ResourceList in, the same with results out.

Kustomize and kpt run such functions. The specification is in the repository of kustomize:
cmd/config/docs/api-conventions/functions-spec.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.text.manifest_text import ManifestText, read_manifests, refusing_depth
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import Finding, InputError
from gpu_fabric.model import FrozenModel

_GROUP = "config.kubernetes.io/"
# Orchestrators write where an item comes from: as the specification has it, and as older releases did.
_PATHS = tuple(f"{prefix}{_GROUP}path" for prefix in ("internal.", ""))
_INDICES = tuple(f"{prefix}{_GROUP}index" for prefix in ("internal.", ""))
_SEVERITIES = {"error": "error", "warning": "warning"}


class FunctionConfig(FrozenModel):
    """The `data` of the ConfigMap that configures the function; lists are words with commas between them."""

    stack: str | None = None
    stack_file: str | None = None
    contract: str | None = None
    group: str = ""
    containers: str = ""
    namespace: str | None = None
    queue: str | None = None
    skip: str = ""
    claim: str | None = None
    rack: str | None = None
    libraries: str = ""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the fabrics, where the stack has several."""
        return _words(self.group)

    @property
    def options(self) -> AttachOptions:
        """The options of `attach`."""
        return AttachOptions(
            _words(self.containers),
            self.namespace,
            self.queue,
            _words(self.skip),
            stamped=True,
            claim=self.claim,
            rack=self.rack,
            libraries=_words(self.libraries),
        )


class Answer(NamedTuple):
    """What the function prints, and why the fabric was attached to nothing, if it was not."""

    text: str
    refused: AttachError | None


class ResourceList(NamedTuple):
    """A ResourceList as text; `content` is that of its one document."""

    manifests: ManifestText
    content: dict[str, Any]

    def config(self) -> FunctionConfig:
        """The function's configuration, which is empty where none is given.

        Raises:
            InputError: it is not a ConfigMap, or one with other keys.
        """
        given = self.content.get("functionConfig")
        if given is None:
            return FunctionConfig()
        known = [field.alias or name for name, field in FunctionConfig.model_fields.items()]
        data = given.get("data") or {} if isinstance(given, dict) and given.get("kind") == "ConfigMap" else None
        if not isinstance(data, dict):
            raise InputError("ATT030", f"functionConfig must be a ConfigMap, whose data may have {', '.join(known)}")
        wrong = [str(key) for key, value in data.items() if key not in known or not isinstance(value, str)]
        if wrong:
            message = f"functionConfig.data: wrong are {', '.join(wrong)}; texts may be given as {', '.join(known)}"
            raise InputError("ATT030", message)
        return FunctionConfig.model_validate(data)

    def attach(self, contract: FabricContract, options: AttachOptions) -> Answer:
        """The list with the fabric attached to the workloads among its items, and with results.

        If one of them is refused, the items stay as they are.

        Raises:
            InputError: the form of the text does not allow the edit, or it is nested too deeply.
        """
        items: Sequence[Any] = self.content["items"]
        try:
            with refusing_depth():
                attached = attach(items, contract, options)
        except AttachError as error:
            return Answer(self._with(items, error.problems), error)
        return Answer(self._with(attached.documents, attached.notes), None)

    def _with(self, items: Sequence[Any], said: Sequence[Finding]) -> str:
        results = [_result(one, self.content["items"]) for one in said]
        content = {key: value for key, value in self.content.items() if key != "results"} | {"items": list(items)}
        return self.manifests.write([content | {"results": results} if results else content])


def read_resource_list(text: str) -> ResourceList:
    """The ResourceList in a text.

    Raises:
        InputError: the text is none.
    """
    manifests = read_manifests(text)
    content = manifests.documents[0] if len(manifests.documents) == 1 else None
    if (
        not isinstance(content, dict)
        or content.get("kind") != "ResourceList"
        or not str(content.get("apiVersion")).startswith(_GROUP)
        or not isinstance(content.get("items", []), list)
    ):
        raise InputError("ATT030", "no ResourceList of config.kubernetes.io with a list of items")
    return ResourceList(manifests, {**content, "items": content.get("items") or []})


def _result(said: Finding, items: Sequence[Any]) -> dict[str, Any]:
    remedy = f"; {said.remedy}" if said.remedy else ""
    result: dict[str, Any] = {
        "message": f"{said.message}{remedy}",
        "severity": _SEVERITIES.get(said.severity, "info"),
        "tags": {"rule": said.id},
    }
    item = items[said.document - 1] if said.document else None
    if not isinstance(item, dict):
        return result
    metadata = _mapping(item, "metadata")
    reference = {"apiVersion": item.get("apiVersion"), "kind": item.get("kind"), "name": metadata.get("name")}
    if all(isinstance(value, str) for value in reference.values()):
        if isinstance(metadata.get("namespace"), str):
            reference["namespace"] = metadata["namespace"]
        result["resourceRef"] = reference
        if said.path:
            result["field"] = {"path": said.path}
    annotations = _mapping(metadata, "annotations")
    if path := next((annotations[key] for key in _PATHS if annotations.get(key)), None):
        index = next((str(annotations[key]) for key in _INDICES if annotations.get(key) is not None), "0")
        result["file"] = {"path": path, "index": int(index) if index.isdecimal() else 0}
    return result


def _mapping(content: dict[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key)
    return value if isinstance(value, dict) else {}


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.replace("\n", ",").split(",") if word.strip())
