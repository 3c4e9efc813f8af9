"""What Pulumi deletes or replaces when one plan follows another: by registrations and the providers' own rules.

Nothing here reads what the guard reads. A cloud's rules are the fields of the simulated providers, those of dynamic
resources their own `diff`, and those of Kubernetes pulumi-kubernetes 4.25.0 (provider/pkg/provider/diff.go,
`forceNewProperties`; helm_release.go and provider.go, `forceNewFields`). How a replacement spreads is that of Pulumi
3.259.0 (resource/deploy/step_generator.go, `calculateDependentReplacements`): a resource whose property is an output of
a replaced one is compared again, with that property unknown.
"""

import importlib
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal

from cloud_engine import FakeControlPlanes

from gpu_fabric.render.model import RenderedPlan, RenderedResource
from sandbox.cloud.clock import Clock
from sandbox.cloud.digitalocean.api import Api
from sandbox.cloud.digitalocean.provider import DigitalOcean
from sandbox.cloud.faults import Faults
from sandbox.cloud.oci.provider import Oracle
from sandbox.cloud.resource import ResourceType
from sandbox.cloud.schema import differences, replacing, with_defaults, without_ignored
from sandbox.cloud.store import Store
from sandbox.home import SandboxHome

Key = tuple[str, str]
Fate = Literal["deleted", "replaced"]

_METADATA = (".metadata.name", ".metadata.namespace")
# By apiVersion and kind; a Secret and a ConfigMap can change in place only where the provider is told so.
_FORCE_NEW: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("apps/v1:DaemonSet", "apps/v1:Deployment"), (".spec.selector",)),
    "apps/v1:StatefulSet": (
        ".spec.podManagementPolicy",
        ".spec.revisionHistoryLimit",
        ".spec.selector",
        ".spec.serviceName",
        ".spec.volumeClaimTemplates",
    ),
    "batch/v1:Job": (".spec.completions", ".spec.parallelism", ".spec.selector", ".spec.template"),
    "core/v1:ConfigMap": (".binaryData", ".data"),
    "core/v1:ResourceQuota": (".spec.scopes",),
    "core/v1:Secret": (".type", ".stringData", ".data"),
    "core/v1:Service": (".spec.clusterIP",),
    "rbac.authorization.k8s.io/v1:ClusterRoleBinding": (".roleRef",),
    "rbac.authorization.k8s.io/v1:RoleBinding": (".roleRef",),
}
_RELEASE, DYNAMIC = "kubernetes:helm.sh/v3:Release", "pulumi-python:dynamic/gpu-fabric:"
_PROVIDERS = {
    "KeptObjects": "kept_objects",
    "AdoptedSections": "adopted_sections",
    "QueueDrain": "operators.queue_teardown",
    "QueueRelease": "operators.queue_teardown",
    "WebhookCleanup": "operators.webhook_cleanup",
    "LabelCleanup": "operators.label_cleanup",
    "Verification": "rdma.verification",
}
_CLUSTERS = (":KubernetesCluster", ":ContainerEngine/cluster:Cluster")
_OUTPUT = re.compile(r"<output ([^>]+)\.[^.>]+>")


def fates(base: RenderedPlan, head: RenderedPlan) -> dict[Key, Fate]:
    """What becomes of each resource of the earlier plan that does not stay; one that is kept when it leaves does."""
    before, after = ({(one.type, one.name): one for one in plan.resources} for plan in (base, head))
    found: dict[Key, Fate] = {
        key: "deleted" for key, one in before.items() if key not in after and not one.handling.retain_on_delete
    }
    both = [(key, old, after[key]) for key, old in before.items() if key in after]
    found |= {key: "replaced" for key, old, new in both if _is_replaced(old, new, set())}
    elsewhere = _cluster_id(base) != _cluster_id(head)
    known = -1
    while known != len(found):
        known, gone = len(found), {name for _, name in found}
        # A provider that leads to another cluster replaces all that it has made.
        moved = elsewhere or any(kind.endswith(_CLUSTERS) for kind, _ in found)
        for key, old, new in both:
            on_cluster = new.provider == "cluster-kubernetes" or new.type.startswith(DYNAMIC)
            if key not in found and ((moved and on_cluster) or _is_replaced(old, new, gone)):
                found[key] = "replaced"
    return found


def _cluster_id(plan: RenderedPlan) -> Any:
    """What a stack file states as the id of its cluster, by which the provider knows it."""
    return (plan.decisions.get("cluster") or {}).get("id"), (plan.decisions.get("split") or {}).get("clusterStack")


def _is_replaced(old: RenderedResource, new: RenderedResource, gone: set[str]) -> bool:
    before, after = old.properties, _unknown(new.properties, gone)
    if before == after:
        return False
    if any(_at(before, path) != _at(after, path) for path in new.handling.replace_on_changes):
        return True
    return _rule(old, before, after, new.handling.ignore_changes)


def _rule(old: RenderedResource, before: Any, after: Any, ignored: tuple[str, ...]) -> bool:
    if old.type.startswith("kubernetes:"):
        return any(_at(before, path) != _at(after, path) for path in _forcing(old.type))
    if old.type.startswith(DYNAMIC):
        return bool(replaces_of_class(old.type.removeprefix(DYNAMIC), before, after))
    kind = _kinds()[old.type]
    state, news = with_defaults(kind.fields, before), with_defaults(kind.fields, after)
    changes = kind.adjust(differences(kind.fields, state, news), state, news)
    return bool(replacing(without_ignored(changes, ignored)))


def _forcing(resource_type: str) -> tuple[str, ...]:
    if resource_type == _RELEASE:
        return (".name", ".namespace")
    named = resource_type.removeprefix("kubernetes:")
    # The provider takes no other field of a patch than those of its name.
    return _METADATA if named.endswith("Patch") else (*_METADATA, *_FORCE_NEW.get(named, ()))


def _at(value: Any, path: str) -> Any:
    for key in path.strip(".").split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def replaces_of_class(name: str, before: dict[str, Any], after: dict[str, Any]) -> Any:
    """The properties by which a resource program of this project replaces its resource."""
    module = importlib.import_module(f"components.{_PROVIDERS[name]}")
    provider = getattr(module, f"{name}Provider")()
    # A verification's plan is text to the engine.
    sent = [{**side, "planned": json.dumps(side["planned"])} if "planned" in side else side for side in (before, after)]
    return provider.diff("id", *sent).replaces


@cache
def _kinds() -> Mapping[str, ResourceType]:
    """The clouds' resource types, on accounts of their own."""
    home = Path(mkdtemp())
    api = Api(Store(home / "digitalocean"), Faults(home), Clock(home, 1), FakeControlPlanes(), "a token")
    return {**DigitalOcean(api).resources, **Oracle.of(SandboxHome(home)).resources}


def _unknown(value: Any, gone: set[str]) -> Any:
    """Properties in which the outputs of what is replaced are other ones."""
    if not gone:
        return value
    text = json.dumps(value)
    if not any(name in gone for name in _OUTPUT.findall(text)):
        return value
    return json.loads(_OUTPUT.sub(lambda found: f"new {found[0]}" if found[1] in gone else found[0], text))
