"""Parts of a kind whose content its definition leaves open."""

from typing import Annotated, Any

from pydantic import WithJsonSchema

OpenObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})]
"""A mapping with any content."""

OpenPodTemplate = OpenObject
"""A template of pods: it is judged once pods are made of it."""
