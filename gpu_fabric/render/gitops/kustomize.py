"""A plan as folders for kustomize: one a unit, with its objects, or with its chart and the chart's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu_fabric.plan.records import HelmRelease
from gpu_fabric.render.gitops.units import Manifests, Unit, annotated
from gpu_fabric.render.layout import line_documents, yaml_text

STEPS, KUSTOMIZATION = "steps", "kustomization.yaml"
"""The folder of all units, and the file in each that lists the others."""

_VALUES, _NAMESPACE = "values.yaml", "namespace.yaml"
# kubectl applies a chart's hooks like all else, and a Job that is applied runs. So what Helm runs when it deletes a
# release or goes back to an earlier one is left out. An annotation of several events cannot be selected: selectors take
# no comma (kustomize v5.5.0 api/types/selector.go, `labels.Parse`); no chart of the catalog has one with these events.
_LEFT_OUT = {
    "target": {"annotationSelector": "helm.sh/hook in (pre-delete, post-delete, pre-rollback, post-rollback)"},
    "patch": yaml_text({"$patch": "delete", "apiVersion": "v1", "kind": "Any", "metadata": {"name": "any"}}),
}


def kustomize_files(found: Sequence[Unit]) -> dict[str, str]:
    """Every file by its path."""
    files: dict[str, str] = {}
    for unit in found:
        folder = f"{STEPS}/{unit.name}"
        if unit.release is not None:
            files |= {f"{folder}/{name}": text for name, text in _chart_files(unit.release).items()}
        elif unit.files:
            files |= object_files(folder, unit.files)
            files[f"{folder}/{KUSTOMIZATION}"] = kustomization_text([file.name for file in unit.files])
    return files


def object_files(folder: str, found: Sequence[Manifests], patched: dict[str, str] | None = None) -> dict[str, str]:
    """Files with objects, as a rendered plan has them; `patched` are annotations that patches get."""
    return {f"{folder}/{file.name}": manifests_text(file, patched or {}) for file in found}


def manifests_text(file: Manifests, patched: dict[str, str]) -> str:
    """The text of one file."""
    if file.form == "group":
        return line_documents(file.objects)
    (manifest,) = file.objects
    return yaml_text(annotated(manifest, patched if file.form == "patch" else {}))


def kustomization_text(resources: Sequence[str], **more: Any) -> str:
    """A kustomization that keeps its resources in the order of the plan."""
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        **({"resources": list(resources)} if resources else {}),
        # By default kustomize sorts by kind.
        "sortOptions": {"order": "fifo"},
        **more,
    }
    return yaml_text(document)


def _chart_files(release: HelmRelease) -> dict[str, str]:
    chart = {
        "name": release.chart.name,
        "repo": release.chart.repository,
        "version": release.chart.version,
        "releaseName": release.name,
        "namespace": release.namespace,
        "valuesFile": _VALUES,
        # As Helm installs them; it runs no test of a chart either.
        "includeCRDs": True,
        "skipTests": True,
    }
    # Helm installs what states no namespace into the release's; `helm template` leaves it without one.
    namespace = {
        "apiVersion": "builtin",
        "kind": "NamespaceTransformer",
        "metadata": {"name": "namespace-of-the-release", "namespace": release.namespace},
        "unsetOnly": True,
        # By default it also changes who a binding is for.
        "setRoleBindingSubjects": "none",
    }
    return {
        KUSTOMIZATION: kustomization_text([], helmCharts=[chart], patches=[_LEFT_OUT], transformers=[_NAMESPACE]),
        _VALUES: yaml_text(release.values),
        _NAMESPACE: yaml_text(namespace),
    }
