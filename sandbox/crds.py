"""Writes the stand-in charts' CustomResourceDefinitions from the typed models: `python -m sandbox.crds`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.k8s.base import KubernetesObject
from gpu_fabric.k8s.cni import NetworkAttachmentDefinition
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.k8s.nv_ipam import CIDRPool, IPPool
from .definitions import custom_resource_definition
from .operator_kinds import (
    ClusterPolicy,
    NodeFeatureRule,
    NodeSlicePool,
    OverlappingRangeIPReservation,
    WhereaboutsIPPool,
)

CHARTS = Path(__file__).parent / "charts"

_MODELS: dict[str, type[KubernetesObject]] = {
    model.__name__: model
    for model in (
        ClusterPolicy,
        NodeFeatureRule,
        NicClusterPolicy,
        NicNodePolicy,
        NetworkAttachmentDefinition,
        IPPool,
        CIDRPool,
        WhereaboutsIPPool,
        OverlappingRangeIPReservation,
        NodeSlicePool,
    )
}

# Kinds that come and go with a section of the Network Operator's policy.
_SECTIONS: dict[type[KubernetesObject], str] = {IPPool: "nvIpam", CIDRPool: "nvIpam"}

_HEADER = "# Generated from {sources} by `python -m sandbox.crds`; change {what}.\n"


def crd_files() -> Iterator[tuple[Path, str]]:
    """Every generated CRD file of the stand-in charts with the text that belongs in it; some are linked elsewhere."""
    kinds: dict[str, list[str]] = yaml.safe_load((CHARTS / "kinds.yaml").read_text())
    for chart, names in kinds.items():
        changes = _changes(chart)
        for model in map(_MODELS.__getitem__, names):
            definition = custom_resource_definition(model)
            version = definition["spec"]["versions"][0]
            sources = [f"{model.__module__}.{model.__name__}"]
            for path, patches in changes.items():
                if patch := patches.get(definition["metadata"]["name"]):
                    version["schema"]["openAPIV3Schema"] = _patched(version["schema"]["openAPIV3Schema"], patch)
                    sources.append(str(path.relative_to(CHARTS)))
            what = "those, not this file" if len(sources) > 1 else "the model, not this file"
            header = _HEADER.format(sources=" and ".join(sources), what=what)
            text = yaml.dump(definition, Dumper=_Plain, sort_keys=False, width=120)
            section = _SECTIONS.get(model)
            folder = section_folder(chart, section) if section else CHARTS / chart / "crds"
            yield folder / f"{model.group()}_{model.plural}.yaml", header + text


def section_folder(chart: str, section: str) -> Path:
    """Where the definitions are that an operator writes with a section of its policy; Helm does not look there."""
    return CHARTS / chart / "sections" / section / "crds"


def _changes(chart: str) -> dict[Path, dict[str, Any]]:
    """The patches of every chart and of this one's release line, by file; each by a definition's name."""
    files = (folder / "crds.yaml" for folder in (CHARTS, CHARTS / chart.partition("/")[0]))
    return {path: yaml.safe_load(path.read_text()) for path in files if path.is_file()}


class _Plain(yaml.SafeDumper):
    """Writes a list that several fields share out each time, so that every definition reads for itself."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _patched(schema: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON merge patch (RFC 7396) applied: null takes away, maps are merged, everything else replaces."""
    result = dict(schema)
    for key, value in patch.items():
        if value is None:
            del result[key]  # a field that the model does not have is a slip of the patch
        elif isinstance(value, Mapping):
            result[key] = _patched(result.get(key, {}), value)
        else:
            result[key] = value
    return result


def main() -> None:
    """Writes all files, and names them on stdout."""
    for path, text in crd_files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path.relative_to(CHARTS.parents[1]))


if __name__ == "__main__":
    main()
