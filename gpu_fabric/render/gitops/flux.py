"""A plan for Flux: a Kustomization a unit, each after others by `dependsOn`, and one Kustomization of them all.

A Kustomization is ready when all that it applies is: also its HelmRelease, whose chart Helm then has installed.
Kustomizations depend on Kustomizations alone, and HelmReleases on HelmReleases; so each release is in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu_fabric.plan.records import HelmRelease
from gpu_fabric.render.gitops.conditions import Check
from gpu_fabric.render.gitops.kustomize import KUSTOMIZATION, STEPS, kustomization_text, object_files
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.render.gitops.units import Unit
from gpu_fabric.render.layout import yaml_text

FLUX, ROOT = "flux", "root.yaml"
"""The Kustomizations of all units, and the Kustomization of these."""

NAMESPACE = SOURCE = "flux-system"
"""The namespace of Flux' objects, and its GitRepository: as `flux bootstrap` names both."""

_FLUX = "kustomize.toolkit.fluxcd.io"
# Fields of an object that another owner creates and deletes.
_PATCHED = {f"{_FLUX}/prune": "disabled", f"{_FLUX}/ssa": "Merge"}
_INTERVAL, _RETRY = "10m", "1m"
# Without a strategy a release that failed once is never tried again. The other one, `remediation`, uninstalls or rolls
# back before it tries again, and with that runs the charts' deletion hooks. Since helm-controller 1.4.0 (Flux 2.7):
# fluxcd/helm-controller api/v2/helmrelease_types.go, docs/spec/v2/helmreleases.md.
_AGAIN = {"strategy": {"name": "RetryOnFailure", "retryInterval": _RETRY}}
# Seconds to fetch a chart or the files before a unit's own time begins.
_TO_FETCH = 60
_CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def flux_files(found: Sequence[Unit], place: Place) -> dict[str, str]:
    """Every file by its path."""
    files: dict[str, str] = {}
    for unit in found:
        folder = f"{STEPS}/{unit.name}"
        files[f"{FLUX}/{unit.name}.yaml"] = yaml_text(_kustomization(unit, place))
        if unit.release is not None:
            objects = {
                "source.yaml": yaml_text(_source(unit.release, place)),
                "release.yaml": yaml_text(_release(unit.release, place)),
            }
        elif unit.files:
            objects = {path.rpartition("/")[2]: text for path, text in object_files("", unit.files, _PATCHED).items()}
        else:
            objects = {"waits.yaml": yaml_text(_marker(unit, place))}
        files |= {f"{folder}/{name}": text for name, text in objects.items()}
        files[f"{folder}/{KUSTOMIZATION}"] = kustomization_text(list(objects))
    files[f"{FLUX}/{KUSTOMIZATION}"] = kustomization_text([f"{unit.name}.yaml" for unit in found])
    files[ROOT] = yaml_text(_document(place.name_of(), place.path_of(FLUX), {"wait": False}))
    return files


def _kustomization(unit: Unit, place: Place) -> dict[str, Any]:
    dependencies = [{"name": place.name_of(name)} for name in unit.after]
    return _document(
        place.name_of(unit.name),
        place.path_of(f"{STEPS}/{unit.name}"),
        {
            **({"dependsOn": dependencies} if dependencies else {}),
            "timeout": f"{unit.timeout + _TO_FETCH}s",
            **_health(unit),
        },
    )


def _health(unit: Unit) -> dict[str, Any]:
    """What is waited for: everything that is applied, unless it applies what is not awaited, or nothing."""
    expressions = {
        (check.api_version, check.kind): " && ".join(f"({condition.cel})" for condition in check.conditions)
        for check in unit.checks
    }
    own = [
        {"apiVersion": version, "kind": kind, "current": expression}
        for (version, kind), expression in expressions.items()
    ]
    found: dict[str, Any] = {"healthCheckExprs": own} if own else {}
    if unit.is_applied:
        return found | {"wait": unit.awaited}
    return found | {"wait": False, "healthChecks": [_reference(check) for check in unit.checks]}


def _reference(check: Check) -> dict[str, str]:
    place = {} if check.namespace is None else {"namespace": check.namespace}
    return {"apiVersion": check.api_version, "kind": check.kind, "name": check.name, **place}


def _document(name: str, path: str, more: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{_FLUX}/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "interval": _INTERVAL,
            "retryInterval": _RETRY,
            "path": f"./{path}",
            "prune": True,
            "sourceRef": {"kind": "GitRepository", "name": SOURCE},
            **more,
        },
    }


def _marker(unit: Unit, place: Place) -> dict[str, Any]:
    """A ConfigMap that says what is waited for: a Kustomization needs something to apply."""
    waits = [
        f"{check.kind} {check.name}: {' and '.join(each.cel for each in check.conditions)}" for check in unit.checks
    ]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": place.name_of(f"{unit.name}-waits"), "namespace": NAMESPACE},
        "data": {"waitsFor": "\n".join(waits)},
    }


def _source(release: HelmRelease, place: Place) -> dict[str, Any]:
    kind, url = _source_of(release)
    spec: dict[str, Any] = {"interval": _INTERVAL, "url": url}
    if kind == "OCIRepository":
        # A tag has no plus sign; Helm writes an underscore in its place.
        spec["ref"] = {"tag": release.chart.version.replace("+", "_")}
        spec["layerSelector"] = {"mediaType": _CHART_LAYER, "operation": "copy"}
    return _toolkit("source.toolkit.fluxcd.io/v1", kind, place.name_of(release.name), spec)


def _source_of(release: HelmRelease) -> tuple[str, str]:
    url = str(release.chart.repository)
    return ("OCIRepository", f"{url}/{release.chart.name}") if url.startswith("oci://") else ("HelmRepository", url)


def _release(release: HelmRelease, place: Place) -> dict[str, Any]:
    """The release as `up` installs it: its options are those of the resource of the stack."""
    kind, name = _source_of(release)[0], place.name_of(release.name)
    chart = {"chart": release.chart.name, "version": release.chart.version, "sourceRef": {"kind": kind, "name": name}}
    source = {"chartRef": {"kind": kind, "name": name}} if kind == "OCIRepository" else {"chart": {"spec": chart}}
    secrets = [
        {"kind": "Secret", "name": value.key, "valuesKey": value.entry, "targetPath": value.path}
        for value in release.secret_values
    ]
    spec = {
        **source,
        "interval": _INTERVAL,
        "timeout": f"{release.timeout}s",
        "releaseName": release.name,
        "targetNamespace": release.namespace,
        "storageNamespace": release.namespace,
        "maxHistory": 5,
        # As Helm does it: definitions are created with a chart, and never changed.
        "install": {"crds": "Create", **_AGAIN},
        "upgrade": {"crds": "Skip", "cleanupOnFail": True, **_AGAIN},
        "values": release.values,
        **({"valuesFrom": secrets} if secrets else {}),
    }
    return _toolkit("helm.toolkit.fluxcd.io/v2", "HelmRelease", name, spec)


def _toolkit(version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
