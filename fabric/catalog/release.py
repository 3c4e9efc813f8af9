"""Release lines: sets of chart and image versions that belong together, one record per row of `releases.yaml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from fabric.model import FrozenModel

ChartName = Literal["gpu-operator", "network-operator"]
Component = Literal["sriovDevicePlugin", "nvIpam", "multus", "cniPlugins"]


class Chart(FrozenModel):
    """A Helm chart at an exact version. `timeout` is in seconds; `values` are what the line always needs."""

    repository: str
    version: str
    namespace: str
    timeout: int = Field(ge=60)
    values: dict[str, JsonValue]


class ComponentImages(FrozenModel):
    """Operand images of the Network Operator: one repository and tag, an image name per component."""

    repository: str
    version: str
    names: dict[Component, str]


class ReleaseLine(FrozenModel):
    """One tested set. `models` are the networking models this project can plan with it."""

    name: str
    charts: dict[ChartName, Chart]
    images: ComponentImages
    kubernetes: str
    models: tuple[str, ...]
