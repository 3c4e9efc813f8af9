"""A plan for Argo CD: an Application a unit, in sync waves, and one Application of them all.

Argo CD renders charts with `helm template` and waits for the health of a wave before the next one begins. What is
healthy is Argo CD's own judgement, but for kinds with a health check in its ConfigMap `argocd-cm`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpu_fabric.render.gitops.conditions import Check, lua_script, program
from gpu_fabric.render.gitops.kustomize import STEPS, manifests_text
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.render.gitops.units import Manifests, Unit, annotated
from gpu_fabric.render.layout import yaml_text

APPS, ROOT, HEALTH = "apps", "root.yaml", "argocd-cm.yaml"
"""The Applications of all units, the Application of these, and the health checks."""

NAMESPACE = "argocd"
"""The namespace of Argo CD's own objects."""

_ARGO = "argocd.argoproj.io"
_WAVE = f"{_ARGO}/sync-wave"
_FINALIZER = f"resources-finalizer.{_ARGO}"
# Fields of an object that another owner creates and deletes: sent alone, they are not a valid object.
_PATCHED = {f"{_ARGO}/sync-options": "Delete=false,Prune=false,ServerSideApply=true,Validate=false"}
_OPTIONS = (
    "CreateNamespace=false",
    # Definitions are too large for the annotation of a client-side apply.
    "ServerSideApply=true",
    # An operator may register a kind after Argo CD has looked.
    "SkipDryRunOnMissingResource=true",
)


def argo_files(found: Sequence[Unit], checks: Iterable[Check], place: Place) -> dict[str, str]:
    """Every file by its path; `checks` are all of the plan."""
    files = {f"{APPS}/{unit.name}.yaml": yaml_text(_application(unit, place)) for unit in found}
    for unit in found:
        files |= {f"{STEPS}/{unit.name}/{name}": text for name, text in _object_files(unit)}
    files[ROOT] = yaml_text(_of_applications(place))
    files[HEALTH] = yaml_text(_health(checks))
    return files


def is_judged(check: Check) -> bool:
    """Whether Argo CD has the object among those of an Application, and so waits for its health."""
    return check.is_applied or check.by_chart


def _application(unit: Unit, place: Place) -> dict[str, Any]:
    destination = {"server": "https://kubernetes.default.svc"}
    if unit.release is not None:
        destination["namespace"] = unit.release.namespace
    finalizer = f"{_FINALIZER}/background" if unit.in_background else _FINALIZER
    options = (*_OPTIONS, *(("PrunePropagationPolicy=background",) if unit.in_background else ()))
    return _document(
        {"name": place.name_of(unit.name), "annotations": {_WAVE: str(unit.wave)}, "finalizers": [finalizer]},
        _source(unit, place),
        destination,
        options,
    )


def _of_applications(place: Place) -> dict[str, Any]:
    destination = {"server": "https://kubernetes.default.svc", "namespace": NAMESPACE}
    metadata = {"name": place.name_of(), "finalizers": [_FINALIZER]}
    return _document(metadata, _git(place, APPS), destination, _OPTIONS)


def _document(
    metadata: dict[str, Any], source: dict[str, Any], destination: dict[str, str], options: Sequence[str]
) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"namespace": NAMESPACE, **metadata},
        "spec": {
            "project": "default",
            "source": source,
            "destination": destination,
            "syncPolicy": {
                # A wave begins only if the Applications of the wave before it have synced without a person.
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": list(options),
                # Without limit: nodes may come later than the Application.
                "retry": {"limit": -1, "backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"}},
            },
        },
    }


def _source(unit: Unit, place: Place) -> dict[str, Any]:
    if unit.release is None:
        return _git(place, f"{STEPS}/{unit.name}")
    chart = unit.release.chart
    return {
        # Argo CD takes registries without a scheme.
        "repoURL": str(chart.repository).removeprefix("oci://"),
        "chart": chart.name,
        "targetRevision": chart.version,
        "helm": {"releaseName": unit.release.name, "skipCrds": False, "valuesObject": unit.release.values},
    }


def _git(place: Place, folder: str) -> dict[str, Any]:
    return {"repoURL": place.repository, "targetRevision": "HEAD", "path": place.path_of(folder)}


def _object_files(unit: Unit) -> Iterator[tuple[str, str]]:
    before = 0
    for file in unit.files:
        waves = [{_WAVE: str(before + number)} if unit.in_order else {} for number in range(len(file.objects))]
        objects = tuple(annotated(manifest, wave) for manifest, wave in zip(file.objects, waves, strict=True))
        before += len(objects)
        yield file.name, manifests_text(Manifests(name=file.name, form=file.form, objects=objects), _PATCHED)


def _health(checks: Iterable[Check]) -> dict[str, Any]:
    """The entries of Argo CD's ConfigMap: the health of Applications, and of each kind that is waited for."""
    # A new Application is healthy for a moment while it has no resource yet, so its sync must have ended as well. A
    # failed sync that is tried again is in phase Running, with the number of tries (OperationState in argo-cd,
    # pkg/apis/application/v1alpha1/types.go). The first ones may fail because nodes or definitions come later; by
    # the waits above, five take five minutes. With a degraded Application the sync of its wave fails, and is tried
    # again.
    entries = {"argoproj.io_Application": program("health_of_applications")}
    for check in filter(is_judged, checks):
        entries[f"{check.group}_{check.kind}"] = lua_script(check)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "argocd-cm",
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd"},
        },
        "data": {f"resource.customizations.health.{name}": text for name, text in entries.items()},
    }
