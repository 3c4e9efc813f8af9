"""`gpu-fabric:fabrics`: further fabrics of a stack, of other node groups or of other NICs on the same nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from gpu_fabric.base.grammar import DnsLabel, Spelled
from gpu_fabric.base.repeats import require_unique
from gpu_fabric.catalog.shape import LINE_RATE_LIMIT, Nic, NicModel
from gpu_fabric.spec.fabric import FabricSpec
from gpu_fabric.spec.verification import VerificationSpec

MAIN = "main"
"""The name of the fabric of the section `fabric`, where a stack has several."""

LONGEST_NAME = 12
"""Limit of a fabric's name: with the number of a NIC it is the name of an interface, of 15 characters at most."""


def _not_taken(value: str) -> str:
    if value == MAIN:
        raise ValueError(f"{MAIN} is the fabric of the section `fabric`; give this one another name")
    return value


FabricName = Annotated[
    str,
    Spelled(
        rf"[a-z]([-a-z0-9]{{0,{LONGEST_NAME - 2}}}[a-z0-9])?",
        "name of a fabric",
        f"at most {LONGEST_NAME} lower-case letters, digits and '-', the first a letter, such as storage",
    ),
    AfterValidator(_not_taken),
]
Purpose = Literal["compute", "storage"]


class FurtherFabricSpec(FabricSpec):
    """A fabric besides that of the section `fabric`: all of its keys, and the nodes and NICs that it is made of."""

    pools: Annotated[
        tuple[DnsLabel, ...], require_unique(lambda name: name, "pool {} is listed twice; list each pool once")
    ] = Field(min_length=1, description="names of the GPU pools whose nodes are in this fabric")
    purpose: Purpose = Field(
        default="compute",
        description="`compute`: the fabric that NCCL uses on these nodes, which no other fabric of this purpose has; "
        "`storage`: a fabric of other NICs on nodes of a compute fabric, which NCCL leaves alone",
    )
    nics: tuple[Nic, ...] = Field(
        default=(),
        description="the fabric's NICs on each node, the k-th is rail k; by default the RDMA NICs of the shape, which "
        "one fabric alone can have",
    )
    nic_model: NicModel | None = Field(
        default=None, description="common facts of `nics`; by default those of the shape's RDMA NICs"
    )
    nic_speed_gbps: int | None = Field(
        default=None,
        ge=1,
        lt=LINE_RATE_LIMIT,
        description="line rate of one of `nics` in Gb/s; by default that of the shape's RDMA NICs",
    )
    verification: VerificationSpec | None = Field(
        default=None,
        description="measurement of this fabric, for `compute` only; by default that of the section `verification`, "
        "without its number of nodes and its bars",
    )

    @field_validator("prefix")
    @classmethod
    def _of_the_stack(cls, value: str | None) -> str | None:
        if value is not None:
            raise ValueError("a stack has one prefix; write it in the section fabric")
        return value


Fabrics = dict[FabricName, FurtherFabricSpec]
