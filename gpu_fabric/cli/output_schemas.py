"""The JSON Schema of what each command prints with `--format json`, made from the records that are printed."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from gpu_fabric.changes.manager_change import ManagerChange
from gpu_fabric.changes.model import JudgedDiff
from gpu_fabric.changes.review import Review
from gpu_fabric.changes.upgrade import Route
from gpu_fabric.cli.conversation import Refused
from gpu_fabric.cli.lint import Linted
from gpu_fabric.image.judging import CheckedImage
from gpu_fabric.live.text import Damages, Differences
from gpu_fabric.nccl.verdict.report import Verdict
from gpu_fabric.plan import Plan
from gpu_fabric.plan.clouds.doks import DoksResources
from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Record
from gpu_fabric.plan.images import ImageList
from gpu_fabric.plan.plan import OF_THE_PLATFORM, PlannedCluster
from gpu_fabric.report.pages.explanation import ExplainedVariable
from gpu_fabric.report.pages.key_explanation import ExplainedKey
from gpu_fabric.report.pages.rule_explanation import ExplainedRule
from gpu_fabric.report.pages.schemas import DIALECT, OutputSchema
from gpu_fabric.report.pages.shapes import ListedShape
from gpu_fabric.report.pages.symptom_explanation import ExplainedText
from gpu_fabric.symptoms import Symptom


class _Cluster(PlannedCluster):
    """A cluster with its cloud's resources, of which a plan names the type for its own cloud alone."""

    doks: DoksResources | None
    oke: OkeResources | None


class _WholePlan(Plan):
    """A plan on whatever cloud."""

    cluster: _Cluster


OUTPUTS: dict[str, Any] = {
    "plan": _WholePlan,
    "lint": Linted,
    "verdict": Verdict,
    "images": ImageList,
    "image-check": CheckedImage,
    "diff": JudgedDiff,
    "review": Review,
    "shapes": ListedShape | dict[str, ListedShape],
    "preflight": Differences,
    "drift": Differences,
    "doctor": Damages,
    "upgrade": Route | ManagerChange,
    "explain": ExplainedRule | ExplainedVariable | list[ExplainedKey] | Symptom | ExplainedText,
}
"""What a command prints, by its name; in place of each, `Refused` where a stack file is refused."""


def command_schema(command: str) -> dict[str, Any]:
    """The schema of a command's output. It allows no other keys than this version's.

    Of a cloud's resource that is one of several classes it has what all classes have: the others are arguments of the
    cloud's SDK.

    Raises:
        KeyError: no command of this name prints JSON of its own.
    """
    schema = TypeAdapter[Any](OUTPUTS[command] | Refused).json_schema(
        by_alias=True, mode="serialization", schema_generator=OutputSchema
    )
    definitions = schema.get("$defs", {})
    if Record.__name__ in definitions:
        definitions[Record.__name__]["additionalProperties"] = True
    if (plan := definitions.get(_WholePlan.__name__)) is not None:
        # A stack that creates a cluster alone says nothing of these.
        own = {field.alias for name, field in Plan.model_fields.items() if name in OF_THE_PLATFORM}
        plan["required"] = [key for key in plan["required"] if key not in own]
    return {"$schema": DIALECT, "title": f"gpu-fabric {command} --format json", **schema}
