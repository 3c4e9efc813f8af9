"""Writes the stand-in charts' CustomResourceDefinitions from the typed models: `python -m sandbox.crds`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from fabric.k8s.base import KubernetesObject
from fabric.k8s.cni import NetworkAttachmentDefinition
from fabric.k8s.crd import custom_resource_definition
from fabric.k8s.mellanox import NicClusterPolicy
from fabric.k8s.nfd import NodeFeatureRule
from fabric.k8s.nv_ipam import CIDRPool, IPPool
from fabric.k8s.nvidia import ClusterPolicy

CHARTS = Path(__file__).parent / "charts"

# The kinds each chart brings. The real network-operator brings nv-ipam's only at run time, after its policy.
_KINDS: dict[str, tuple[type[KubernetesObject], ...]] = {
    "gpu-operator": (ClusterPolicy, NodeFeatureRule),
    "network-operator": (NicClusterPolicy, NetworkAttachmentDefinition, IPPool, CIDRPool),
}

_HEADER = "# Generated from {module}.{model} by `python -m sandbox.crds`; change the model, not this file.\n"


def crd_files() -> Iterator[tuple[Path, str]]:
    """Every CRD file of the stand-in charts with the text that belongs in it."""
    for chart, models in _KINDS.items():
        for model in models:
            text = yaml.safe_dump(custom_resource_definition(model), sort_keys=False, width=120)
            header = _HEADER.format(module=model.__module__, model=model.__name__)
            yield CHARTS / chart / "crds" / f"{model.group()}_{model.plural}.yaml", header + text


def main() -> None:
    """Writes all files, and names them on stdout."""
    for path, text in crd_files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path.relative_to(CHARTS.parents[1]))


if __name__ == "__main__":
    main()
