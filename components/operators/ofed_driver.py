"""The vendor's network drivers in a container."""

from __future__ import annotations

from typing import ClassVar

from components.helm import ChartOperator


class OfedDriver(ChartOperator):
    """Installs the chart, whose pods load the drivers on the nodes.

    Must exist before: its namespace. What needs the drivers, device plug-ins and virtual functions, comes after.
    """

    type_token: ClassVar[str] = "gpu-fabric:operators:OfedDriver"
