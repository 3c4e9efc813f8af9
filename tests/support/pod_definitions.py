"""Definitions of custom workloads for an API server, whose pods are described as that server itself describes pods.

The real definitions of most of these kinds are in no folder of this repository. Those made here know only where the
pods are, by the published API types of each kind; a field there is refused exactly where a Deployment's would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Schema = dict[str, Any]

_PREFIX = "#/components/schemas/"
_POD_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"
_POD_SPEC = "io.k8s.api.core.v1.PodSpec"
_KEPT = ("type", "format", "required", "nullable", "enum", "x-kubernetes-preserve-unknown-fields")
_ANYTHING: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Definition(NamedTuple):
    """A kind, and what lies where in it: a path of keys, `*` for every entry of a list and `**` of a mapping."""

    group: str
    version: str
    plural: str
    namespaced: bool
    parts: Mapping[str, str]

    @property
    def path(self) -> str:
        """Where the API server has the kind's objects, those of the namespace `default`."""
        namespace = "namespaces/default/" if self.namespaced else ""
        return f"/apis/{self.group}/{self.version}/{namespace}{self.plural}"


_JOBS = "replicatedJobs.*.template.spec.template"
_TRAINER = {f"spec.template.spec.{_JOBS}": _POD_TEMPLATE}
_RAY = {"headGroupSpec.template": _POD_TEMPLATE, "workerGroupSpecs.*.template": _POD_TEMPLATE}

# A container of Argo's needs no name, and a script has its source beside.
_STEP_CONTAINER = "a container or script of a step"
_STEP = {
    "volumes.*": "io.k8s.api.core.v1.Volume",
    "tolerations.*": "io.k8s.api.core.v1.Toleration",
    "container": _STEP_CONTAINER,
    "script": _STEP_CONTAINER,
}

DEFINITIONS = {
    "MPIJob": Definition(
        "kubeflow.org", "v2beta1", "mpijobs", True, {"spec.mpiReplicaSpecs.**.template": _POD_TEMPLATE}
    ),
    "PyTorchJob": Definition(
        "kubeflow.org", "v1", "pytorchjobs", True, {"spec.pytorchReplicaSpecs.**.template": _POD_TEMPLATE}
    ),
    "JobSet": Definition("jobset.x-k8s.io", "v1alpha2", "jobsets", True, {f"spec.{_JOBS}": _POD_TEMPLATE}),
    "LeaderWorkerSet": Definition(
        "leaderworkerset.x-k8s.io",
        "v1",
        "leaderworkersets",
        True,
        {f"spec.leaderWorkerTemplate.{role}Template": _POD_TEMPLATE for role in ("leader", "worker")},
    ),
    "RayCluster": Definition(
        "ray.io", "v1", "rayclusters", True, {f"spec.{path}": name for path, name in _RAY.items()}
    ),
    "RayJob": Definition(
        "ray.io", "v1", "rayjobs", True, {f"spec.rayClusterSpec.{path}": name for path, name in _RAY.items()}
    ),
    "ClusterTrainingRuntime": Definition(
        "trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", False, _TRAINER
    ),
    "TrainJob": Definition(
        "trainer.kubeflow.org",
        "v1alpha1",
        "trainjobs",
        True,
        {
            f"spec.runtimePatches.*.trainingRuntimeSpec.template.spec.{_JOBS}": _POD_TEMPLATE,
            "spec.trainer.env.*": "io.k8s.api.core.v1.EnvVar",
            "spec.trainer.resourcesPerNode": "io.k8s.api.core.v1.ResourceRequirements",
        },
    ),
    "PodCliqueSet": Definition(
        "grove.io", "v1alpha1", "podcliquesets", True, {"spec.template.cliques.*.spec.podSpec": _POD_SPEC}
    ),
    "DynamoGraphDeployment": Definition(
        "nvidia.com", "v1beta1", "dynamographdeployments", True, {"spec.components.*.podTemplate": _POD_TEMPLATE}
    ),
    "Workflow": Definition(
        "argoproj.io",
        "v1alpha1",
        "workflows",
        True,
        {f"spec.templates.*.{key}": name for key, name in _STEP.items()},
    ),
    "CronWorkflow": Definition(
        "argoproj.io",
        "v1alpha1",
        "cronworkflows",
        True,
        {f"spec.workflowSpec.templates.*.{key}": name for key, name in _STEP.items()},
    ),
    "Job": Definition("batch.volcano.sh", "v1alpha1", "jobs", True, {"spec.tasks.*.template": _POD_TEMPLATE}),
}
"""The custom kinds of the manifests; Kubernetes' own Job is of another group."""


def made_definition(kind: str, components: Mapping[str, Schema]) -> Schema:
    """A CustomResourceDefinition of a kind; `components` are the schemas of the server's OpenAPI v3 document."""
    about = DEFINITIONS[kind]
    root: Schema = {"type": "object", "properties": {"spec": dict(_ANYTHING)}}
    for path, name in about.parts.items():
        _put(root, path.split("."), _schema_of(name, components))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{about.plural}.{about.group}"},
        "spec": {
            "group": about.group,
            "scope": "Namespaced" if about.namespaced else "Cluster",
            "names": {"kind": kind, "plural": about.plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": about.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}],
        },
    }


def _schema_of(name: str, components: Mapping[str, Schema]) -> Schema:
    if name != _STEP_CONTAINER:
        return structural({"$ref": _PREFIX + name}, components)
    schema = structural({"$ref": f"{_PREFIX}io.k8s.api.core.v1.Container"}, components)
    schema.pop("required")
    return schema | {"properties": schema["properties"] | {"source": {"type": "string"}}}


def structural(schema: Schema, components: Mapping[str, Schema]) -> Schema:
    """A schema with what it refers to written out, in the form that a definition may have.

    Without descriptions, defaults and merge keys, which say nothing about what is refused.
    """
    for reference in (schema, *schema.get("allOf", ())):
        if "$ref" in reference:
            return structural(components[reference["$ref"].removeprefix(_PREFIX)], components)
    if "oneOf" in schema:
        # A quantity, or a port by number or name.
        return {"x-kubernetes-int-or-string": True}
    result = {key: schema[key] for key in _KEPT if key in schema}
    if "properties" in schema:
        result["properties"] = {name: structural(inner, components) for name, inner in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = structural(schema[key], components)
    return result


def _put(here: Schema, path: list[str], schema: Schema) -> None:
    """Put a schema at a path; other keys on the way may hold anything."""
    key, rest = path[0], path[1:]
    if key == "*":
        here.update({"type": "array"})
        here.pop("x-kubernetes-preserve-unknown-fields", None)
        holder, name = here, "items"
    elif key == "**":
        here.pop("x-kubernetes-preserve-unknown-fields", None)
        holder, name = here, "additionalProperties"
    else:
        holder, name = here.setdefault("properties", {}), key
    if not rest:
        holder[name] = schema
        return
    _put(holder.setdefault(name, dict(_ANYTHING)), rest, schema)
