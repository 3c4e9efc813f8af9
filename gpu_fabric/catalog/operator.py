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
"""A file, or a part of one."""

Files = Mapping[str, Table]
"""The files by the operators' names."""


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
    which it runs by its own documentation, besides its chart's. `service_monitors` are the chart's values, as dotted
    paths, with which it creates objects of the kind ServiceMonitor. `chart` is the name of its chart's release.
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
    leaves: Leftovers | None = None
    service_monitors: tuple[str, ...] = ()
    chart: ChartName | None = None

    @property
    def heading(self) -> str:
        """The title without an article."""
        return self.title.removeprefix("the ")

    @property
    def standalone(self) -> str:
        """The name that the release lines' `standalone` has for it, if the stack installs it without a chart."""
        return to_camel(self.name.replace("-", "_"))


# What the other tables are made of: the chart by release line (`since` one, in `lines` what differs), `needs`, what is
# installed without a chart (`standalone`), images and keys by version of the chart (`versions`, `subcharts`,
# `history`), and the way to its next version (`vendorLines`, `appliedBy`, `facts`, `definitions`).
_OF_UPGRADES = ("vendorLines", "appliedBy", "facts", "definitions")
_SPREAD = ("since", "lines", "needs", "standalone", "versions", "subcharts", "history", *_OF_UPGRADES)


def operator_facts(files: Files) -> dict[str, OperatorFacts]:
    """The facts that are about the operator itself."""
    releases = {name: {"chart": row["chart"].get("name", name)} for name, row in files.items() if "chart" in row}
    return {
        name: OperatorFacts.model_validate(
            {"name": name, **{key: row[key] for key in row if key not in _SPREAD}, **releases.get(name, {})}
        )
        for name, row in files.items()
    }


def with_operators(lines: Mapping[str, Table], files: Files) -> dict[str, Table]:
    """The release lines with the charts of each, what these need, and what is installed without a chart."""
    return {name: _line(name, row, files) for name, row in lines.items()}


def _line(line: str, row: Table, files: Files) -> Table:
    charts: Table = {}
    needs: list[Table] = []
    unread: Table = {}
    for name, own in _with_chart(files):
        if Version.parse(line) < Version.parse(own.get("since", "0")):
            continue
        chart = {**own["chart"], **own.get("lines", {}).get(line, {})}
        chart.pop("name", None)
        needed = [*own.get("needs", ()), *chart.pop("needs", ())]
        needs += [{"component": name, **need} for need in needed]
        unread |= {name: chart.pop("unread")} if "unread" in chart else {}
        charts[name] = chart
    alone = {to_camel(name.replace("-", "_")): own["standalone"] for name, own in files.items() if "standalone" in own}
    return {**row, "charts": charts, "needs": needs, "unread": unread, "standalone": {**alone, **row["standalone"]}}


def chart_versions(types: Mapping[str, Table], files: Files) -> Table:
    """The versions of each chart: what the operator's file has of them, with the types of their values."""
    return {
        name: {
            version: {**types.get(name, {}).get(version, {}), **{k: v for k, v in facts.items() if k != "knownKeys"}}
            for version, facts in row["versions"].items()
        }
        for name, row in _with_chart(files)
    }


def chart_keys(known: Mapping[str, Table], files: Files) -> Table:
    """The histories of keys, and the known keys of each chart by version."""
    charts = _with_chart(files)
    own = {
        name: {version: facts["knownKeys"] for version, facts in row["versions"].items() if "knownKeys" in facts}
        for name, row in charts
    }
    return {
        "rows": [{"chart": name, **entry} for name, row in charts for entry in row.get("history", ())],
        "subcharts": {name: row["subcharts"] for name, row in charts if "subcharts" in row},
        "knownKeys": {name: table for name, row in own.items() if (table := {**known.get(name, {}), **row})},
    }


def upgrades(table: Table, files: Files) -> Table:
    """The way from one line to the next, with what comes with each chart's versions."""
    charts = _with_chart(files)
    lines, applied, _, definitions = ({name: row[key] for name, row in charts if key in row} for key in _OF_UPGRADES)
    facts = [{"chart": name, **entry} for name, row in charts for entry in row.get("facts", ())]
    return {**table, "lines": lines, "appliedBy": applied, "facts": facts, "definitions": definitions}


def foreign_namespaces(others: Mapping[str, str], files: Files) -> dict[str, str]:
    """Namespaces of other software, each with the software's name."""
    own = {
        namespace: row["title"]
        for row in files.values()
        for namespace in (*row.get("namespaces", ()), *filter(None, [row.get("chart", {}).get("namespace")]))
    }
    return {**own, **others}


def _with_chart(files: Files) -> list[tuple[ChartName, Table]]:
    """The operators that have a chart, by the name of its release."""
    return [(row["chart"].get("name", name), row) for name, row in files.items() if "chart" in row]
