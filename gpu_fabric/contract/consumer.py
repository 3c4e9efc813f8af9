"""The contract in the form of systems that make pods themselves: one file a system, in `consumers/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import Field, JsonValue

from gpu_fabric.base.tables import read_table
from gpu_fabric.base.templates import filled
from gpu_fabric.contract.fabric import FabricContract
from gpu_fabric.model import FrozenModel

_FOLDER = Path(__file__).parent / "consumers"


class Consumer(StrEnum):
    """A system that takes the fabric as values or configuration of its own."""

    SKYPILOT = "skypilot"
    SLINKY = "slinky"
    DYNAMO = "dynamo"
    LLM_D = "llm-d"
    KSERVE = "kserve"


class ConsumerForm(FrozenModel):
    """A system's file in `consumers/`.

    `into` is where it belongs, `libraries` are those besides NCCL by which its pods send, as a rule, and `replace`
    says what the words in capitals stand for. In `form` and `notes` the words between braces are places for what the
    contract has, under the names of Kubernetes' own fields; `other` leaves out the shared memory, which some systems
    mount themselves, and a key without a value is left out. `signs` are keys, with dots, of which one at least is in
    each document of the system's that is not a Kubernetes object.
    """

    title: str
    into: str
    signs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    replace: dict[str, str]
    notes: tuple[str, ...]
    source: str = Field(min_length=1)
    form: dict[str, JsonValue]


def form_of(consumer: Consumer) -> ConsumerForm:
    """A system's file as it is, with its places."""
    return ConsumerForm.model_validate(read_table(_FOLDER / f"{consumer.value}.yaml"))


class Owner(NamedTuple):
    """The system whose document something is."""

    consumer: Consumer
    form: ConsumerForm

    @property
    def said(self) -> str:
        """What its user does in the place of attaching."""
        command = f"gpu-fabric contract --for {self.consumer.value}"
        return f"{self.form.title} makes the pods of it: write what `{command}` prints into {self.form.into}"


def consumer_of(document: Mapping[str, Any]) -> Owner | None:
    """The system that a document without apiVersion and kind is for; None if it is not known."""
    owners = (Owner(consumer, form_of(consumer)) for consumer in Consumer)
    return next((owner for owner in owners if any(_has(document, sign.split(".")) for sign in owner.form.signs)), None)


def _has(document: object, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(document, Mapping) or key not in document:
            return False
        document = document[key]
    return True


def consumer_form(
    consumer: Consumer, contract: FabricContract, more: Mapping[str, str] = MappingProxyType({})
) -> ConsumerForm:
    """What a system takes, filled with what a contract has; `more` are variables besides the contract's."""
    row, values = form_of(consumer), _values(contract)
    values["env"] = [*(values["env"] or ()), *({"name": name, "value": more[name]} for name in more)] or None
    return row.model_copy(update={"notes": tuple(filled(list(row.notes), values)), "form": filled(row.form, values)})


def _values(contract: FabricContract) -> dict[str, Any]:
    """What forms have places for, of the contract's patch; None for what this fabric does not need."""
    patch: Any = contract.pod_template_patch
    spec = patch["spec"]
    (container,) = spec["containers"]
    namespace = contract.namespaces[0]
    queue = contract.queue_of("kueue", namespace)
    mounts, at = container["volumeMounts"], contract.shared_memory.mount_path
    shared = {mount["name"] for mount in mounts if mount["mountPath"] == at}
    network = {key: spec[key] for key in ("hostNetwork", "dnsPolicy") if key in spec}
    of_nics = {name: amount for name, amount in contract.resources.items() if name != contract.gpu_resource}
    claims = {"claims": container["resources"]["claims"]} if "claims" in container["resources"] else {}
    plain = {key: amounts for key, amounts in container["resources"].items() if key != "claims"}
    annotations = patch["metadata"]["annotations"]
    values = {
        "annotations": annotations,
        "metadata": {"annotations": annotations} if annotations else None,
        "namespace": namespace,
        "kueue": {"local_queue_name": queue} if queue else None,
        "nodes": contract.nodes,
        "gpus": contract.gpus_per_node,
        "sharedMemory": contract.shared_memory.size_limit,
        "network": network,
        "hostNetwork": network.get("hostNetwork"),
        "dnsPolicy": network.get("dnsPolicy"),
        "resources": container["resources"],
        "plainResources": plain,
        "nicResources": {**({"limits": of_nics, "requests": of_nics} if of_nics else {}), **claims},
        "otherVolumes": [volume for volume in spec["volumes"] if volume["name"] not in shared],
        "otherMounts": [mount for mount in mounts if mount["name"] not in shared],
        "mounts": mounts,
        "env": container["env"],
        "securityContext": container["securityContext"],
        **{key: spec.get(key) for key in ("nodeSelector", "tolerations", "volumes", "resourceClaims")},
    }
    return {name: None if value in ({}, []) else value for name, value in values.items()}
