"""Rules about the HTTP proxy of containers that download packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from gpu_fabric.base.api_objects import rows
from gpu_fabric.catalog.chart import value_at
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.proxy import proxy_exceptions
from gpu_fabric.rules.chart_values import charts_in_use
from gpu_fabric.rules.registry import Problem, check, check_plan, in_software

_PROXIES, _EXCEPTIONS = ("HTTP_PROXY", "HTTPS_PROXY"), "NO_PROXY"


@check_plan("PRX001")
def proxy_is_used(case: Case, plan: Plan) -> Iterator[Problem]:
    """Something that the stack installs downloads packages, and gets the proxy's variables."""
    if case.spec.software.proxy is None:
        return
    in_policy = [entry for entry in plan.objects if "ofedDriver" in entry.object.manifest().get("spec", {})]
    if not in_policy and not any(True for _ in _environments(case, plan)):
        yield Problem(in_software("proxy"))


@check("PRX002")
def exceptions_have_the_clusters_ranges(case: Case) -> Iterator[Problem]:
    """The cluster's own ranges are known, and so are exceptions."""
    cluster = case.spec.cluster
    if case.spec.software.proxy is None:
        return
    # Of a cluster whose pods and nodes share a range, the range is written once.
    if missing := cluster.ranges.not_stated(cluster.ranges_within):
        ranges = ", ".join(f"cluster.ranges.{name}" for name in missing)
        yield Problem(
            in_software("proxy"), f"the exceptions lack the cluster's {', '.join(missing)}", f"write {ranges}"
        )


@check_plan("PRX003")
def written_environments_keep_the_proxy(case: Case, plan: Plan) -> Iterator[Problem]:
    """An environment in chart values has proxy and exceptions: a list replaces a list."""
    charts, wanted = charts_in_use(case), case.spec.software.proxy
    for name, path, environment in _environments(case, plan):
        if value_at(charts[name].written, path) is None:
            continue
        place = charts[name].place(*path.split("."))
        has_proxy = any(environment.get(each) for each in _PROXIES)
        if wanted is not None and not has_proxy:
            yield Problem(place, "this list replaces the stack's, and lacks the proxy's variables", _WHOLE)
        elif has_proxy and (lost := _not_excepted(case, environment.get(_EXCEPTIONS, ""))):
            message = f"{_EXCEPTIONS} lacks {', '.join(lost)}: requests within the cluster go to the proxy"
            yield Problem(place, message, _WHOLE if wanted is None else "add them, or leave this list out")


_WHOLE = "leave its variables of the proxy out, and write `software.proxy`, or write all of them here"


def _environments(case: Case, plan: Plan) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """The environments of containers that download packages: chart, path of the value, and variables in capitals."""
    for release in plan.releases:
        for row in case.known.chart_versions[release.name][release.chart.version].proxy:
            if row.runs(release.values):
                yield release.name, row.at, _variables(value_at(release.values, row.at))


def _variables(written: Any) -> dict[str, str]:
    found = {str(entry.get("name")): str(entry.get("value") or "") for entry in rows(written)}
    # Of the two spellings, the one in capitals may be left out.
    return {name.upper(): value for name, value in found.items()} | {n: v for n, v in found.items() if n.isupper()}


def _not_excepted(case: Case, text: str) -> list[str]:
    written = [entry.strip() for entry in text.split(",") if entry.strip()]
    ranges = [network for entry in written if (network := _network(entry)) is not None]
    return [entry for entry in proxy_exceptions(case) if entry not in written and not _is_within(entry, ranges)]


def _is_within(entry: str, ranges: list[Any]) -> bool:
    network = _network(entry)
    same = [known for known in ranges if network is not None and known.version == network.version]
    return any(network.subnet_of(known) for known in same)


def _network(text: str) -> Any:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
