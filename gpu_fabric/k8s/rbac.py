"""rbac.authorization.k8s.io/v1: permissions of a service account, in the whole cluster or in one namespace."""

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject

_GROUP = "rbac.authorization.k8s.io"


class PolicyRule(KubernetesModel):
    """Verbs on resources of API groups; the core group is the empty text. `resource_names` limit them to objects."""

    api_groups: tuple[str, ...] = Field(min_length=1)
    resources: tuple[str, ...] = Field(min_length=1)
    resource_names: tuple[str, ...] | None = Field(default=None, min_length=1)
    verbs: tuple[str, ...] = Field(min_length=1)


class ClusterRole(KubernetesObject, api_version=f"{_GROUP}/v1", scope="Cluster"):
    """Rules under a name."""

    rules: tuple[PolicyRule, ...] = Field(min_length=1)


class Role(KubernetesObject, api_version=f"{_GROUP}/v1"):
    """Rules under a name, in one namespace."""

    rules: tuple[PolicyRule, ...] = Field(min_length=1)


class RoleReference(KubernetesModel):
    """The role of a binding."""

    api_group: Literal["rbac.authorization.k8s.io"] = "rbac.authorization.k8s.io"
    kind: Literal["ClusterRole", "Role"] = "ClusterRole"
    name: str


class Subject(KubernetesModel):
    """The service account that gets the role."""

    kind: Literal["ServiceAccount"] = "ServiceAccount"
    name: str
    namespace: str


class ClusterRoleBinding(KubernetesObject, api_version=f"{_GROUP}/v1", scope="Cluster"):
    """A role given to subjects; the API server never changes which role."""

    role_ref: RoleReference
    subjects: tuple[Subject, ...] = Field(min_length=1)


class RoleBinding(KubernetesObject, api_version=f"{_GROUP}/v1"):
    """A role given to subjects in one namespace; the API server never changes which role."""

    role_ref: RoleReference
    subjects: tuple[Subject, ...] = Field(min_length=1)
