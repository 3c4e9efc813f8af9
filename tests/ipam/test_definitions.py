"""The definitions that the sandbox writes for Whereabouts and Multus: fields, types and names of the projects' own."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from ipam_programs import Programs

from sandbox.crds import crd_files

GROUPS = ("whereabouts.cni.cncf.io", "k8s.cni.cncf.io")
# Of each object, whether its definition names them or not.
OF_EVERY_OBJECT = {"apiVersion", "kind", "metadata"}


def spec_of(definition: Mapping[str, Any]) -> dict[str, Any]:
    """What the API server makes of a definition: scope, names, and the type of each field with what it requires."""
    (version,) = definition["spec"]["versions"]
    names = {"listKind": f"{definition['spec']['names']['kind']}List", **definition["spec"]["names"]}
    fields = dict(_fields(version["schema"]["openAPIV3Schema"], ""))
    return {"scope": definition["spec"]["scope"], "names": names, "version": version["name"], "fields": fields}


def _fields(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    # That an object has a spec at all, ours require and theirs leave open.
    yield path, (schema.get("type"), *sorted(schema.get("required", ()) if path else ()))
    for name, part in schema.get("properties", {}).items():
        if path or name not in OF_EVERY_OBJECT:
            yield from _fields(part, f"{path}.{name}")
    for key, end in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), Mapping):
            yield from _fields(schema[key], f"{path}{end}")


def test_each_definition_is_that_of_the_pinned_module(programs: Programs) -> None:
    theirs = [spec_of(yaml.safe_load(path.read_text(encoding="utf-8"))) for path in programs.definitions()]
    ours = {path.stem: spec_of(yaml.safe_load(text)) for path, text in crd_files() if path.name.startswith(GROUPS)}

    assert len(ours) == 4
    assert {name: spec for name, spec in ours.items() if spec not in theirs} == {}
