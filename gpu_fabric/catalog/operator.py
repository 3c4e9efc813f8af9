"""Operators: a file each in `operators/`, with all facts about one. The tables by release line and by chart are made of
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic.alias_generators import to_camel

from gpu_fabric.catalog.release import ChartName
from gpu_fabric.catalog.version import Version
from gpu_fabric.model import FrozenModel

Table = dict[str, Any]
"""A table, or a part of one, as a file has it."""


class Leftovers(FrozenModel):
    """What an operator leaves behind if it ends before its objects; `sources` say where that was read.

    `finalizers` are those that the operator alone removes, as patterns; only names that were read in its source, since
    other operators use the same domains (Dynamo's finalizer is nvidia.com/finalizer). `webhooks` are the names of its
    webhook configurations, as patterns. `pods` is the label of pods that have such a finalizer. `upgrade_state` is the
    node label with the state of a driver upgrade, `upgrade_notes` the beginning of the node's annotations about it.
    `state_note` is the node annotation of an operator that drains, `at_rest` its value at rest. `wait_label` is the
    node label that holds others back. `cordoned_by` are the field managers under which the operator cordons, which are
    the names of its programs.
    """

    sources: tuple[str, ...]
    finalizers: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    pods: str = ""
    upgrade_state: str = ""
    upgrade_notes: str = ""
    state_note: str = ""
    at_rest: str = ""
    wait_label: str = ""
    cordoned_by: tuple[str, ...] = ()


class OperatorFacts(FrozenModel):
    """An operator, or other software that a cluster has once; `name` is that of its file and of `cluster.installed`.

    `section` is its section of the stack file's `software`. `keys_of_present` are the keys of this section, besides
    `install`, that have an effect where the cluster has the operator. `images` are the ends of its images' names,
    without registry and tag; `workload` is the kind that shows by its state whether the software runs, and one with
    `besides` in its name is other software. `groups` are the API groups that it defines. `namespaces` are those in
    which it runs by its own documentation, besides its chart's. `rights` are the rules of its account in the whole
    cluster, where the program creates that. `service_monitors` are the chart's values, as dotted
    paths, with which it creates objects of the kind ServiceMonitor.

    The other tables of the catalog are made of the rest, and check it. `chart` is the chart in every release line from
    `since` on, with what differs in `lines`, and `needs` what it asks of other parts; `standalone` is what is installed
    without a chart. `versions` are by version of the chart, `history` that of its values' keys, with `history_defaults`
    for every row. `vendor_lines`, `applied_by`, `facts` and `definitions` are about the way to another version.
    """

    name: str
    title: str
    section: str | None = None
    keys_of_present: tuple[str, ...] = ()
    workload: Literal["Deployment", "DaemonSet"] | None = None
    images: tuple[str, ...] = ()
    besides: str | None = None
    groups: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    rights: tuple[Table, ...] = ()
    leaves: Leftovers | None = None
    service_monitors: tuple[str, ...] = ()
    chart: Table | None = None
    since: str = "0"
    lines: dict[str, Table] = {}
    needs: tuple[Table, ...] = ()
    standalone: Table | None = None
    versions: dict[str, Table] = {}
    subcharts: tuple[str, ...] = ()
    history_defaults: Table = {}
    history: tuple[Table, ...] = ()
    vendor_lines: Table | None = None
    applied_by: Table | None = None
    facts: tuple[Table, ...] = ()
    definitions: Table | None = None

    @property
    def heading(self) -> str:
        """The title without an article."""
        return self.title.removeprefix("the ")

    @property
    def release(self) -> ChartName | None:
        """The name of its chart's release; None without a chart."""
        return None if self.chart is None else self.chart.get("name", self.name)

    @property
    def part(self) -> str:
        """The name that the release lines' `standalone` has for it."""
        return to_camel(self.name.replace("-", "_"))

    def in_line(self, line: str) -> Table | None:
        """The chart in a release line; None if the line has none."""
        if self.chart is None or Version.parse(line) < Version.parse(self.since):
            return None
        return {key: value for key, value in self.chart.items() if key != "name"} | self.lines.get(line, {})


Operators = Mapping[str, OperatorFacts]
"""By name."""


def with_operators(line: str, row: Table, operators: Operators) -> Table:
    """A release line with its charts, what these need, and what is installed without a chart."""
    own = operators.values()
    charts = [(each, chart) for each in own if (chart := each.in_line(line)) is not None]
    needs = [(each.release, need) for each, chart in charts for need in (*each.needs, *chart.pop("needs", ()))]
    return {
        **row,
        "needs": [{"component": name, **need} for name, need in needs],
        "unread": {each.release: chart.pop("unread") for each, chart in charts if "unread" in chart},
        "charts": {each.release: chart for each, chart in charts},
        "standalone": {**{each.part: each.standalone for each in own if each.standalone}, **row["standalone"]},
    }


def chart_versions(types: Mapping[str, Table], operators: Operators) -> Table:
    """The versions of each chart: what its operator's file has of them, with the types of their values.

    In a tag, `{version}` is the chart's version.
    """

    def tagged(row: Table, version: str) -> Table:
        return {**row, "image": [part.replace("{version}", version) for part in row["image"]]}

    return {
        name: {
            version: types.get(name, {}).get(version, {})
            | {**row, "images": [tagged(image, version) for image in row["images"]]}
            for version, row in each.versions.items()
        }
        for each in operators.values()
        if (name := each.release) is not None
    }


def chart_keys(known: Mapping[str, Table], operators: Operators) -> Table:
    """The histories of keys, and the known keys of each chart by version."""
    own = [(each.release, each) for each in operators.values() if each.release is not None]
    keys: dict[str, Table] = {name: dict(known.get(name, {})) for name, _ in own}
    for name, each in own:
        keys[name] |= {version: row["knownKeys"] for version, row in each.versions.items() if "knownKeys" in row}
    return {
        "rows": [{"chart": name, **each.history_defaults, **row} for name, each in own for row in each.history],
        "subcharts": {name: each.subcharts for name, each in own if each.subcharts},
        "knownKeys": {name: versions for name, versions in keys.items() if versions},
    }


def upgrades(table: Table, operators: Operators) -> Table:
    """The way from one line to the next, with what comes with each chart's versions."""
    own = [each for each in operators.values() if each.vendor_lines is not None]
    return {
        **table,
        "lines": {each.release: each.vendor_lines for each in own},
        "appliedBy": {each.release: each.applied_by for each in own},
        "facts": [{"chart": each.release, **row} for each in own for row in each.facts],
        "definitions": {each.release: each.definitions for each in own},
    }


def foreign_namespaces(others: Mapping[str, str], operators: Operators) -> dict[str, str]:
    """Namespaces of other software, each with the software's name."""
    own = operators.values()
    charts = {each.chart["namespace"]: each.title for each in own if each.chart is not None}
    return {**charts, **{name: each.title for each in own for name in each.namespaces}, **others}
