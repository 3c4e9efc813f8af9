"""Whereabouts, the IPAM that needs no pools."""

from __future__ import annotations

from typing import ClassVar

from components.helm import ChartOperator


class Whereabouts(ChartOperator):
    """Installs the chart, which lays the plug-in into the nodes.

    Must exist before: its namespace. Networks that name it come after.
    """

    type_token: ClassVar[str] = "gpu-fabric:operators:Whereabouts"
