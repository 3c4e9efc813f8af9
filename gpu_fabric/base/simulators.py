"""Simulators of clusters, each a package of its own with an entry point of the group `gpu_fabric.simulators`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

BUNDLED = "sandbox/charts"
"""The folder of stand-in charts in a project. It is in the states of stacks, so it keeps its name."""


class Simulator(NamedTuple):
    """What messages say of a simulator, and the folder in which its package has stand-in charts."""

    name: str
    folder: str
    """Name of the folder in which it writes kubeconfigs."""
    kubectl: str
    """Path of its kubectl from that folder."""
    start: str
    """The part of a sentence that says what starts it."""
    doctor: str
    """The command that examines a stack with its state."""
    charts: Path


@cache
def simulators() -> tuple[Simulator, ...]:
    """Those that are installed."""
    # Most runs need none.
    from importlib.metadata import entry_points

    return tuple(entry.load() for entry in entry_points(group="gpu_fabric.simulators"))


def simulator_of(kubeconfig: str | Path) -> Simulator | None:
    """The simulator that writes a kubeconfig, by its path."""
    return next((one for one in simulators() if one.folder in Path(kubeconfig).parts), None)


def chart_folder(path: str, root: Path) -> Path:
    """The folder of a chart with a planned path: in the project `root`, else in the package of a simulator."""
    places = [root / path, *(one.charts / Path(path).relative_to(BUNDLED) for one in simulators())]
    return next((place for place in places if place.exists()), places[0])
