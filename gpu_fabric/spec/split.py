"""`gpu-fabric:split`: whether a stack creates everything, only the cluster, or what runs on another stack's cluster."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from gpu_fabric.base.grammar import Spelled
from gpu_fabric.model import FrozenModel

Part = Literal["all", "cluster", "platform"]
"""The part that a stack creates."""

StackName = Annotated[
    str,
    Spelled(
        r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}",
        "name of a stack",
        "that of its file Pulumi.NAME.yaml, without organization and project",
    ),
]
_NEEDED = "part platform uses another stack's cluster; write clusterStack: the name of the stack that creates it"


class SplitSpec(FrozenModel):
    """Divides the resources between two stacks: one creates the cluster, the other everything on it."""

    part: Part = Field(
        default="all",
        description="`all`: one stack creates everything; `cluster`: network, identity, cluster and pools alone; "
        "`platform`: all the rest, on the cluster of clusterStack, whose file has the section `cluster`",
    )
    cluster_stack: StackName | None = Field(
        default=None, description="part platform only: the stack of this project that creates the cluster"
    )
    organization: StackName | None = Field(
        default=None, description="part platform only: organization of the cluster stack; by default this stack's"
    )

    @field_validator("cluster_stack", "organization")
    @classmethod
    def _only_a_platform_refers(cls, value: str | None, info: ValidationInfo) -> str | None:
        part = info.data.get("part", "platform")
        if part != "platform" and value is not None:
            raise ValueError(f"a stack of part {part} refers to no other; take it out, or write part: platform")
        return value

    @model_validator(mode="after")
    def _a_platform_names_its_cluster(self) -> Self:
        if self.part == "platform" and self.cluster_stack is None:
            raise ValueError(_NEEDED)
        return self
