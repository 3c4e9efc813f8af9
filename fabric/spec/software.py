"""`gpu-fabric:software`: which release line, where its charts come from, and what to change in them."""

from __future__ import annotations

import re

from pydantic import Field, JsonValue, ValidationInfo, field_validator

from fabric.catalog import Catalog
from fabric.model import FrozenModel
from fabric.spec.suggestion import nearest

_MIRROR = re.compile(r"^(https|oci)://\S+$")


class GpuOperator(FrozenModel):
    """Switches of the GPU Operator."""

    driver: bool = Field(
        default=False, description="whether the operator installs the GPU driver; false where the node image brings it"
    )
    toolkit: bool = Field(default=True, description="whether the operator installs the container toolkit")
    feature_discovery: bool = Field(
        default=True, description="whether the chart brings Node Feature Discovery; false where the cluster has one"
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class NetworkOperator(FrozenModel):
    """Switches of the Network Operator."""

    multus: bool = Field(default=True, description="whether its policy brings Multus; false where the cluster has one")
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class Spiderpool(FrozenModel):
    """Switches of Spiderpool."""

    multus: bool = Field(default=True, description="whether its chart brings Multus; false where the cluster has one")
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class Software(FrozenModel):
    """What is installed."""

    release_line: str = Field(default="26.4", description="the tested set of versions")
    charts: str = Field(
        default="upstream",
        description="`upstream`: the vendor's chart repository; `bundled`: the sandbox's stand-ins; or a mirror's URL",
    )
    gpu_operator: GpuOperator = GpuOperator()
    network_operator: NetworkOperator = NetworkOperator()
    spiderpool: Spiderpool = Spiderpool()

    @field_validator("release_line")
    @classmethod
    def _line_is_in_the_catalog(cls, value: str, info: ValidationInfo) -> str:
        known: Catalog = (info.context or {})["catalog"]
        if value not in known.releases:
            guess = nearest(value, known.releases)
            raise ValueError(f"no release line {value!r}; {guess}allowed: {', '.join(sorted(known.releases))}")
        return value

    @field_validator("charts")
    @classmethod
    def _charts_can_be_found(cls, value: str) -> str:
        if value not in ("upstream", "bundled") and not _MIRROR.match(value):
            raise ValueError(
                f"{value!r} names no charts; allowed: upstream, bundled, or a mirror (https://… or oci://…)"
            )
        return value
