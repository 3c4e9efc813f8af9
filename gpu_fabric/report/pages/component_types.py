"""The types of public components' arguments and outputs as Python source, from the schemas of stack files and outputs.

`make docs` writes `components/args.py` and `components/outputs.py` with it. They are source, since editors and type
checkers read it, and since Pulumi infers the schema for other languages from it, with the text below each field as its
description.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from pydantic.alias_generators import to_snake

from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.cluster import ClusterContract
from gpu_fabric.contract.verification import VerificationOutcome
from gpu_fabric.plan.addresses.plan import AddressPlan
from gpu_fabric.report.pages.schemas import Json, output_schema
from gpu_fabric.spec.stack import StackSpec

_WIDTH = 119
_SCALARS = {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}
_NAMES = {"AddressRangesSpec": "Ranges", "Hardware": "Shape", "PoolSpec": "GpuPool"} | {
    # Components have these names, and other arguments.
    f"{name}Spec": f"{name}Settings"
    for name in ("GpuOperator", "HostPreparation", "Multus", "NetworkOperator", "Spiderpool", "Verification")
}
# What only stack files have: the provider is chosen by the type, and a component's secrets are arguments.
_LEFT_OUT = {
    "DoksClusterSpec": {"provider"},
    "OkeClusterSpec": {"provider"},
    "OkeKubeconfigSpec": {"tokenSecret"},
}
_ARGUMENTS = (
    *("PoolSpec", "AddressRangesSpec", "CniFoldersSpec", "Hardware", "FabricSpec", "FurtherFabricSpec", "SoftwareSpec"),
    "VerificationSpec",
    "MonitoringSpec",
    *("DoksClusterSpec", "OkeClusterSpec"),
)
_OUTPUTS = (FabricContract, AddressPlan, VerificationOutcome, ClusterContract)
# Kubernetes' own kind, whose fields the models do not describe.
_KUBERNETES = {
    "key": "key of the taint",
    "operator": "whether the key alone decides (`Exists`), or also the value (`Equal`)",
    "value": "value of the taint",
    "effect": "effect of the taint; every one where it is left out",
    "tolerationSeconds": "seconds that a running pod stays with the effect NoExecute; for ever where left out",
}
_CREDENTIALS = {
    "DoksClusterSpec": {
        "token: pulumi.Input[str] | None = None": "API token of DigitalOcean, which is kept as a secret; an Output of "
        "another resource works. Default: none, and a provider of the package digitalocean is required in the options.",
    },
    "OkeClusterSpec": {
        "settings: dict[str, pulumi.Input[str]] | None = None": "Settings of the provider `oci` by their names, such "
        "as tenancyOcid and privateKey, which are kept as secrets. Default: a provider of the package oci in the "
        "options, or what the provider itself finds, such as a profile of the OCI command line.",
        "kubeconfig_token: pulumi.Input[str] | None = None": "Token of a service account in the cluster, for a "
        "kubeconfig of mode token, which is kept as a secret. Default: none.",
    },
}
_HEADS = {
    "arguments": '''"""Types of the public components' arguments, by the keys of stack files in Python's spelling.

Written by `make docs` from the models of stack files. Names within the texts are spelled as in stack files.
"""

from dataclasses import dataclass
from typing import Any

import pulumi
''',
    "outputs": '''"""Types of the public components' outputs: what the mappings hold. Written by `make docs`."""

from typing import Any, NotRequired, TypedDict
''',
}

Kind = Literal["arguments", "outputs"]


class _Field(NamedTuple):
    name: str
    type: str
    optional: bool
    text: str


class _Module:
    """The classes of one module, each after those that its fields name."""

    def __init__(self, kind: Kind, definitions: Mapping[str, Json]) -> None:
        self._kind, self._definitions = kind, definitions
        self.classes: dict[str, str] = {}

    def add(self, definition: str) -> str:
        """The name of a definition's class, which is written if it is not yet."""
        name = _NAMES.get(definition, definition.removesuffix("Spec")) + ("Args" if self._kind == "arguments" else "")
        if name not in self.classes:
            schema = self._definitions[definition]
            fields = sorted(self._fields(definition, schema), key=lambda field: field.optional)
            credentials = _CREDENTIALS.get(definition, {}) if self._kind == "arguments" else {}
            # Those that must be given come first.
            place = next((n for n, field in enumerate(fields) if field.optional), len(fields))
            lines = [self._field(field) for field in fields]
            lines[place:place] = [f"    {field}\n{_docstring(text)}" for field, text in credentials.items()]
            head = "@dataclass\nclass {}:" if self._kind == "arguments" else "class {}(TypedDict):"
            # The rest is about the model's fields, which have texts of their own.
            doc = _docstring(" ".join(schema["description"].partition("\n\n")[0].split()))
            self.classes[name] = f"{head.format(name)}\n{doc}\n\n" + "\n".join(lines)
        return name

    def _field(self, field: _Field) -> str:
        written = field.type
        if field.optional:
            written = f"{written} | None = None" if self._kind == "arguments" else f"NotRequired[{written}]"
        return f"    {field.name}: {written}\n{_docstring(field.text)}"

    def _fields(self, definition: str, schema: Json) -> Iterator[_Field]:
        required = schema.get("required", ())
        for key, value in schema["properties"].items():
            if key in _LEFT_OUT.get(definition, ()):
                continue
            optional = key not in required
            name = to_snake(key) if self._kind == "arguments" else key
            described = {"description": _KUBERNETES[key], **value} if definition == "Toleration" else value
            yield _Field(name, self._type(value), optional, self._text(described, optional))

    def _type(self, schema: Json) -> str:
        if "$ref" in schema:
            definition = _referred(schema)
            return self.add(definition) if "properties" in self._definitions[definition] else "Any"
        if "anyOf" in schema:
            # Where one word or one name may stand in the place of a list or an object, a program writes the latter.
            return max((self._type(part) for part in _others(schema)), key=lambda text: (text[0].isupper(), len(text)))
        match schema["type"]:
            case "array":
                items = schema.get("items") or schema["prefixItems"][0]
                return f"list[{self._type(items)}]"
            case "object":
                values = schema.get("additionalProperties") or next(iter(schema.get("patternProperties", {}).values()))
                return f"dict[str, {self._type(values) if isinstance(values, dict) else 'Any'}]"
            case scalar:
                return _SCALARS[str(scalar)]

    def _text(self, schema: Json, optional: bool) -> str:
        """A field's description in sentences: what it is, what it may be, and the default."""
        described = str(schema.get("description") or self._first_sentence(schema)).strip()
        if not described:
            raise ValueError(f"a field without a description: {schema}")
        if self._kind == "outputs":
            return _sentence(described)
        described, default = _split_default(described)
        default = default.replace("the stack's", "the component's")
        limits = [_sentence(entry) for entry in _limits(schema) if entry]
        if not optional:
            return " ".join([_sentence(described), *limits])
        return " ".join([_sentence(described), *limits, f"Default: {default or _default(schema)}."])

    def _first_sentence(self, schema: Json) -> str:
        for part in (schema, *_others(schema)):
            if "$ref" in part:
                text = " ".join(str(self._definitions[_referred(part)]["description"]).split())
                return text.partition(". ")[0].rstrip(".")
        return ""


def component_types(kind: Kind) -> str:
    """The source of one of the two modules."""
    module = _Module(kind, _definitions(kind))
    for name in _ARGUMENTS if kind == "arguments" else (model.__name__ for model in _OUTPUTS):
        module.add(name)
    return "\n\n".join([_HEADS[kind], *(f"{text}\n" for text in module.classes.values())]).rstrip() + "\n"


def _definitions(kind: Kind) -> dict[str, Json]:
    if kind == "arguments":
        # An argument that is not given is null in some languages.
        found: dict[str, Json] = StackSpec.model_json_schema(by_alias=True)["$defs"]
        return found
    schemas = {model.__name__: output_schema(model) for model in _OUTPUTS}
    inner = {key: part for schema in schemas.values() for key, part in schema.get("$defs", {}).items()}
    return {**inner, **schemas}


def _referred(schema: Json) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _others(schema: Json) -> list[Json]:
    """The parts of a union, without null."""
    return [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]


def _limits(schema: Json) -> Iterator[str]:
    """What a value may be, unless its description lists all of it."""
    for part in (schema, *_others(schema)):
        if (words := part.get("enum")) and not all(f"`{word}`" in schema.get("description", "") for word in words):
            yield f"one of {', '.join(map(str, words))}"
        least, most = part.get("minimum"), part.get("maximum")
        if least is not None and most is not None:
            yield f"from {least} to {most}"
        elif least is not None:
            yield f"at least {least}"


def _split_default(text: str) -> tuple[str, str]:
    """A description without its clause about the default, and what the clause says."""
    found = re.search(r"(?:[;,.] )(?:and )?by default ([^;.]*(?:\.\S[^;.]*)*)(?:; |\. )?", text, re.IGNORECASE)
    if found is None:
        return text, ""
    rest = text[found.end() :]
    return text[: found.start()] + (f"; {rest}" if rest else ""), found[1].strip()


def _default(schema: Json) -> str:
    match schema.get("default"):
        case None if "default" not in schema or _others(schema) or "$ref" in schema:
            return "none"
        case bool(value):
            return "yes" if value else "no"
        case [] | None:
            return "none"
        case [{"name": str(name)}]:
            return f"the namespace {name} alone"
        case dict(value):
            return "the defaults of its fields" if value else "none"
        case value:
            return str(value) or "empty"


def _sentence(text: str) -> str:
    text = text.strip().rstrip(".;,")
    return f"{text[0].upper()}{text[1:]}."


def _docstring(text: str) -> str:
    lines = textwrap.wrap(f'"""{text}', _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    if len(lines[-1]) + 3 > _WIDTH - 4:
        # The quotes stay with the last word.
        *_, last = lines[-1].split(" ")
        lines[-1:] = [lines[-1].removesuffix(f" {last}"), last]
    return textwrap.indent("\n".join(lines) + '"""', "    ")


if __name__ == "__main__":
    print(component_types("arguments" if sys.argv[1] == "args" else "outputs"), end="")
