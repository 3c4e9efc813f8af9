"""`gpu-fabric:upgrade`: how nodes are changed where a change stops what runs on them, a few at a time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpu_fabric.base.grammar import ImageReference, LineText
from gpu_fabric.model import FrozenModel


class NodeHookSpec(FrozenModel):
    """A command that each node's wave runs on the node once no job is left there, such as a firmware's update.

    It runs in a privileged pod on the host's network, with the host's root at /host. Another image or command is
    another change, which comes to every node again.
    """

    image: ImageReference = Field(description="image with the command")
    command: Annotated[tuple[LineText, ...], Field(min_length=1, max_length=100)] = Field(
        description="the command with its arguments; it has run once it ends with status 0, and may run again after an "
        "interruption, so it must do nothing where nothing is to be done"
    )


class UpgradeSpec(FrozenModel):
    """Waves: each node is cordoned, its jobs end, it is changed, proves its fabric, and takes jobs again."""

    nodes: int = Field(default=1, ge=1, le=1000, description="how many nodes are changed at a time")
    percent: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="how many percent of the nodes are changed at a time, rounded down and at least one, in place of "
        "`nodes`",
    )
    job_minutes: int = Field(
        default=60, ge=0, le=20160, description="how long a wave waits for the jobs on a cordoned node to end"
    )
    when_jobs_remain: Literal["stop", "evict"] = Field(
        default="stop",
        description="what happens to jobs that still run then: `stop` ends the upgrade at this node and leaves them; "
        "`evict` asks Kubernetes to evict their pods, which heeds PodDisruptionBudgets",
    )
    node_minutes: int = Field(
        default=60,
        ge=1,
        le=1440,
        description="how long the change of a node and the proof of its fabric may take, without the wait for jobs",
    )
    action: Literal["continue", "hold"] = Field(
        default="continue",
        description="`continue` changes the nodes that need it, and tries a node again at which an upgrade stopped; "
        "`hold` leaves every node as it is",
    )
    hook: NodeHookSpec | None = Field(default=None, description="a command to run on each node while it has no jobs")
    machines: bool = Field(
        default=False,
        description="whether waves also replace machines of managed pools at Oracle whose Kubernetes version is older "
        "than their pool's, or whose image is another than its pool's: by the OCI command line of the machine where "
        "the stack runs",
    )

    from_manager: Literal["network-operator", "dranet"] | None = Field(
        default=None,
        description="the manager from which waves take each node to `fabric.manager`; written and brought up before "
        "`fabric.manager` changes, and taken out once all nodes have changed",
    )

    def at_a_time(self, nodes: int) -> int:
        """How many of so many nodes are changed at a time."""
        return self.nodes if self.percent is None else max(1, nodes * self.percent // 100)
