"""`gpu-fabric:fabric.hostPreparation`: what this stack sets on the nodes themselves."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fabric.model import FrozenModel


class Lossless(FrozenModel):
    """RoCE without loss: which traffic class pauses instead of dropping, and how its packets are marked.

    Switches must have the same. A DSCP belongs to the priority of its block of eight.
    """

    priority: int = Field(default=5, ge=0, le=7, description="priority of RDMA traffic, the one with flow control")
    cnp_priority: int = Field(default=6, ge=0, le=7, description="priority of congestion notifications")
    dscp: int | None = Field(default=None, ge=0, le=63, description="mark of RDMA packets; by default 8 x priority")
    cnp_dscp: int | None = Field(
        default=None, ge=0, le=63, description="mark of congestion notifications; by default 8 x cnpPriority"
    )

    @property
    def marks(self) -> tuple[int, int]:
        """The two DSCP values: of RDMA packets, and of congestion notifications."""
        return (
            8 * self.priority if self.dscp is None else self.dscp,
            8 * self.cnp_priority if self.cnp_dscp is None else self.cnp_dscp,
        )

    @model_validator(mode="after")
    def _marks_fit(self) -> Self:
        if self.priority == self.cnp_priority:
            raise ValueError(f"priority and cnpPriority are both {self.priority}; choose two, such as 5 and 6")
        for key, mark, priority in zip(
            ("dscp", "cnpDscp"), self.marks, (self.priority, self.cnp_priority), strict=True
        ):
            if mark // 8 != priority:
                first = 8 * priority
                raise ValueError(f"{key} {mark} is not of priority {priority}; write {first} to {first + 7}")
        return self


class HostPreparation(FrozenModel):
    """Jobs on the GPU nodes, each by a privileged DaemonSet that is ready where its node is as specified.

    Nothing outlives the node's next start but a module option; the DaemonSets put the rest right again.
    """

    dry_run: bool = Field(
        default=False, description="only report, in the pods' logs, what would be changed; nothing waits for it"
    )
    fabric_rule: bool = Field(
        default=False, description="a policy rule that keeps all traffic but the fabric's own off the rails"
    )
    addresses: bool = Field(
        default=False,
        description="an address for every rail's NIC, out of the plan's reserved ones, with MTU and its own route "
        "table; needs nodeNames",
    )
    lossless: Lossless | None = Field(
        default=None, description="RoCE flow control and congestion notification; `{}` for priority 5 and 6"
    )
    disable_acs: bool = Field(
        default=False, description="PCI Access Control Services off, so that NICs reach GPU memory directly"
    )
    rdma_mode: bool = Field(
        default=False, description="the RDMA mode of the fabric; a reboot that it takes is announced, never made"
    )
    link_type: Literal["report", "change"] | None = Field(
        default=None, description="the NICs' link layer: `report` where it is another one, or `change` the firmware's"
    )
    ipoib: bool = Field(default=False, description="the module ib_ipoib, which gives InfiniBand NICs an interface")

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs that are asked for, as the stack file writes them."""
        asked = {
            "fabricRule": self.fabric_rule,
            "addresses": self.addresses,
            "lossless": self.lossless is not None,
            "disableAcs": self.disable_acs,
            "rdmaMode": self.rdma_mode,
            "linkType": self.link_type is not None,
            "ipoib": self.ipoib,
        }
        return tuple(job for job, wanted in asked.items() if wanted)


class FabricCheck(FrozenModel):
    """A pod on every GPU node that is attached to all rails and checks each."""

    image: str | None = Field(
        default=None, min_length=1, description="image with a shell and `ip`; by default the release line's"
    )
