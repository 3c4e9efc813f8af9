"""A pod template and its GPU container, with everything that the contract asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fabric.attach.networks import attach_annotations
from fabric.attach.place import Place, shown
from fabric.attach.resources import attach_resources
from fabric.k8s.cni import NETWORKS_ANNOTATION
from fabric.plan import FabricContract

# Everything else of the contract's patch is set where the user sets nothing.
_MERGED_OF_SPEC = ("hostNetwork", "dnsPolicy", "nodeSelector", "tolerations", "volumes", "containers")
_MERGED_OF_CONTAINER = ("name", "resources", "env", "volumeMounts", "securityContext")


class Fabric(NamedTuple):
    """What a pod in one namespace gets: of the contract all, or all but the files where those are out of reach."""

    contract: FabricContract
    namespace: str
    annotations: Mapping[str, str]
    with_files: bool = True

    @property
    def spec(self) -> dict[str, Any]:
        """The pod's part of the contract's patch."""
        spec: Any = self.contract.pod_template_patch["spec"]
        return dict(spec)

    @property
    def container(self) -> dict[str, Any]:
        """The container's part of it."""
        return dict(self.spec["containers"][0])

    @property
    def environment(self) -> dict[str, str]:
        """The container's variables, without those that name a file which is not there."""
        paths = {file.variable for file in self.contract.files}
        known = self.contract.environment
        return {name: value for name, value in known.items() if self.with_files or name not in paths}

    @property
    def mounts(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Each mount of the container with its volume."""
        volumes = {volume["name"]: volume for volume in self.spec["volumes"]}
        pairs = [(mount, volumes[mount["name"]]) for mount in self.container["volumeMounts"]]
        return [pair for pair in pairs if self.with_files or "configMap" not in pair[1]]


def attach_template(template: Place, container: Place, fabric: Fabric) -> None:
    """Attach the fabric to one container of a pod template; what cannot be is recorded."""
    metadata = template.made("metadata")
    if fabric.annotations:
        attach_annotations(metadata, fabric.annotations, fabric.namespace)
    patch: Any = fabric.contract.pod_template_patch
    for key, value in patch.get("metadata", {}).items():
        if key != "annotations":
            metadata.keep_or_set(key, value)
    if not metadata.content:
        del template.content["metadata"]
    attach_resources(container, fabric.contract)
    _attach_environment(container, fabric.environment)
    spec = template.made("spec")
    _attach_host_network(spec, fabric)
    for key, value in fabric.contract.node_selector.items():
        _attach_selector(spec.made("nodeSelector"), key, value)
    wanted = [toleration.to_dict() for toleration in fabric.contract.tolerations]
    present = spec.entries("tolerations")
    spec.append("tolerations", *(one for one in wanted if not any(_covers(own.content, one) for own in present)))
    for mount, volume in fabric.mounts:
        _attach_mount(spec, container, mount, volume)
    _attach_security(container, fabric.container["securityContext"])
    for place, known, merged in (
        (spec, fabric.spec, _MERGED_OF_SPEC),
        (container, fabric.container, _MERGED_OF_CONTAINER),
    ):
        for key, value in known.items():
            if key not in merged:
                place.keep_or_set(key, value)


def _attach_environment(container: Place, wanted: Mapping[str, str]) -> None:
    present = {entry.content.get("name"): entry for entry in container.entries("env")}
    if container.entries("envFrom") and wanted:
        container.note("envFrom", "the fabric's variables win over those of the same name from here")
    missing = []
    for name, value in wanted.items():
        own = present.get(name)
        if own is None:
            missing.append({"name": name, "value": value})
        elif own.content.get("value") != value:
            kept = "what it refers to" if "valueFrom" in own.content else shown(own.content.get("value", ""))
            own.note("", f"{name} keeps {kept}; the fabric's value is {shown(value)}")
    container.append("env", *missing)


def _attach_host_network(spec: Place, fabric: Fabric) -> None:
    own = spec.content.get("hostNetwork")
    if fabric.contract.host_network:
        if own is False:
            spec.refuse("hostNetwork", "the stack's pods use the node's own network", "remove it, or write true")
            return
        for key in ("hostNetwork", "dnsPolicy"):
            if key in fabric.spec:
                spec.keep_or_set(key, fabric.spec[key])
    elif own is True and NETWORKS_ANNOTATION in fabric.annotations:
        spec.refuse("hostNetwork", "a pod on the node's own network gets no other networks", "remove it")


def _attach_selector(selector: Place, key: str, value: str) -> None:
    own = selector.content.setdefault(key, value)
    if own != value:
        selector.refuse(key, f"{shown(own)} is no node of the stack, whose nodes have {value!r}", "remove it")


def _covers(own: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether one toleration ignores all that another one does, and as long."""
    if "tolerationSeconds" in own or own.get("effect") not in (None, "", wanted.get("effect")):
        return False
    if own.get("operator") == "Exists":
        return own.get("key") in (None, "", wanted.get("key"))
    return own.get("key") == wanted.get("key") and (
        wanted.get("operator") != "Exists" and own.get("value", "") == wanted.get("value", "")
    )


def _attach_mount(spec: Place, container: Place, mount: Mapping[str, Any], volume: Mapping[str, Any]) -> None:
    """Mount a volume where nothing is mounted yet; an older file of the fabric gives way to the new one."""
    volumes = {entry.content.get("name"): entry for entry in spec.entries("volumes")}
    path = mount["mountPath"]
    for own in container.entries("volumeMounts"):
        if _plain_path(own.content.get("mountPath")) == path:
            there = volumes.get(own.content.get("name"))
            if there is None or not _is_or_becomes(there, volume):
                own.note("", f"{path} keeps what is mounted there")
            return
    name = volume["name"]
    while (there := volumes.get(name)) is not None and not _is_or_becomes(there, volume):
        name = f"fabric-{name}"
    if there is None:
        spec.append("volumes", {**volume, "name": name})
    container.append("volumeMounts", {**mount, "name": name})


def _is_or_becomes(own: Place, volume: Mapping[str, Any]) -> bool:
    """Whether a volume is the wanted one; of a ConfigMap whose name ends in a digest, also after taking the new one."""
    source = {key: value for key, value in volume.items() if key != "name"}
    if {key: value for key, value in own.content.items() if key != "name"} == source:
        return True
    wanted, there = source.get("configMap"), own.content.get("configMap")
    if wanted is None or not isinstance(there, dict) or not isinstance(there.get("name"), str):
        return False
    if there["name"] != wanted["name"]:
        if there["name"].rpartition("-")[0] != wanted["name"].rpartition("-")[0]:
            return False
        own.note("configMap", f"{there['name']} gives way to {wanted['name']}")
        there["name"] = wanted["name"]
    return True


def _plain_path(path: Any) -> Any:
    return path.rstrip("/") if isinstance(path, str) else path


def _attach_security(container: Place, wanted: Mapping[str, Any]) -> None:
    security = container.made("securityContext")
    _attach_capabilities(security, wanted["capabilities"]["add"])
    if wanted.get("privileged"):
        if security.content.get("privileged") is False:
            security.refuse("privileged", "on the node's own network no device plug-in admits devices", "write true")
        elif security.content.get("allowPrivilegeEscalation") is False:
            security.refuse(
                "allowPrivilegeEscalation", "Kubernetes refuses false for a privileged container", "remove it"
            )
        else:
            security.content["privileged"] = True
    elif security.content.get("privileged") is True:
        security.note("privileged", "stays true, which the fabric does not need")
    for key, value in wanted.items():
        if key not in ("capabilities", "privileged"):
            security.keep_or_set(key, value)


def _attach_capabilities(security: Place, wanted: Sequence[str]) -> None:
    # A privileged container has them all, and says so.
    capabilities = security.made("capabilities")
    present, dropped = capabilities.values("add"), capabilities.values("drop")
    for name in wanted:
        if name in dropped:
            capabilities.refuse("drop", f"the fabric needs {name}, to register memory with the NIC", f"remove {name}")
    capabilities.append("add", *(name for name in wanted if name not in present and "ALL" not in present))
    if not capabilities.content:
        del security.content["capabilities"]
