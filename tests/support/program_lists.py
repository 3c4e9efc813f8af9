"""The program's own lists of names, for tests that go through all of them."""

from typing import get_args

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.managers import MANAGERS
from gpu_fabric.plan.operators import own_charts
from gpu_fabric.spec.addressing import Ipam, Layout
from gpu_fabric.spec.fabric import Model, VirtualFunctions
from gpu_fabric.spec.stack import PROVIDERS

MODELS: tuple[str, ...] = get_args(Model)
LAYOUTS: tuple[str, ...] = get_args(Layout)
IPAMS: tuple[str, ...] = get_args(Ipam)
MAKERS: tuple[str, ...] = get_args(VirtualFunctions)
LINES = tuple(sorted(catalog().releases))
"""Every release line, the oldest first."""
SCHEDULERS = tuple(str(chart.name) for chart in own_charts() if chart.section.startswith("schedulers."))
"""The charts of schedulers and of controllers of jobs."""
SCHEDULER_NAMESPACES = {
    facts.section.removeprefix("schedulers."): catalog().releases[LINES[-1]].charts[facts.release].namespace
    if facts.release
    else facts.namespaces[0]
    for facts in catalog().operators.values()
    if facts.section is not None and facts.section.startswith("schedulers.")
}
"""The namespaces of all of them, by their keys in the stack file."""
EVERY_SCHEDULER: dict[str, dict[str, object]] = {key: {} for key in SCHEDULER_NAMESPACES}
"""All of them with their defaults, as the stack file has them."""

NAMES: dict[str, tuple[str, ...]] = {
    "charts": tuple(str(chart.name) for chart in own_charts()),
    "layouts": LAYOUTS,
    "managers": tuple(MANAGERS),
    "models": MODELS,
    "providers": tuple(PROVIDERS),
    "release lines": LINES,
    "sources of addresses": IPAMS,
    "sources of virtual functions": MAKERS,
}
"""All of them, by what they are names of."""
