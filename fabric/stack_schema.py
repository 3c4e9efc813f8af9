"""The JSON Schema of a stack file as a whole, for editors: what stands under `config:` in `Pulumi.<stack>.yaml`."""

from __future__ import annotations

from typing import Any

from fabric.spec import StackSpec
from fabric.spec.places import NAMESPACE


def stack_file_schema() -> dict[str, Any]:
    """The schema; further keys of the namespace may only be secrets, and other namespaces are left alone."""
    spec = StackSpec.model_json_schema(by_alias=True)
    sections = {key: value for key, value in spec["properties"].items() if key != "name"}
    required = [key for key in spec["required"] if key in sections]
    part = {"properties": {"part": {"const": "platform"}}, "required": ["part"]}
    split, cluster = f"{NAMESPACE}:split", f"{NAMESPACE}:cluster"
    secret = {"type": "object", "required": ["secure"], "properties": {"secure": {"type": "string"}}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpu-fabric stack file",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                # A platform's cluster is described in its cluster stack's file.
                "if": {"properties": {split: part}, "required": [split]},
                "then": {"properties": {cluster: False}},
                "else": {"required": [f"{NAMESPACE}:{key}" for key in required]},
                "properties": {f"{NAMESPACE}:{key}": value for key, value in sections.items()},
                "patternProperties": {f"^{NAMESPACE}:(?!({'|'.join(sections)})$)": secret},
            }
        },
        "$defs": spec["$defs"],
    }
