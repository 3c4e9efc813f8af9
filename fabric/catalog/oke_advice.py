"""What to do when Oracle refuses something or machines do not become nodes, from `oke_advice.yaml`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from fabric.model import FrozenModel


def _is_expression(value: str) -> str:
    re.compile(value)
    return value


class Refusal(FrozenModel):
    """One way in which Oracle refuses, known by what it `says`: what that `means`, and what to `do` about it."""

    name: str
    says: Annotated[str, AfterValidator(_is_expression)] = Field(min_length=1)
    kinds: tuple[str, ...] = ()
    tries: int = Field(default=0, ge=0)
    means: str = Field(min_length=1)
    do: tuple[str, ...] = Field(min_length=1)
    statements: bool = False

    def fits(self, kind: str, said: str) -> bool:
        """Whether this is what an error about a resource of this kind, such as core.Vcn, says."""
        of_kind = not self.kinds or kind.startswith(self.kinds)
        return of_kind and re.search(self.says, said, re.IGNORECASE) is not None


class JoiningAdvice(FrozenModel):
    """What may keep machines out, by who manages them."""

    self_managed: tuple[str, ...] = Field(min_length=1)
    managed: tuple[str, ...] = Field(min_length=1)


class OkeAdvice(FrozenModel):
    """Refusals, the first that fits first, and what to look at where machines do not join."""

    refusals: tuple[Refusal, ...]
    joining: JoiningAdvice
