"""`gpu-fabric:split`: whether a stack makes all, the cluster alone, or what lies on another stack's cluster."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator

from fabric.model import FrozenModel

Part = Literal["all", "cluster", "platform"]
"""What of a whole a stack makes."""

StackName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
_NEEDED = "part platform lies on another stack's cluster; write clusterStack: the name of the stack that makes it"


class Split(FrozenModel):
    """The same as two stacks: one makes the cluster, the other all that lies on it."""

    part: Part = Field(
        default="all",
        description="`all`: one stack makes everything; `cluster`: network, identity, cluster and pools alone; "
        "`platform`: all the rest, on the cluster of clusterStack, whose file has the section `cluster`",
    )
    cluster_stack: StackName | None = Field(
        default=None,
        description="of part platform: the stack of this project that makes the cluster",
    )
    organization: StackName | None = Field(
        default=None,
        description="of part platform: who has the cluster's stack; by default whoever has this stack",
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
