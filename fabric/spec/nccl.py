"""`gpu-fabric:fabric.nccl`: what NCCL is told beside the settings of the shape."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from fabric.model import FrozenModel

# NCCL's reader of settings files copies at most so many bytes of a value.
_LONGEST = 1023

TopologyWish = Literal["auto", "none", "lean", "full"]


def _setting(value: Any) -> Any:
    """A value as text; a number may be written without quotes, and true would be 0 to NCCL.

    What NCCL's reader of settings files would keep, cut or break at is refused (source: NCCL, src/misc/param.cc).
    """
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is no value of NCCL; write 1 or 0")
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        return value
    if not value:
        raise ValueError("an empty value sets nothing; leave the variable out")
    if value != value.strip() or re.search(r"[^\x20-\x7e]", value):
        raise ValueError(f"{value!r} has blanks around it or characters that are not ASCII text; NCCL would keep them")
    if len(value) > _LONGEST:
        raise ValueError(f"{len(value)} characters; NCCL reads {_LONGEST} of them from a settings file")
    return value


VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,126}$")]
SettingValue = Annotated[str, BeforeValidator(_setting, json_schema_input_type=str | int)]


class Nccl(FrozenModel):
    """What the stack's jobs tell NCCL."""

    topology: TopologyWish = Field(
        default="auto",
        description="the topology file that jobs mount: `lean` (`cpu` and `pci` alone), `full` (also ports and links, "
        "for the shapes whose file Oracle published), `none`; `auto` is `full` for those where pods hold virtual "
        "functions, `lean` for a shape whose tree is in the stack file, and none for all others",
    )
    settings: dict[VariableName, SettingValue] = Field(
        default={},
        description="variables of NCCL (RCCL) for the jobs of this stack, merged last; `python -m fabric explain "
        "NCCL_IB_TC` says what a variable is and what the stack sets by itself",
    )
    version: Annotated[str, StringConstraints(pattern=r"^2\.\d{1,3}(\.\d{1,3})?$")] | None = Field(
        default=None,
        description="oldest release of NCCL (RCCL) in the jobs' images, such as 2.27.3, in quotes: settings that it "
        "does not have are pointed out; by default that of the vendor's tests on the release line",
    )
