"""The manifests that tests attach the fabric to, and how to look at the pods that they make."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from committed_stacks import ROOT, folder_of
from rows import rows
from stack_plans import stack_plan

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.contract import FabricContract

MANIFESTS = Path(__file__).parents[2] / "examples" / "workloads"

NETWORKS = "k8s.v1.cni.cncf.io/networks"


class Expected(NamedTuple):
    """Of one manifest: the pod templates with a container each that get the fabric, those that do not, the document."""

    attached: dict[str, str]
    others: tuple[str, ...] = ()
    document: int = 0


# Paths are written as jq would; "" is the document itself.
EXPECTED = {name: Expected(*row) for name, row in rows(__file__, "expected").items()}


def text_of(name: str) -> str:
    """A manifest as it lies there."""
    return (MANIFESTS / name).read_bytes().decode()


def documents_of(text: str) -> list[Any]:
    """What a text says, read by another reader than the one under test."""
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def meant(text: str) -> AttachOptions:
    """The container `main` where there is one: texts that are about writing ask for no GPUs."""
    return AttachOptions(("main",)) if "main" in text else AttachOptions()


def at(document: Any, path: str) -> Any:
    """What lies at a path with dots.

    Behind a slash is the pod spec where what holds it has labels and annotations; behind a plus sign the container of a
    pod template that has it elsewhere.
    """
    path, _, beside = path.partition("+")
    if beside:
        template, container = at(document, path), {"name": beside.rpartition(".")[2], **at(document, beside)}
        return {**template, "spec": {**template["spec"], "containers": [container]}}
    path, _, spec = path.partition("/")
    for part in filter(None, path.split(".")):
        document = document[int(part) if isinstance(document, list) else part]
    if not spec:
        return document
    return {
        "metadata": {key: document[key] for key in ("labels", "annotations") if key in document},
        "spec": document[spec],
    }


def as_template(found: dict[str, Any]) -> dict[str, Any]:
    """Metadata and spec of a pod template; of a clique of Grove's, whose labels and annotations are its own keys.

    A template of Argo's has what its pod gets in itself; its script is a container, and either is `main`.
    """
    if (main := found.get("container") or found.get("script")) is not None:
        of_both = ("nodeSelector", "tolerations", "affinity", "securityContext", "volumes", "initContainers")
        fields = (*of_both, "resourceClaims")
        plain = {key: value for key, value in main.items() if key != "source"}
        containers = [{**plain, "name": "main"}, *found.get("sidecars", ())]
        spec = {key: found[key] for key in fields if key in found}
        return {"metadata": found.get("metadata"), "spec": {**spec, "containers": containers}}
    if "podSpec" in found["spec"]:
        metadata = {key: found[key] for key in ("labels", "annotations") if key in found}
        return {"metadata": metadata, "spec": found["spec"]["podSpec"]}
    return {key: value for key, value in found.items() if key in ("metadata", "spec")}


class Pod:
    """One pod template with the container that matters."""

    def __init__(self, template: dict[str, Any], container: str) -> None:
        template = as_template(template)
        self.metadata = template.get("metadata") or {}
        self.spec = template["spec"]
        self.container = next(entry for entry in self.spec["containers"] if entry["name"] == container)

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.get("annotations") or {}

    @property
    def environment(self) -> dict[str, Any]:
        return {entry["name"]: entry.get("value") for entry in self.container.get("env", ())}

    @property
    def limits(self) -> dict[str, Any]:
        return self.container["resources"]["limits"]

    @property
    def requests(self) -> dict[str, Any]:
        return self.container["resources"]["requests"]

    def mounted(self, path: str) -> dict[str, Any]:
        """The volume that is mounted at a path."""
        mount = next(entry for entry in self.container["volumeMounts"] if entry["mountPath"].rstrip("/") == path)
        return next(volume for volume in self.spec["volumes"] if volume["name"] == mount["name"])

    def networks(self) -> list[str]:
        """The networks of the pod as `[namespace/]name@interface`, whichever form they are written in."""
        value = self.annotations[NETWORKS]
        if not value.lstrip().startswith("["):
            return [entry.strip() for entry in value.split(",")]
        entries = json.loads(value)
        places = [f"{entry['namespace']}/" if "namespace" in entry else "" for entry in entries]
        return [f"{place}{entry['name']}@{entry['interface']}" for place, entry in zip(places, entries, strict=True)]


def pods_in(text: str, name: str) -> list[Pod]:
    """The pods of an attached manifest that should have the fabric."""
    expected = EXPECTED[name]
    document = documents_of(text)[expected.document]
    return [Pod(at(document, path), container) for path, container in expected.attached.items()]


@cache
def contract_of(stack: str) -> FabricContract:
    """The contract of a committed stack; `examples/` before its name says which of two is meant."""
    folder, _, name = stack.rpartition("/")
    return stack_plan(name, ROOT / folder if folder else folder_of(name)).workload


def assert_kept(before: Any, after: Any) -> None:
    """All keys and entries of before are in after; the networks of the user's own among all."""
    if isinstance(before, dict):
        for key, value in before.items():
            if key == NETWORKS and value:
                assert {own.partition("@")[0] for own in _networks(value)} <= {
                    name.partition("@")[0] for name in _networks(after[key])
                }
            else:
                assert_kept(value, after[key])
    elif isinstance(before, list):
        assert all(any(_contains(new, old) for new in after) for old in before)
    elif before is not None:
        assert after == before or before == ""


def _contains(after: Any, before: Any) -> bool:
    try:
        assert_kept(before, after)
    except (AssertionError, KeyError, TypeError):
        return False
    return True


def _networks(value: str) -> set[str]:
    if value.lstrip().startswith("["):
        return {entry["name"] for entry in json.loads(value)}
    return {entry.strip() for entry in value.split(",")}


def pod_of(template: Any) -> dict[str, Any]:
    """A pod of a template, as the controller of its kind would create it, without an account."""
    own = template.get("metadata") or {}
    metadata = {"name": "one", "labels": own.get("labels") or {}, "annotations": own.get("annotations") or {}}
    spec = template["spec"] | {"automountServiceAccountToken": False}
    spec.pop("serviceAccountName", None)
    # KServe's controller adds the image of its own configuration (LLMInferenceServiceConfig).
    spec["containers"] = [{"image": "vllm", **container} for container in spec["containers"]]
    claims = {mount["name"] for one in spec["containers"] for mount in one.get("volumeMounts", ())}
    claims -= {volume["name"] for volume in spec.get("volumes", ())}
    spec["volumes"] = [*spec.get("volumes", ()), *({"name": one, "emptyDir": {}} for one in sorted(claims))]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
