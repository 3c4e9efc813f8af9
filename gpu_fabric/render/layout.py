"""Convert a rendered plan to files, and files back to a rendered plan.

YAML is for users, JSON for tools, CSV for tables; equal plans give equal files.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

import yaml

from gpu_fabric.base.yaml_files import LineDumper
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.render.model import (
    VERSION,
    RefusedPlan,
    RenderedFabric,
    RenderedPlan,
    RenderedRail,
    RenderedResource,
    RenderedShare,
)
from gpu_fabric.render.places import (
    CLOUD,
    CONTRACT,
    DECISIONS,
    FABRICS,
    INDEX,
    NCCL,
    PROOF,
    REPORT,
    rail_path,
    values_path,
)
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.dynamic import KEPT_OBJECTS

WRITTEN_BY = "gpu-fabric plan --out"
"""The value in the index that identifies a folder as a rendered plan."""

TOOL = "as"
"""The key of the index that names the tool which the files of a folder are for; a rendered plan does not have it."""

# The key of the index that marks the folder of a refused stack.
REFUSED = "refused"
# The fields of a resource in the index.
_INDEXED = {"name", "component", "type", "identity", "provider", "file", "handling", "loss"}


def files(plan: RenderedPlan, progress: Progress = NO_PROGRESS) -> dict[str, str]:
    """Every file by its path in the folder."""
    found: dict[str, str] = {}
    for resource in progress.each("formatting", plan.resources, "resources"):
        found |= _resource_files(resource)
    for rail in plan.rails:
        found[rail_path(rail.rail)] = table_text(RenderedShare._fields, rail.shares)
    for fabric in plan.fabrics:
        place = f"{FABRICS}/{fabric.name}"
        for rail in fabric.rails:
            found[f"{place}/{rail_path(rail.rail)}"] = table_text(RenderedShare._fields, rail.shares)
        found[f"{place}/{PROOF}"], found[f"{place}/{CONTRACT}"] = json_text(fabric.proof), json_text(fabric.contract)
        found[f"{place}/{DECISIONS}"] = yaml_text(fabric.facts)
    found |= plan.nccl_files
    # A cluster stack has neither.
    if plan.proof:
        found[PROOF] = json_text(plan.proof)
    if plan.contract:
        found[CONTRACT] = json_text(plan.contract)
    found[DECISIONS] = yaml_text(plan.decisions)
    found[REPORT] = plan.report
    found[INDEX] = json_text(_index(plan, sorted(found)))
    return dict(sorted(found.items()))


def stacks_index(paths: Iterable[str]) -> dict[str, str]:
    """The index of a folder with the files of several stacks; it allows the whole folder to be overwritten."""
    return {INDEX: json_text({"writtenBy": WRITTEN_BY, "schemaVersion": VERSION, "files": sorted(paths)})}


def refused_files(error: ConfigurationError) -> dict[str, str]:
    """The files of the folder of a refused stack."""
    refused = RefusedPlan(file=error.file, findings=error.located)
    document = {
        "writtenBy": WRITTEN_BY,
        "schemaVersion": VERSION,
        "files": [],
        REFUSED: refused.model_dump(mode="json", by_alias=True),
    }
    return {INDEX: json_text(document)}


def plan_of(found: Mapping[str, str]) -> RenderedPlan:
    """The rendered plan that the files contain.

    Raises KeyError if a file is missing; ValueError or yaml.YAMLError if one is not in the written form.
    """
    index = json.loads(found[INDEX])
    return RenderedPlan.model_validate(
        {
            **{key: index[key] for key in ("schemaVersion", "stack", "releaseLine", "waits", "findings")},
            # Folders of an earlier version have none of these.
            **{key: index.get(key, ()) for key in ("acknowledgements", "steps", "figures")},
            "resources": [{**entry, "properties": _properties(entry, found)} for entry in index["resources"]],
            "decisions": yaml_value(found[DECISIONS]),
            "proof": json.loads(found[PROOF]) if PROOF in found else {},
            "rails": [
                RenderedRail(**entry, shares=_shares(found[rail_path(entry["rail"])])) for entry in index["rails"]
            ],
            "ncclFiles": {path: found[path] for path in index["files"] if path.startswith(f"{NCCL}/")},
            "contract": json.loads(found[CONTRACT]) if CONTRACT in found else {},
            "report": found[REPORT],
            "fabrics": [_fabric(entry, found) for entry in index.get("fabrics", ())],
        }
    )


def _fabric(entry: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    place = f"{FABRICS}/{entry['name']}"
    return {
        **{key: entry[key] for key in ("name", "pools", "allocation")},
        "proof": json.loads(found[f"{place}/{PROOF}"]),
        "contract": json.loads(found[f"{place}/{CONTRACT}"]),
        "facts": yaml_value(found[f"{place}/{DECISIONS}"]),
        "rails": [
            RenderedRail(**rail, shares=_shares(found[f"{place}/{rail_path(rail['rail'])}"])) for rail in entry["rails"]
        ],
    }


def _index(plan: RenderedPlan, paths: list[str]) -> dict[str, Any]:
    return {
        "writtenBy": WRITTEN_BY,
        "files": paths,
        "rails": _rails(plan.rails),
        **({"fabrics": [_fabric_entry(fabric) for fabric in plan.fabrics]} if plan.fabrics else {}),
        "resources": [_entry(resource) for resource in plan.resources],
        **plan.model_dump(
            mode="json",
            by_alias=True,
            include={
                *("schema_version", "stack", "release_line", "waits", "steps", "findings", "acknowledgements"),
                "figures",
            },
        ),
    }


def _rails(rails: Iterable[RenderedRail]) -> list[dict[str, Any]]:
    return [{"rail": rail.rail, "pool": rail.pool} for rail in rails]


def _fabric_entry(fabric: RenderedFabric) -> dict[str, Any]:
    entry = {"name": fabric.name, "pools": fabric.pools, "allocation": fabric.allocation}
    return {**entry, "rails": _rails(fabric.rails)}


def _entry(resource: RenderedResource) -> dict[str, Any]:
    """A resource in the index, without default values."""
    entry: dict[str, Any] = resource.model_dump(mode="json", by_alias=True, include=_INDEXED, exclude_defaults=True)
    if resource.type == KEPT_OBJECTS:
        # Its file contains only the objects, in the form that other tools read.
        entry["properties"] = {key: value for key, value in resource.properties.items() if key != "objects"}
    return entry


def _resource_files(resource: RenderedResource) -> dict[str, str]:
    properties, file = resource.properties, resource.file
    if resource.type == RELEASE:
        rest = {key: value for key, value in properties.items() if key != "values"}
        return {file: yaml_text(rest), values_path(file): yaml_text(properties["values"])}
    if resource.type == KEPT_OBJECTS:
        objects = properties["objects"]
        return {file: line_documents(objects[kind][name] for kind in sorted(objects) for name in sorted(objects[kind]))}
    if file.startswith(f"{CLOUD}/"):
        handling = resource.handling.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return {file: yaml_text({"type": resource.type, "handling": handling, "properties": properties})}
    return {file: yaml_text(properties)}


def _properties(entry: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    """The properties of a resource of the index, from its files."""
    file = entry["file"]
    if entry["type"] == KEPT_OBJECTS:
        objects: dict[str, dict[str, Any]] = {}
        for document in (json.loads(line) for line in found[file].splitlines() if line != "---"):
            objects.setdefault(document["kind"], {})[document["metadata"]["name"]] = document
        return {**entry["properties"], "objects": objects}
    content: dict[str, Any] = yaml_value(found[file])
    if entry["type"] == RELEASE:
        return {**content, "values": yaml_value(found[values_path(file)])}
    properties: dict[str, Any] = content["properties"] if file.startswith(f"{CLOUD}/") else content
    return properties


def _shares(text: str) -> tuple[RenderedShare, ...]:
    rows = list(csv.reader(StringIO(text)))[1:]
    return tuple(RenderedShare(int(number), *texts) for number, *texts in rows)


# Lines are never folded: a change of one word changes one line.
_NO_FOLDING = 1 << 30


def yaml_text(value: Any) -> str:
    """A YAML document with sorted keys."""
    text: str = yaml.dump(value, Dumper=LineDumper, sort_keys=True, allow_unicode=True, width=_NO_FOLDING)
    return text


def yaml_value(text: str) -> Any:
    """The value of a YAML document. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def json_text(value: Any) -> str:
    """A JSON document with sorted keys."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def line_documents(values: Iterable[Any]) -> str:
    """YAML documents of one line each: an added, removed or changed object is an added, removed or changed line."""
    return "".join(f"---\n{json.dumps(value, sort_keys=True, ensure_ascii=False)}\n" for value in values)


def table_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A CSV table with a heading."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()
