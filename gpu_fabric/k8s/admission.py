"""admissionregistration.k8s.io: policies in CEL that check objects at admission, and their bindings.

What is in them is written as the API has it, and checked by the API server of the sandbox.
"""

from __future__ import annotations

from pydantic import JsonValue

from gpu_fabric.k8s.base import KubernetesObject

_VERSION = "admissionregistration.k8s.io/v1"


class ValidatingAdmissionPolicy(KubernetesObject, api_version=_VERSION, scope="Cluster"):
    """A policy that checks objects."""

    spec: dict[str, JsonValue]


class ValidatingAdmissionPolicyBinding(KubernetesObject, api_version=_VERSION, scope="Cluster"):
    """Puts a validating policy into effect."""

    spec: dict[str, JsonValue]
