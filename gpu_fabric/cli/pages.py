"""`gpu-fabric schema` and `reference`: generated pages, independent of a stack."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from pydantic import TypeAdapter

from gpu_fabric.changes.manager_change import ManagerChange
from gpu_fabric.changes.model import JudgedDiff
from gpu_fabric.changes.review import Review
from gpu_fabric.changes.upgrade import Route
from gpu_fabric.cli.conversation import Refused, refuse
from gpu_fabric.cli.lint import Linted
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.cluster import ClusterContract
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
from gpu_fabric.report.pages.references import (
    alarms_reference,
    clouds_reference,
    configuration_reference,
    libraries_reference,
    nccl_reference,
    rules_reference,
    support_reference,
    symptoms_reference,
)
from gpu_fabric.report.pages.rule_explanation import ExplainedRule
from gpu_fabric.report.pages.schemas import DIALECT, OutputSchema, published_schema, schema_text, stack_file_schema
from gpu_fabric.report.pages.shapes import ListedShape
from gpu_fabric.report.pages.symptom_explanation import ExplainedText
from gpu_fabric.spec.places import printable
from gpu_fabric.symptoms import Symptom

_PAGES = {
    "configuration": configuration_reference,
    "rules": rules_reference,
    "support": support_reference,
    "nccl": nccl_reference,
    "libraries": libraries_reference,
    "clouds": clouds_reference,
    "alarms": alarms_reference,
    "symptoms": symptoms_reference,
}


def schema(
    of: Annotated[
        Literal["stack", "contract", "cluster", "output"],
        typer.Argument(help="what a user may write, the output `fabric` or `cluster`, or what a command prints"),
    ],
    command: Annotated[
        str | None, typer.Argument(help="with output: the command whose `--format json` it is, such as plan")
    ] = None,
) -> None:
    """Print a JSON Schema, with a definition a line."""
    if (of == "output") != (command is not None):
        refuse("schema output COMMAND: name the command, such as plan; the other schemas have no command")
    if command is not None:
        # Here, since it has the records of every command.

        if command not in OUTPUTS:
            refuse(f"{printable(command)} prints no JSON of its own; one of: {', '.join(OUTPUTS)}")
        print_document(schema_text(command_schema(command)))
    elif of == "stack":
        print_document(schema_text(stack_file_schema()))
    else:
        print_document(schema_text(published_schema(FabricContract if of == "contract" else ClusterContract, of)))


def reference(
    of: Annotated[
        Literal["configuration", "rules", "support", "nccl", "libraries", "clouds", "alarms", "symptoms"],
        typer.Argument(
            help="every key, every rule, possible combinations, settings of NCCL, of other libraries, profiles of "
            "clouds, every alarm, or every error text"
        ),
    ] = "configuration",
) -> None:
    """Print a reference page as Markdown."""
    print_document(_PAGES[of]())


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
