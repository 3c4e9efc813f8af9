"""Rules about Secrets by which nodes pull images: whether they exist, and whether every pod names them."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.chart_values import charts_in_use
from gpu_fabric.rules.registry import Problem, check, check_plan, in_software

_KEY = "imagePullSecrets"


@check_plan("IMG006")
def pull_secrets_can_exist(case: Case, plan: Plan) -> Iterator[Problem]:
    """A Secret that the stack does not create is not wanted in a namespace that the stack creates."""
    created = [entry.name for entry in plan.applied("namespaces") if entry.object.kind == "Namespace"]
    if not created:
        return
    for place, secret in enumerate(case.spec.software.image_pull_secrets):
        if secret.secret is None:
            message = f"the Secret {secret.name} is wanted in {', '.join(created)}, which this stack creates empty"
            yield Problem(in_software(_KEY, place), message)


@check_plan("IMG007")
def pull_secrets_reach_all_pods(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every chart can hand all pull secrets to all of its pods."""
    secrets = case.spec.software.image_pull_secrets
    for release in plan.releases if secrets else ():
        keys = case.known.chart_versions[release.name][release.chart.version].pull_secrets
        if lacking := [row.what for row in keys.lacking if row.runs(release.values)]:
            message = f"the chart {release.name} gives no pull secrets to {', '.join(lacking)}"
            remedy = "give the nodes' container runtime the registry's login, or let their images be pulled without one"
            yield Problem(in_software(_KEY), message, remedy)
        if keys.single and len(secrets) > 1:
            message = f"the chart {release.name} has room for one pull secret: {secrets[0].name}, the first"
            yield Problem(in_software(_KEY), message, "list first the one whose registry has the chart's images")


@check("IMG008")
def written_values_keep_pull_secrets(case: Case) -> Iterator[Problem]:
    """Lists of pull secrets in chart values name those of the stack, too: a list replaces a list."""
    names = {entry.name for entry in case.spec.software.image_pull_secrets}
    for chart in charts_in_use(case).values() if names else ():
        keys = case.known.chart_versions[chart.name][chart.version].pull_secrets
        for path in (*keys.names, *keys.objects):
            written = chart.written_value(*path.split("."))
            lost = sorted(names - _names(written))
            if written is not None and lost:
                yield Problem(chart.place(*path.split(".")), f"this list lacks {', '.join(lost)}")


def _names(written: JsonValue) -> set[str]:
    entries = written if isinstance(written, list) else []
    return {str(entry.get("name") if isinstance(entry, dict) else entry) for entry in entries}
