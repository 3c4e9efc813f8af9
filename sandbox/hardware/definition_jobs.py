"""The jobs of charts that apply their own definitions before an upgrade: their pods end once the cluster has these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from .device_plugins import annotations_of, labels_of, runs

Object = dict[str, Any]

APPLIES_LABEL = "sandbox.gpu-fabric/applies"
"""On a pod that applies definitions: the ConfigMap of its namespace that has them, a file an entry."""

ENDS_ANNOTATION = "sandbox.gpu-fabric/completes-after"


def definitions(pod: Mapping[str, Any], config_maps: Mapping[str, Mapping[str, Any]]) -> Iterator[Object]:
    """What the pod applies: definitions, which take the place of those of an earlier version."""
    found = config_maps.get(f"{pod['metadata']['namespace']}/{labels_of(pod)[APPLIES_LABEL]}")
    for text in (found or {}).get("data", {}).values():
        yield from (document for document in yaml.safe_load_all(text) if document)


def is_due(pod: Mapping[str, Any]) -> bool:
    """Whether the pod runs and has not applied them."""
    return runs(pod) and ENDS_ANNOTATION not in annotations_of(pod)
