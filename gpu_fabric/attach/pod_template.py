"""Attach everything that the contract requires to a pod template and its GPU container."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpu_fabric.attach.devices import attach_channel, attach_claim, attach_resources, check_other_devices
from gpu_fabric.attach.networks import attach_annotations
from gpu_fabric.attach.place import Place, display
from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION

# These fields of the contract's patch are merged one by one; the others are set unless the user sets them.
_MERGED_OF_SPEC = ("hostNetwork", "dnsPolicy", "nodeSelector", "tolerations", "volumes", "resourceClaims", "containers")
_OWN = "fabric-"
_REQUIRED_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
_MERGED_OF_CONTAINER = ("name", "resources", "env", "volumeMounts", "securityContext")


class Fabric(NamedTuple):
    """The part of a contract that a pod in one namespace gets: all of it, or all but files that are not offered there.

    `claims` are names of volumes that the workload declares outside its pod template. They would replace volumes of the
    same name. `size` is that of the pod's claim; None for the one that it has, or the contract's first.
    `other_racks` are the templates of the channels of other racks than the contract's. `more` are variables of the
    libraries other than NCCL that the container uses.
    """

    contract: FabricContract
    namespace: str
    annotations: Mapping[str, str]
    with_files: bool = True
    claims: frozenset[str] = frozenset()
    size: str | None = None
    other_racks: tuple[str, ...] = ()
    more: Mapping[str, str] = MappingProxyType({})

    @property
    def spec(self) -> dict[str, Any]:
        """The pod spec of the contract's patch."""
        spec: Any = self.contract.pod_template_patch["spec"]
        return dict(spec)

    @property
    def container(self) -> dict[str, Any]:
        """The container of the contract's patch."""
        return dict(self.spec["containers"][0])

    @property
    def environment(self) -> dict[str, str]:
        """The container's variables, without those that name a file that is not mounted."""
        paths = {file.variable for file in self.contract.files}
        known = {**self.contract.environment, **self.more}
        return {name: value for name, value in known.items() if self.with_files or name not in paths}

    @property
    def mounts(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Each mount of the container with its volume."""
        volumes = {volume["name"]: volume for volume in self.spec["volumes"]}
        pairs = [(mount, volumes[mount["name"]]) for mount in self.container["volumeMounts"]]
        return [pair for pair in pairs if self.with_files or "configMap" not in pair[1]]


def attach_template(template: Place, container: Place, fabric: Fabric) -> None:
    """Attach the fabric to one container of a pod template; conflicts are recorded as problems."""
    if wanted_annotations := {**fabric.annotations, **fabric.contract.scheduler_hints.annotations}:
        attach_annotations(template.made("metadata"), wanted_annotations, fabric.namespace)
    check_other_devices(template, fabric.contract)
    attach_resources(container, fabric.contract)
    if fabric.contract.claims:
        attach_claim(template, container, fabric.contract, fabric.size)
    for domain in fabric.contract.domains:
        attach_channel(template, container, domain, fabric.other_racks)
    _attach_environment(container, fabric.environment)
    spec = template.made("spec")
    _attach_host_network(spec, fabric)
    annotations = template.seen("metadata").seen("annotations")
    if fabric.contract.host_network and annotations.content.get(NETWORKS_ANNOTATION):
        annotations.note("ATT072", NETWORKS_ANNOTATION, "has no effect on the node's own network, where the fabric is")
    for key, value in fabric.contract.node_selector.items():
        _attach_selector(spec, key, value)
    _refuse_other_nodes(spec, fabric.contract.node_selector)
    _note_unknown_labels(spec, fabric.contract.node_selector)
    wanted = [toleration.to_dict() for toleration in fabric.contract.tolerations]
    present = spec.entries("tolerations")
    spec.append("tolerations", *(one for one in wanted if not any(_covers(own.content, one) for own in present)))
    for mount, volume in fabric.mounts:
        _attach_mount(spec, container, mount, volume, fabric.claims)
    _attach_security(container, fabric.container["securityContext"])
    _note_user(spec, container)
    for place, known, merged in (
        (spec, fabric.spec, _MERGED_OF_SPEC),
        (container, fabric.container, _MERGED_OF_CONTAINER),
    ):
        for key, value in known.items():
            if key not in merged:
                place.keep_or_set(key, value)


def _attach_environment(container: Place, wanted: Mapping[str, str]) -> None:
    present = {entry.text("name"): entry for entry in container.entries("env")}
    if container.entries("envFrom") and wanted:
        container.note("ATT052", "envFrom", "the fabric's variables win over those of the same name from here")
    _check_topology(present, wanted)
    missing = []
    for name, value in wanted.items():
        own = present.get(name)
        if own is None:
            missing.append({"name": name, "value": value})
        elif own.content.get("value") != value:
            kept = "what it refers to" if "valueFrom" in own.content else display(own.content.get("value") or "")
            own.note("ATT051", "", f"{name} keeps {kept}; the fabric's value is {display(value)}")
    container.append("env", *missing)


def _check_topology(present: Mapping[Any, Place], wanted: Mapping[str, str]) -> None:
    """Check the container's own variables for NCCL files that the fabric does not provide."""
    graphs, topology = present.get("NCCL_GRAPH_FILE"), present.get("NCCL_TOPO_FILE")
    if graphs is not None:
        message = "NCCL_GRAPH_FILE forces rings and trees for the exact ranks of one job"
        graphs.refuse("ATT026", "", message, "remove it")
    if topology is not None and topology.content.get("value") != wanted.get("NCCL_TOPO_FILE"):
        message = "NCCL_TOPO_FILE is not the fabric's; NCCL ignores a path without a file, and does not say so"
        topology.note("ATT062", "", message)


def _attach_host_network(spec: Place, fabric: Fabric) -> None:
    own = spec.value("hostNetwork")
    if fabric.contract.host_network:
        if own is False:
            message = "the stack's pods use the node's own network"
            spec.refuse("ATT017", "hostNetwork", message, "remove it, or write true")
            return
        for key in ("hostNetwork", "dnsPolicy"):
            if key in fabric.spec:
                spec.keep_or_set(key, fabric.spec[key])
        for container in (*spec.entries("containers"), *spec.entries("initContainers")):
            for port in container.entries("ports"):
                _refuse_other_port_of_node(port)
    elif own is True and (fabric.contract.networks or fabric.contract.claims):
        message = "a pod on the node's own network gets no other networks"
        spec.refuse("ATT017", "hostNetwork", message, "remove it")


def _refuse_other_port_of_node(port: Place) -> None:
    on_node, inside = port.content.get("hostPort"), port.content.get("containerPort")
    if on_node not in (None, 0, inside):
        message = f"{display(on_node)} is not the container's port {display(inside)}, which is the node's own there"
        port.refuse("ATT025", "hostPort", message, f"remove it, or write {display(inside)}")


def _attach_selector(spec: Place, key: str, value: str) -> None:
    selector = spec.seen("nodeSelector")
    own = selector.content.get(key)
    if own is None:
        spec.made("nodeSelector").content[key] = value
    elif own != value:
        message = f"{display(own)} is not a node of the stack, whose nodes have {value!r}"
        selector.refuse("ATT018", key, message, "remove it")


def _refuse_other_nodes(spec: Place, labels: Mapping[str, str]) -> None:
    """Record a required node affinity that no node of the stack matches."""
    required = spec.seen("affinity").seen("nodeAffinity").seen(_REQUIRED_AFFINITY)
    terms = required.entries("nodeSelectorTerms")
    # The terms are alternatives: one that matches is enough.
    wrong = [key for term in terms if (key := _misfit(term, labels)) is not None]
    if terms and len(wrong) == len(terms):
        message = f"no node of the stack fits, whose {wrong[0]} is {labels[wrong[0]]!r}"
        required.refuse("ATT018", "nodeSelectorTerms", message, "remove it")


# Domains of labels that nodes of every cluster may have, by Kubernetes or by the operators.
_COMMON_DOMAINS = ("kubernetes.io", "nvidia.com", "amd.com", "gpu-fabric.dev")


def _note_unknown_labels(spec: Place, labels: Mapping[str, str]) -> None:
    """Note what a pod asks of its node that no node of the stack is known to have, such as another cloud's labels."""

    def unknown(key: str) -> bool:
        domain = key.partition("/")[0] if "/" in key else ""
        return key not in labels and not any(domain == own or domain.endswith(f".{own}") for own in _COMMON_DOMAINS)

    message = "no node of the stack is known to have this label; where none has, the pod stays pending"
    selector = spec.seen("nodeSelector")
    for key in filter(unknown, map(str, selector.content)):
        selector.note("ATT074", key, message)
    required = spec.seen("affinity").seen("nodeAffinity").seen(_REQUIRED_AFFINITY)
    terms = required.entries("nodeSelectorTerms")
    for expression in terms[0].entries("matchExpressions") if len(terms) == 1 else ():
        if expression.content.get("operator") in ("In", "Exists", "Gt", "Lt") and unknown(expression.text("key") or ""):
            expression.note("ATT074", "key", message)


def _misfit(term: Place, labels: Mapping[str, str]) -> str | None:
    """A label of the stack's nodes that a term excludes; None if the term matches."""
    for expression in term.entries("matchExpressions"):
        key = expression.text("key") or ""
        if key in labels and not _fits(expression.content.get("operator"), expression.values("values"), labels[key]):
            return key
    return None


def _fits(operator: Any, values: list[Any], label: str) -> bool:
    if operator == "In":
        return label in values
    if operator == "NotIn":
        return label not in values
    return bool(operator != "DoesNotExist")


def _covers(own: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether one toleration covers all taints of another one, without a time limit."""
    if "tolerationSeconds" in own or own.get("effect") not in (None, "", wanted.get("effect")):
        return False
    if own.get("operator") == "Exists":
        return own.get("key") in (None, "", wanted.get("key"))
    return own.get("key") == wanted.get("key") and (
        wanted.get("operator") != "Exists" and own.get("value", "") == wanted.get("value", "")
    )


def _attach_mount(
    spec: Place, container: Place, mount: Mapping[str, Any], volume: Mapping[str, Any], claims: frozenset[str]
) -> None:
    """Mount a volume unless its path is in use; an older file of the fabric is replaced."""
    volumes = {entry.text("name"): entry for entry in spec.entries("volumes")}
    path = mount["mountPath"]
    for own in container.entries("volumeMounts"):
        if _plain_path(own.text("mountPath")) == path:
            named = own.text("name") or ""
            there = volumes.get(named)
            if there is None and named not in claims and _is_name_of(named, volume):
                # The update removed its volume, which belonged to an earlier state of the stack.
                spec.append("volumes", {**volume, "name": named})
            elif there is None or not _is_or_becomes(there, volume):
                own.note("ATT053", "", f"{path} keeps what is mounted there")
            return
    name = volume["name"]
    while name in claims or ((there := volumes.get(name)) is not None and not _is_or_becomes(there, volume)):
        name = f"{_OWN}{name}"
    if there is None:
        spec.append("volumes", {**volume, "name": name})
    container.append("volumeMounts", {**mount, "name": name})


def _is_name_of(name: str, volume: Mapping[str, Any]) -> bool:
    """Whether it is the volume's name, or that name with the prefixes that avoid a collision."""
    return name.endswith(volume["name"]) and not name.removesuffix(volume["name"]).replace(_OWN, "")


def _is_or_becomes(own: Place, volume: Mapping[str, Any]) -> bool:
    """Whether a volume is the wanted one; an older ConfigMap with another digest in its name is switched to the new."""
    source = {key: value for key, value in volume.items() if key != "name"}
    if {key: value for key, value in own.content.items() if key != "name"} == source:
        return True
    wanted, there = source.get("configMap"), own.content.get("configMap")
    if wanted is None or not isinstance(there, dict) or not isinstance(there.get("name"), str):
        return False
    if there["name"] != wanted["name"]:
        if there["name"].rpartition("-")[0] != wanted["name"].rpartition("-")[0]:
            return False
        own.note("ATT057", "configMap", f"{there['name']} gives way to {wanted['name']}")
        there["name"] = wanted["name"]
    return True


def _plain_path(path: str | None) -> str:
    return posixpath.normpath("/" + (path or "").lstrip("/"))


def _attach_security(container: Place, wanted: Mapping[str, Any]) -> None:
    _attach_capabilities(container, wanted.get("capabilities", {}).get("add", ()))
    security = container.seen("securityContext")
    if wanted.get("privileged"):
        if security.content.get("privileged") is False:
            message = "on the node's own network no device plug-in admits devices"
            security.refuse("ATT023", "privileged", message, "write true")
        elif security.content.get("allowPrivilegeEscalation") is False:
            message = "Kubernetes refuses false for a privileged container"
            security.refuse("ATT023", "allowPrivilegeEscalation", message, "remove it")
        else:
            container.made("securityContext").content["privileged"] = True
    elif security.content.get("privileged") is True:
        security.note("ATT058", "privileged", "stays true, which the fabric does not need")
    for key, value in wanted.items():
        if key not in ("capabilities", "privileged"):
            container.made("securityContext").keep_or_set(key, value)


def _note_user(spec: Place, container: Place) -> None:
    """Note a user other than root: added capabilities are effective for root only, or with file capabilities."""
    own, of_pod = container.seen("securityContext"), spec.seen("securityContext")
    for key, of_root in (("runAsUser", (0, "0")), ("runAsNonRoot", (False,))):
        place = next((one for one in (own, of_pod) if one.content.get(key) is not None), None)
        if place is not None:
            if place.content[key] not in of_root:
                who = "for whom" if key == "runAsUser" else "so its user is not root, for whom"
                message = (
                    f"is {display(place.content[key])}, {who} added capabilities have no effect: "
                    "NCCL locks no more memory than the limit of the container runtime (ulimit -l) allows"
                )
                place.note("ATT068", key, message)
            return


def _attach_capabilities(container: Place, wanted: Sequence[str]) -> None:
    # A privileged container has all capabilities; they are listed anyway.
    there = container.seen("securityContext").seen("capabilities")
    present, dropped = there.values("add"), there.values("drop")
    for name in wanted:
        if name in dropped:
            message = f"the fabric needs {name}, to register memory with the NIC"
            there.refuse("ATT022", "drop", message, f"remove {name}")
    missing = [name for name in wanted if name not in present and "ALL" not in present]
    if missing:
        container.made("securityContext").made("capabilities").append("add", *missing)
