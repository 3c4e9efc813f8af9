"""A cluster as its API server would show it: the sandbox's nodes, Kubernetes' own objects, and what a test adds."""

import copy
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gpu_fabric.live.cluster import Cluster, NotAllowed
from gpu_fabric.spec.stack import StackSpec
from sandbox.simulated_nodes import cloud_devices, desired_nodes

Object = dict[str, Any]

# As pulumi-kubernetes 4.25 names its field managers: one for each resource.
PULUMI = "pulumi-kubernetes-3f6a1b2c"
_SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")
# What an API server has without any definition, as far as it is asked for here.
_BUILT_IN = (
    "api/v1",
    *(
        f"apis/{group}/v1"
        for group in (
            "apps",
            "rbac.authorization.k8s.io",
            "apiextensions.k8s.io",
            "admissionregistration.k8s.io",
            "discovery.k8s.io",
            "networking.k8s.io",
            "apiregistration.k8s.io",
            "batch",
        )
    ),
    # Since Kubernetes 1.34.
    "apis/resource.k8s.io/v1",
)


class PlayedCluster:
    """Objects by collection: `nodes`, `apis/apps/v1/daemonsets`, …; `denied` are kinds that the user may not create."""

    def __init__(self, spec: StackSpec, version: str = "v1.35.2") -> None:
        self.version = version
        self.objects: dict[str, list[Object]] = {}
        self.denied: set[str] = set()
        self.forbidden: set[str] = set()
        self.requests: list[str] = []
        for name in _SYSTEM:
            self.namespace(name)
        for node in desired_nodes(spec):
            # The kubelet, or who plays it, says that the node is ready.
            node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            # The cloud's device plug-in runs.
            devices = {name: str(count) for name, count in cloud_devices(node).items()}
            node["status"] |= {part: node["status"][part] | devices for part in ("capacity", "allocatable")}
            self.add("api/v1/nodes", node, manager="kubelet")
        service = {"metadata": {"name": "kubernetes", "namespace": "default"}, "spec": {"clusterIP": "10.96.0.1"}}
        self.add("api/v1/services", service, manager="kube-apiserver")
        ranges = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/16"]}}
        self.add("apis/networking.k8s.io/v1/servicecidrs", ranges, manager="kube-apiserver")

    def add(self, collection: str, item: Mapping[str, Any], manager: str = "kubectl-client-side-apply") -> Object:
        """Create an object, as a manager does; gives it as it is kept."""
        kept = copy.deepcopy(dict(item))
        managed = [{"manager": manager, "operation": "Apply"}]
        if manager == PULUMI and _names_alone(item):
            # Server-side apply of a name alone: there is no field to manage, as of a namespace without labels.
            managed = []
        kept["metadata"] = {"creationTimestamp": "2026-05-04T10:00:00Z", **kept["metadata"], "managedFields": managed}
        self.objects.setdefault(collection, []).append(kept)
        return kept

    def namespace(self, name: str, manager: str = "kubectl-create", **labels: str) -> Object:
        """Create a namespace."""
        named = {"kubernetes.io/metadata.name": name}
        labelled = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
        item = {"metadata": {"name": name, "labels": {**named, **labelled}}, "status": {"phase": "Active"}}
        return self.add("api/v1/namespaces", item, manager)

    def find(self, collection: str, name: str) -> Object:
        """The object of a name, to be changed."""
        return next(item for item in self.objects[collection] if item["metadata"]["name"] == name)

    @property
    def nodes(self) -> list[Object]:
        """The nodes with GPUs."""
        return [node for node in self.objects["api/v1/nodes"] if not node["metadata"]["name"].startswith("system-")]

    @property
    def cluster(self) -> Cluster:
        """What is held against a plan."""
        return Cluster(self.read, self.create)

    def read(self, path: str) -> Object | None:
        """The answer to a GET request, as an API server gives it: a list, an object, or None."""
        self.requests.append(path)
        parts, query = urlsplit(path).path.strip("/").split("/"), parse_qs(urlsplit(path).query)
        if parts == ["version"]:
            return {"gitVersion": self.version}
        root = parts[:2] if parts[0] == "api" else parts[:3]
        rest, namespace = parts[len(root) :], None
        if parts[0] == "apis" and len(parts) == 2:
            return self.group(parts[1])
        if not rest:
            return self.served("/".join(root))
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        collection = "/".join([*root, rest[0]])
        if f"/{collection}" in self.forbidden:
            raise NotAllowed(f"{rest[0]} is forbidden: User cannot list resource {rest[0]}")
        if collection not in self.objects and "/".join(root) not in _BUILT_IN:
            return None
        kept = [
            item
            for item in self.objects.get(collection, ())
            if namespace is None or item["metadata"].get("namespace") == namespace
        ]
        if len(rest) > 1:
            return next((item for item in kept if item["metadata"]["name"] == rest[1]), None)
        for term in ",".join(query.get("labelSelector", ())).split(","):
            key, operator, value = term.partition("!=") if "!=" in term else term.partition("=")
            if operator:
                wanted = operator == "="
                kept = [item for item in kept if (item["metadata"].get("labels", {}).get(key) == value) == wanted]
        return {"kind": "List", "items": kept}

    def group(self, name: str) -> Object | None:
        """What the API server says of a group: the versions that it serves."""
        roots = [*_BUILT_IN, *(path.rpartition("/")[0] for path in self.objects)]
        if self.version < "v1.34":
            roots.remove("apis/resource.k8s.io/v1")
        found = dict.fromkeys(root.rpartition("/")[2] for root in roots if root.startswith(f"apis/{name}/"))
        return {"kind": "APIGroup", "versions": [{"version": version} for version in found]} if found else None

    def served(self, root: str) -> Object | None:
        """What a group version serves, of the kinds that were added: the plural tells the kind."""
        plurals = [name.rpartition("/")[2] for name in self.objects if name.rpartition("/")[0] == root]
        rows = [
            {"name": plural, "kind": item.get("kind", ""), "namespaced": "namespace" in item["metadata"]}
            for plural in plurals
            for item in self.objects[f"{root}/{plural}"][:1]
        ]
        return {"resources": rows} if rows else None

    def create(self, path: str, manifest: Object) -> Object:
        """The answer to a SelfSubjectAccessReview; nothing else may be created."""
        assert path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", path
        asked = manifest["spec"]["resourceAttributes"]
        assert asked["verb"] == "create"
        if asked["resource"] in self.denied:
            return {"status": {"allowed": False, "reason": "no RBAC policy matched"}}
        return {"status": {"allowed": True}}


Plant = Callable[[PlayedCluster], object]


def _names_alone(item: Mapping[str, Any]) -> bool:
    return item.keys() <= {"apiVersion", "kind", "metadata", "status"} and item["metadata"].keys() <= {
        "name",
        "namespace",
    }
