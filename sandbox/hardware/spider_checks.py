"""Checks of Spiderpool's webhook: pure functions from an object and the existing ones to the reason for a refusal.

The rules for one object are those of the typed models; here are those that need the old object or the others.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from typing import Any, get_args

from pydantic import ValidationError

from gpu_fabric.k8s.base import KubernetesModel, ObjectMeta
from gpu_fabric.k8s.cni import CniVersion
from gpu_fabric.k8s.spiderpool import SpiderCoordinatorSpec, SpiderIPPoolSpec, SpiderMultusConfig, SpiderReservedIPSpec
from sandbox.hardware.device_plugins import annotations_of
from sandbox.hardware.spider_defaults import INJECT_ANNOTATIONS
from sandbox.hardware.spider_pools import PoolBook, extent_of
from sandbox.hardware.spiderpool import NAME_ANNOTATION, SECTIONS, VERSION_ANNOTATION

Object = dict[str, Any]


class RefusedError(ValueError):
    """The webhook refuses the object; the text is what the API server shows."""


class Checks:
    """Decisions about objects of Spiderpool. What it remembers is only how pools read."""

    def __init__(self) -> None:
        self._book = PoolBook()

    def check(self, new: Mapping[str, Any], old: Mapping[str, Any] | None, pools: Mapping[str, Object]) -> None:
        """Raises RefusedError where an object cannot come, or become what it is to be; `pools` are all that exist.

        Whatever is being deleted may change.
        """
        if "deletionTimestamp" in new["metadata"]:
            return
        kinds: dict[str, Callable[[], None]] = {
            "SpiderIPPool": lambda: self._pool(new, old, pools),
            "SpiderReservedIP": lambda: _reservation(new, old),
            "SpiderMultusConfig": lambda: _network(new, old),
            "SpiderCoordinator": lambda: _coordinator(new["spec"], needs_type=True),
        }
        if new["kind"] in kinds:
            kinds[new["kind"]]()

    def _pool(self, new: Mapping[str, Any], old: Mapping[str, Any] | None, pools: Mapping[str, Object]) -> None:
        spec, name = new["spec"], new["metadata"].get("name", "")
        _fixed(new, old, "subnet", "ipVersion")
        _in_network_form(spec.get("subnet") or "")
        _fits(SpiderIPPoolSpec, spec)
        clash = self._book.clash(name, extent_of(spec), pools)
        if clash is not None:
            raise RefusedError(f"spec: {clash}")


def _fixed(new: Mapping[str, Any], old: Mapping[str, Any] | None, *fields: str) -> None:
    for field in fields if old is not None else ():
        before, after = (item["spec"].get(field) for item in (old or {}, new))
        if before != after:
            raise RefusedError(f"spec.{field}: it cannot change from {before} to {after}")


def _in_network_form(subnet: str) -> None:
    try:
        network = ipaddress.ip_network(subnet, strict=False)
    except ValueError as problem:
        raise RefusedError(f"spec.subnet: {problem}") from None
    if str(network) != subnet:
        raise RefusedError(f"spec.subnet: {subnet} is not the network's own form: write {network}")


def _fits(model: type[KubernetesModel], spec: Mapping[str, Any], at: str = "spec") -> None:
    try:
        model.model_validate(_given(spec))
    except ValidationError as error:
        raise RefusedError(_reasons(error, at)) from None


def _given(section: Mapping[str, Any]) -> Object:
    """A part of an object without empty texts, which to Spiderpool are the same as nothing."""
    return {
        key: _given(value) if isinstance(value, Mapping) else value for key, value in section.items() if value != ""
    }


def _reasons(error: ValidationError, at: str) -> str:
    return "; ".join(
        f"{'.'.join((at, *map(str, item['loc'])))}: {item['msg'].removeprefix('Value error, ')}"
        for item in error.errors()
    )


def _reservation(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> None:
    _fixed(new, old, "ipVersion")
    _fits(SpiderReservedIPSpec, new["spec"])


def _coordinator(spec: Mapping[str, Any], *, needs_type: bool, at: str = "spec") -> None:
    if needs_type and not spec.get("podCIDRType"):
        raise RefusedError(f"{at}.podCIDRType: it is needed")
    _fits(SpiderCoordinatorSpec, spec, at)


def _network(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> None:
    annotations, spec = annotations_of(new), dict(new["spec"])
    _names(annotations, annotations_of(old) if old is not None else None)
    _coordinator(spec.pop("coordinator", None) or {}, needs_type=False, at="spec.coordinator")
    kind, custom = spec.get("cniType", "custom"), spec.pop("customCNI", "")
    if kind == "custom":
        _custom(custom, spec, annotations)
        return
    if custom:
        raise RefusedError(f"spec.customCNI: cniType {kind} takes only its own section")
    if kind not in SECTIONS:
        raise RefusedError(f"spec.cniType: the sandbox does not play {kind}")
    section = spec.get(SECTIONS[kind])
    if isinstance(section, Mapping) and kind in ("ib-sriov", "ipoib"):
        # taken, and without effect
        pools = {key: value for key, value in (section.get("ippools") or {}).items() if key != "matchMasterSubnet"}
        spec[SECTIONS[kind]] = {**section, "ippools": pools}
    metadata = ObjectMeta(
        name=new["metadata"].get("name", "unnamed"),
        namespace=new["metadata"].get("namespace", "default"),
        annotations=dict(annotations),
    )
    try:
        SpiderMultusConfig.model_validate({"metadata": metadata, "spec": _given(spec)})
    except ValidationError as error:
        raise RefusedError(_reasons(error, "SpiderMultusConfig")) from None


def _names(annotations: Mapping[str, str], before: Mapping[str, str] | None) -> None:
    name, version = annotations.get(NAME_ANNOTATION), annotations.get(VERSION_ANNOTATION)
    if before is not None and before.get(NAME_ANNOTATION) != name:
        raise RefusedError(f"{NAME_ANNOTATION}: it cannot change from {before.get(NAME_ANNOTATION)} to {name}")
    if name is not None:
        try:
            ObjectMeta(name=name)
        except ValidationError as error:
            raise RefusedError(_reasons(error, NAME_ANNOTATION)) from None
    if version is not None and version not in get_args(CniVersion):
        raise RefusedError(f"{VERSION_ANNOTATION}: {version} is none of {', '.join(get_args(CniVersion))}")


def _custom(text: str, spec: Mapping[str, Any], annotations: Mapping[str, str]) -> None:
    present = [name for name in (*SECTIONS.values(), "ipvlan", "vlan", "ovs") if spec.get(name)]
    if present:
        raise RefusedError(f"spec.{present[0]}: cniType custom takes only customCNI")
    for key in INJECT_ANNOTATIONS:
        if key in annotations:
            raise RefusedError(f"{key}: a network of cniType custom cannot be injected")
    try:
        json.loads(text or "{}")
    except ValueError as problem:
        raise RefusedError(f"spec.customCNI: it is not JSON: {problem}") from None
