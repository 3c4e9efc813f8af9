"""The stand-in charts' CustomResourceDefinitions of played operators, written from the typed models and a table.

They are not committed. `write_definitions` is called before anything of the sandbox is built or started, and
`python -m sandbox.crds` calls it alone.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from gpu_fabric.base.yaml_files import as_yaml
from .failure import SandboxError

if TYPE_CHECKING:
    from gpu_fabric.k8s.base import KubernetesObject
    from .definitions import PlayedKind

CHARTS = Path(__file__).parent / "charts"
# What the files were written from; Git ignores it as it does the files.
_WRITTEN_FROM = CHARTS / ".definitions"

_HEADER = "# Written from {sources} by `python -m sandbox.crds`; change {what}.\n"


def write_definitions() -> list[Path]:
    """Write the definitions of every chart, unless they are those of today's models; returns what was written.

    Raises SandboxError where the charts' folder cannot be written to.
    """
    if _is_written():
        return []
    texts = dict(crd_files())
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, text)
        _replace(_WRITTEN_FROM, "\n".join([_digest(), *(str(path.relative_to(CHARTS)) for path in texts)]))
    except OSError as error:
        raise SandboxError(
            f"the definitions of the stand-in charts cannot be written: {error}",
            "Let this user write there, or install the sandbox into a virtual environment of this user.",
        ) from error
    return list(texts)


def _is_written() -> bool:
    if not _WRITTEN_FROM.is_file():
        return False
    digest, *names = _WRITTEN_FROM.read_text(encoding="utf-8").splitlines()
    return digest == _digest() and all((CHARTS / name).is_file() for name in names)


def _digest() -> str:
    """Of all that the definitions are written from: models, the table of kinds, their patches, and the code."""
    import gpu_fabric.k8s

    own = [Path(__file__).with_name(name) for name in ("crds.py", "definitions.py", "operator_kinds.yaml")]
    models = sorted(Path(gpu_fabric.k8s.__path__[0]).rglob("*.py"))
    tables = [CHARTS / "kinds.yaml", CHARTS / "kind_names.yaml", *sorted(CHARTS.glob("**/crds.yaml"))]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in (*own, *models, *tables))).hexdigest()


def _replace(path: Path, text: str) -> None:
    """Write a file whole: several processes may write it at once, and others read it."""
    handle, name = tempfile.mkstemp(dir=CHARTS, prefix=".definition-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).chmod(0o644)
    Path(name).replace(path)


def crd_files() -> Iterator[tuple[Path, str]]:
    """Every CRD file that is written into the stand-in charts, with its text."""
    from .definitions import PlayedKind, custom_resource_definition

    folders: dict[str, list[str] | str] = yaml.safe_load((CHARTS / "kinds.yaml").read_text())
    known = _models()
    for folder, named in folders.items():
        source, names = (named, folders[named]) if isinstance(named, str) else (folder, named)
        changes = _changes(source)
        for model in map(known.__getitem__, names):
            definition = custom_resource_definition(model)
            version = definition["spec"]["versions"][0]
            sources = [
                "operator_kinds.yaml" if isinstance(model, PlayedKind) else f"{model.__module__}.{model.__name__}"
            ]
            for path, patches in changes.items():
                if patch := patches.get(definition["metadata"]["name"]):
                    version["schema"]["openAPIV3Schema"] = _patched(version["schema"]["openAPIV3Schema"], patch)
                    sources.append(str(path.relative_to(CHARTS)))
            what = "those, not this file" if len(sources) > 1 else "that, not this file"
            header = _HEADER.format(sources=" and ".join(sources), what=what)
            text = as_yaml(definition, width=120)
            yield CHARTS / folder / "crds" / f"{model.group()}_{model.plural}.yaml", header + text


def section_folder(chart: str, section: str) -> Path:
    """Where the definitions are that an operator writes with a section of its policy; Helm does not look there."""
    return CHARTS / chart / "sections" / section / "crds"


def _models() -> dict[str, type[KubernetesObject] | PlayedKind]:
    from gpu_fabric.k8s.amd import DeviceConfig, NetworkConfig
    from gpu_fabric.k8s.cni import NetworkAttachmentDefinition
    from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
    from gpu_fabric.k8s.nv_ipam import CIDRPool, IPPool
    from gpu_fabric.k8s.spectrum_x import NicConfigurationTemplate, NicInterfaceNameTemplate, SpectrumXRailPoolConfig
    from .definitions import played_kinds

    models = (
        *(NicClusterPolicy, NicNodePolicy, NetworkAttachmentDefinition),
        *(DeviceConfig, NetworkConfig, IPPool, CIDRPool),
        *(NicConfigurationTemplate, NicInterfaceNameTemplate, SpectrumXRailPoolConfig),
    )
    return {**{model.__name__: model for model in models}, **played_kinds()}


def _changes(folder: str) -> dict[Path, dict[str, Any]]:
    """The patches of every chart and of this one's release line, by file; each by a definition's name."""
    files = (place / "crds.yaml" for place in (CHARTS, CHARTS / folder.partition("/")[0]))
    return {path: yaml.safe_load(path.read_text()) for path in files if path.is_file()}


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


if __name__ == "__main__":
    for written in write_definitions():
        print(written.relative_to(CHARTS.parents[1]))
