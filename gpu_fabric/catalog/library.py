"""Libraries other than NCCL that send over the fabric, and their variables."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pydantic import Field, model_validator

from gpu_fabric.catalog.nccl import NcclVariable, Since
from gpu_fabric.model import FrozenModel


class Library(FrozenModel):
    """One library; the comment at the top of `libraries.yaml` explains the fields."""

    name: str
    title: str = Field(min_length=1)
    read: Since
    source: str = Field(min_length=1)
    rdma: bool = True
    variables: tuple[NcclVariable, ...]

    @model_validator(mode="before")
    @classmethod
    def _names_are_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("variables"), dict):
            return data
        rows = [{"name": name, "library": data.get("name"), **row} for name, row in data["variables"].items()]
        return {**data, "variables": rows}


class LibraryTable(FrozenModel):
    """The content of `libraries.yaml`. `facts` are variables of NCCL by the names that rows have for their values."""

    facts: dict[str, str]
    libraries: tuple[Library, ...]

    @model_validator(mode="before")
    @classmethod
    def _names_are_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("libraries"), dict):
            return data
        return {**data, "libraries": [{"name": name, **row} for name, row in data["libraries"].items()]}

    @cached_property
    def by_name(self) -> dict[str, Library]:
        """Every library by name."""
        return {library.name: library for library in self.libraries}

    @cached_property
    def known(self) -> dict[str, NcclVariable]:
        """Every variable by name."""
        return {entry.name: entry for library in self.libraries for entry in library.variables}
