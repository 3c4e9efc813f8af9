"""Detect documents of unknown kinds that create pods or request GPUs, in any form that such kinds use."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.attach.resources import amount
from gpu_fabric.model import FrozenModel

_TABLE = Path(__file__).parent / "passing.yaml"
_REFUSED = Path(__file__).parent / "refused.yaml"
_AMOUNTS = frozenset({"limits", "requests", "resources"})
_GPU_KEYS = frozenset({"gpu", "gpus", "gpucount"})
_GPU_IN_TEXT = re.compile(r"[\w.-]+/gpu[\"']?\s*:\s*[\"']?[^\s0\"']")
_KIND_IN_TEXT = re.compile(r"^[\s-]*[\"']?kind[\"']?\s*:\s*[\"']?\w", re.M)
_PODS_IN_TEXT = re.compile(r"[cC]ontainers?[\"']?\s*:")


class _Passing(FrozenModel):
    kinds: tuple[str, ...]
    group: str
    why: str


@cache
def _passing() -> frozenset[tuple[str, str]]:
    rows = (_Passing.model_validate(row) for row in yaml.safe_load(_TABLE.read_text(encoding="utf-8")))
    return frozenset((kind, row.group) for row in rows for kind in row.kinds)


def passes(kind: str, version: str) -> bool:
    """Whether a kind creates no pods itself, although it may describe pods or amounts of GPUs."""
    return (kind, version.rpartition("/")[0]) in _passing()


class _Refused(FrozenModel):
    kinds: tuple[str, ...]
    group: str
    why: str
    remedy: str
    source: str


@cache
def _refused() -> tuple[_Refused, ...]:
    return tuple(_Refused.model_validate(row) for row in yaml.safe_load(_REFUSED.read_text(encoding="utf-8")))


def reason(kind: str, version: str) -> tuple[str, str] | None:
    """Why the fabric cannot be attached to a known kind that creates pods, and the remedy; None for other kinds."""
    group = version.rpartition("/")[0]
    return next(((row.why, row.remedy) for row in _refused() if kind in row.kinds and row.group == group), None)


def asked_of_pods(value: Any, path: str = "", *, in_amounts: bool = False) -> tuple[str, str] | None:
    """How a document concerns pods, and at which path: it creates pods, requests GPUs, or contains a manifest as text.

    None if it does none of these.
    """
    if isinstance(value, list):
        found = (asked_of_pods(entry, f"{path}[{k}]", in_amounts=in_amounts) for k, entry in enumerate(value))
        return next(filter(None, found), None)
    if isinstance(value, str):
        return ("has the text of a manifest", path) if _is_manifest(value) else None
    if not isinstance(value, dict):
        return None
    for key, inner in value.items():
        here = f"{path}.{key}".lstrip(".")
        name = str(key)
        if _holds_containers(name, inner):
            return "makes pods", here
        if in_amounts and _asks_for_gpus(name, inner):
            return "asks for GPUs", here
        if name.lower() == "gpu" and isinstance(inner, dict) and _is_some(inner.get("quantity")):
            return "asks for GPUs", here
        found_inside = asked_of_pods(inner, here, in_amounts=in_amounts or name in _AMOUNTS)
        if found_inside is not None:
            return found_inside
    return None


def _holds_containers(key: str, value: Any) -> bool:
    if isinstance(value, list):
        return key == "containers" and any(isinstance(entry, dict) and "name" in entry for entry in value)
    return isinstance(value, dict) and key.lower().endswith("container") and "image" in value


def _asks_for_gpus(key: str, value: Any) -> bool:
    return (key.endswith("/gpu") or key.lower() in _GPU_KEYS) and _is_some(value)


def _is_some(value: Any) -> bool:
    """Whether it is an amount other than 0, or text such as a template that may become one."""
    return isinstance(value, str | int | float) and not isinstance(value, bool) and amount(value) != 0


def _is_manifest(text: str) -> bool:
    if "\n" not in text and "{" not in text:
        return False
    return bool(_GPU_IN_TEXT.search(text) or (_KIND_IN_TEXT.search(text) and _PODS_IN_TEXT.search(text)))
