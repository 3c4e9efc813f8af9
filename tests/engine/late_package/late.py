"""A component whose resources are registered, and whose wait then fails, as that for nodes does."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pulumi

from components.engine.waiting import NodesError


@dataclass
class LateArgs:
    """What the wait says."""

    complaint: str
    """The text."""


class Late(pulumi.ComponentResource):
    """Registers a child, which comes after a wait that fails."""

    ready: pulumi.Output[bool]

    def __init__(self, name: str, args: LateArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-fabric:index:Late", name, None, opts)

        async def wait(_: Any) -> pulumi.Resource:
            await asyncio.sleep(0.1)
            raise NodesError(args.complaint)

        after = pulumi.ResourceOptions(parent=self, depends_on=[self.urn.apply(wait)])
        child = pulumi.ComponentResource("example:index:Child", f"{name}-child", None, after)
        self.ready = child.urn.apply(lambda _: True)
        self.register_outputs({"ready": self.ready})
