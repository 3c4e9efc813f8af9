"""The base of every typed Kubernetes object: strict input, camelCase output, one stable key order."""

import difflib
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from gpu_fabric.base.grammar import is_label_value
from gpu_fabric.k8s.field_types import SortedTexts

# Words that the Kubernetes API conventions capitalize inside a name (startIP, pKeyGUIDPoolRangeStart).
_WORDS = "API CIDR CNI CRD DNS GUID ID IDs IP IPs MAC MTU NIC PID QoS RP UID"
_CAPITALS = {word.lower(): word for word in _WORDS.split()}

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def api_name(snake: str) -> str:
    """The JSON name of a Python field: `per_node_block_size` -> `perNodeBlockSize`, `start_ip` -> `startIP`."""
    first, *rest = snake.split("_")
    return first + "".join(_CAPITALS.get(word, word.capitalize()) for word in rest)


def compact_json(value: object) -> str:
    """JSON for a string field of an object: sorted keys and no spaces, so that equal content is equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class KubernetesModel(BaseModel):
    """A frozen record that refuses unknown fields and accepts both the Python and the JSON name of a field."""

    # Validators are built at first use: a run uses a third of the models, and starts faster.
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=api_name, populate_by_name=True, defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _name_unknown_fields(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        aliases, fields = _aliases(cls), cls.model_fields
        for key in value:
            if key in aliases or key in fields:
                continue
            near = difflib.get_close_matches(str(key), aliases, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"unknown field {key!r} in {cls.__name__}: {hint}allowed: {', '.join(aliases)}")
        return value

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values by their JSON names, without None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


@cache
def _aliases(model: type[KubernetesModel]) -> list[str]:
    """The JSON names of a record's fields, in order."""
    return sorted(str(field.serialization_alias) for field in model.model_fields.values())


class ObjectMeta(KubernetesModel):
    """Name, namespace, labels and annotations; the last two are dumped in sorted order."""

    name: str
    namespace: str | None = None
    labels: SortedTexts | None = None
    annotations: SortedTexts | None = None

    @field_validator("name", "namespace")
    @classmethod
    def _dns_name(cls, value: str | None) -> str | None:
        if value is not None and (len(value) > 253 or not _NAME.fullmatch(value)):
            raise ValueError(
                f"{value!r} is not an object name: allowed are at most 253 lower-case letters, digits, '-' and '.', "
                "with a letter or digit at both ends"
            )
        return value

    @field_validator("labels")
    @classmethod
    def _label_values(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        for key, label in (value or {}).items():
            if not is_label_value(label):
                raise ValueError(
                    f"label {key}={label!r}: allowed are at most 63 letters, digits, '-', '_' and '.', "
                    "with a letter or digit at both ends"
                )
        return value


Scope = Literal["Namespaced", "Cluster"]


class KubernetesObject(KubernetesModel):
    """An object with apiVersion, kind and metadata; subclasses state the first two as class arguments.

    The kind is the class's name, and the plural follows from it, where no argument states another.
    """

    api_version: ClassVar[str]
    kind: ClassVar[str]
    plural: ClassVar[str]
    scope: ClassVar[Scope]

    metadata: ObjectMeta

    def __init_subclass__(
        cls, *, api_version: str, kind: str = "", plural: str = "", scope: Scope = "Namespaced"
    ) -> None:
        cls.api_version, cls.kind, cls.scope = api_version, kind or cls.__name__, scope
        cls.plural = plural or guessed_plural(cls.kind.lower())

    @model_validator(mode="after")
    def _namespace_fits_scope(self) -> Self:
        if self.scope == "Cluster" and self.metadata.namespace is not None:
            raise ValueError(f"{self.kind} {self.metadata.name} is cluster-scoped: leave metadata.namespace out")
        if self.scope == "Namespaced" and self.metadata.namespace is None:
            raise ValueError(f"{self.kind} {self.metadata.name} is namespaced: set metadata.namespace")
        return self

    @classmethod
    def group(cls) -> str:
        """The API group; empty for the core group."""
        return cls.api_version.rpartition("/")[0]

    def manifest(self) -> dict[str, Any]:
        """The object for the API server: apiVersion, kind, metadata, then the other fields in declared order."""
        body = self.to_dict()
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": body.pop("metadata"), **body}


def guessed_plural(kind: str) -> str:
    """The plural as Kubernetes guesses it (source: UnsafeGuessKindToResource of apimachinery's api/meta)."""
    if kind.endswith("s"):
        return f"{kind}es"
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
