"""What a container's process gets: its command, variables and files, as they can be on a machine that all share."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.base.yaml_files import as_yaml
from ..home import write_private
from ..kubernetes_api import Object
from .table import ControllerRow

Read = Callable[[str, str], Object | None]
"""Gives a `configmaps` or `secrets` object of the pod's namespace by its name; None if there is none."""

_KEY_SOURCES = {"configMapKeyRef": "configmaps", "secretKeyRef": "secrets"}
_PLACE = re.compile(r"\{([^{}]+)\}")


class NotYetError(Exception):
    """A container cannot start, for the reason that a kubelet would give."""


@dataclass(frozen=True)
class Container:
    """A container of a pod that a process plays, with its files in `folder`; `ports` of the machine are by its own."""

    row: ControllerRow
    pod: Object
    folder: Path
    ports: Mapping[int, int]
    kubeconfig: Path

    @property
    def namespace(self) -> str:
        name: str = self.pod["metadata"]["namespace"]
        return name

    @property
    def _spec(self) -> Mapping[str, Any]:
        containers = self.pod["spec"]["containers"]
        return next(entry for entry in containers if self.row.container in (None, entry["name"]))

    @property
    def name(self) -> str:
        name: str = self._spec["name"]
        return name

    @property
    def build(self) -> str:
        """The name of what is built for it."""
        return self.row.build_for(self._spec.get("image", ""))

    def command(self, folder: Path) -> list[str]:
        """The program out of a build's folder, with the container's arguments."""
        spec = self._spec
        said = [*(spec.get("command") or ())[1:], *(spec.get("args") or ())]
        own = [str(self.filled(text)) for text in self.row.arguments]
        return [str(folder / (self.row.program or self.row.binary)), *(self._relocated(text) for text in said), *own]

    def environment(self, read: Read) -> dict[str, str]:
        """The container's variables, as far as they have values, and what the controller needs here.

        Raises:
            NotYetError: an object that a variable is taken from does not exist, or has no such key.
        """
        found = {entry["name"]: self._value(entry, read) for entry in self._spec.get("env") or ()}
        own = {name: str(self.filled(text)) for name, text in self.row.environment.items()}
        return {**found, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder), **own}

    def ready_url(self) -> str | None:
        """Where the process says that it is ready; None where it runs without a probe."""
        return None if self.row.ready is None else str(self.filled(self.row.ready))

    def write_files(self, read: Read, built: Path) -> None:
        """Write the content of its volumes, and change the settings of its configuration file.

        What the image has besides comes out of the folder `built`.

        Raises:
            NotYetError: an object that a volume is made of does not exist.
        """
        for name in self.row.beside:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not (self.folder / name).exists():
                (self.folder / name).symlink_to(built / name)
        volumes = {volume["name"]: volume for volume in self.pod["spec"].get("volumes") or ()}
        for mount in self._mounts():
            volume = volumes.get(mount["name"]) or {}
            data = _content(volume, read)
            if data is None:
                raise NotYetError(f"volume {mount['name']}: its {_names(volume)} does not exist")
            self._write(mount, data)

    def filled(self, value: Any) -> Any:
        """A value of controllers.yaml with what stands in its braces; a text that is a port alone is a number."""
        if not isinstance(value, str):
            return value
        if (only := _PLACE.fullmatch(value)) and only[1].isdecimal():
            return self.ports[int(only[1])]
        return _PLACE.sub(lambda found: self._place(found[1]), value)

    def _place(self, name: str) -> str:
        if name.isdecimal():
            return str(self.ports[int(name)])
        known = {"namespace": self.namespace, "kubeconfig": str(self.kubeconfig)}
        return known[name] if name in known else str(self._path(name))

    def _mounts(self) -> Sequence[Mapping[str, Any]]:
        return self._spec.get("volumeMounts") or ()

    def _path(self, inside: str) -> Path:
        """Where on this machine something is that has a path in the container."""
        return self.folder / "root" / inside.lstrip("/")

    def _relocated(self, text: str) -> str:
        """A text with the paths of mounts as they are on this machine, the longest first."""
        for mount in sorted(self._mounts(), key=lambda entry: -len(entry["mountPath"])):
            inside = mount["mountPath"].rstrip("/")
            text = re.sub(rf"(?<![\w/.-]){re.escape(inside)}(?![\w.-])", str(self._path(inside)), text)
        return text

    def _value(self, entry: Mapping[str, Any], read: Read) -> str:
        source = entry.get("valueFrom") or {}
        for kind, plural in _KEY_SOURCES.items():
            if kind in source:
                return _of_key(entry["name"], source[kind], plural, read)
        field = (source.get("fieldRef") or {}).get("fieldPath", "")
        metadata = self.pod["metadata"]
        fields: dict[str, str] = {
            "metadata.name": metadata["name"],
            "metadata.namespace": metadata["namespace"],
            "spec.nodeName": self.pod["spec"].get("nodeName", ""),
            "spec.serviceAccountName": self.pod["spec"].get("serviceAccountName", ""),
            "status.podIP": "127.0.0.1",
        }
        return fields.get(field, self._relocated(str(entry.get("value", ""))))

    def _write(self, mount: Mapping[str, Any], data: Mapping[str, bytes]) -> None:
        place = self._path(mount["mountPath"])
        if part := mount.get("subPath"):
            if part not in data:
                raise NotYetError(f"volume {mount['name']} has no {part}")
            self._keep(place, mount["mountPath"], data[part])
            return
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in data.items():
            self._keep(place / name, f"{mount['mountPath']}/{name}", content)
        for file in place.iterdir():
            if file.name not in data:
                file.unlink()

    def _keep(self, file: Path, inside: str, content: bytes) -> None:
        if inside == self.row.file:
            content = self._configured(content)
        if not file.exists() or file.read_bytes() != content:
            write_private(file, content)

    def _configured(self, content: bytes) -> bytes:
        """A configuration file with the settings that a process of this machine needs; without a mapping it stays."""
        document = yaml.safe_load(content)
        if not isinstance(document, dict):
            return content
        for path, value in self.row.settings.items():
            *above, last = path.split(".")
            section = document
            for name in above:
                section = section.setdefault(name, {})
            section[last] = self.filled(value)
        return as_yaml(document).encode()


def container_ports(row: ControllerRow) -> list[int]:
    """The ports in the container that need one of this machine: all that controllers.yaml names."""
    texts = (row.ready or "", *row.arguments, *row.settings.values(), *row.environment.values())
    return sorted(set(_numbers(str(text) for text in texts)))


def _numbers(texts: Iterator[str]) -> Iterator[int]:
    for text in texts:
        yield from (int(name) for name in _PLACE.findall(text) if name.isdecimal())


def _content(volume: Mapping[str, Any], read: Read) -> dict[str, bytes] | None:
    """The files of a volume that is made of ConfigMaps and Secrets, else none. None if such an object is missing."""
    found: dict[str, bytes] = {}
    for plural, source in _sources(volume):
        name = source.get("secretName") or source["name"]
        item = read(plural, name)
        if item is None and not source.get("optional"):
            return None
        data = {key: _decoded(plural, text) for key, text in ((item or {}).get("data") or {}).items()}
        wanted = {entry["key"]: entry["path"] for entry in source.get("items") or ()} or {key: key for key in data}
        found |= {wanted[key]: content for key, content in data.items() if key in wanted}
    return found


def _of_key(variable: str, source: Mapping[str, Any], plural: str, read: Read) -> str:
    """The value that a variable takes from a key of a ConfigMap or Secret."""
    text = ((read(plural, source["name"]) or {}).get("data") or {}).get(source["key"])
    if text is None and not source.get("optional"):
        raise NotYetError(f"variable {variable}: {plural} {source['name']} with {source['key']} does not exist")
    return "" if text is None else _decoded(plural, text).decode()


def _decoded(plural: str, text: str) -> bytes:
    return base64.b64decode(text) if plural == "secrets" else text.encode()


def _sources(volume: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What a volume is made of: the plural of each source's kind, and the source."""
    parts = (volume.get("projected") or {}).get("sources") or (volume,)
    for part in parts:
        for kind, plural in (("configMap", "configmaps"), ("secret", "secrets")):
            if part.get(kind) is not None:
                yield plural, part[kind]


def _names(volume: Mapping[str, Any]) -> str:
    """The objects that a volume is made of, for a message."""
    kinds = {"configmaps": "ConfigMap", "secrets": "Secret"}
    return ", ".join(
        f"{kinds[plural]} {source.get('secretName') or source['name']}" for plural, source in _sources(volume)
    )
