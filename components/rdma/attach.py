"""A transform that attaches the fabric to the workloads of a Pulumi program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pulumi
from pulumi.runtime import rpc

from gpu_fabric.attach.attachment import Wishes, attach, is_for_gpus
from gpu_fabric.attach.place import AttachError
from gpu_fabric.contract import FabricContract

Properties = dict[str, Any]


def fabric_transform(contract: FabricContract, wishes: Wishes | None = None) -> pulumi.ResourceTransform:
    """A transform that attaches the fabric to Kubernetes workloads whose containers ask for GPUs, or are named.

    For `transforms` of a resource, a component or a whole stack; every other resource stays as it is. A pod template
    that depends on other resources is attached when they exist. Pod templates get the same stamp as from the command,
    so that `gpu-fabric detach` and `attach --check` work on a cluster's objects.

    Raises, from the transform or once values are known:
        pulumi.RunError: the fabric cannot be attached to a workload, with every reason.
    """

    stamping = replace(wishes or Wishes(), stamped=True)

    def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if not args.type_.startswith("kubernetes:"):
            return None
        # Engines that do not support outputs in arguments pass secrets in a wrapper.
        document = {
            key: pulumi.Output.secret(rpc.unwrap_rpc_secret(value)) if rpc.is_rpc_secret(value) else value
            for key, value in args.props.items()
        }
        meant = is_for_gpus(document, contract, stamping)
        if meant is False:
            return None
        if meant is None or any(isinstance(value, pulumi.Output) for value in document.values()):
            result = _attach_later(args.name, document, contract, stamping)
        else:
            result = _attach_now(args.name, document, contract, stamping)
        return pulumi.ResourceTransformResult(result, args.opts)

    return transform


def _attach_later(name: str, document: Properties, contract: FabricContract, wishes: Wishes) -> Properties:
    """The properties that attaching changes, as outputs; they are unknown if a preview does not know all values."""

    def attached(found: Properties) -> Properties:
        return _attach_now(name, found, contract, wishes) if is_for_gpus(found, contract, wishes) else found

    known = pulumi.Output.all(**document).apply(attached)
    # If the name in `metadata` were unknown, a preview would announce a replacement.
    queued = contract.scheduler_hints.queue_of("kueue") is not None or wishes.queue is not None
    in_metadata = document.get("kind") == "Pod" or queued
    changed = {"spec": known.apply(lambda found: found.get("spec"))}
    if in_metadata:
        changed["metadata"] = known.apply(lambda found: found.get("metadata"))
    return {**document, **changed}


def _attach_now(name: str, document: Properties, contract: FabricContract, wishes: Wishes) -> Properties:
    try:
        result = attach([document], contract, wishes)
    except AttachError as error:
        raise pulumi.RunError(error.explanation(name)) from None
    for note in result.notes:
        pulumi.log.info(f"{name}: {note._replace(document=0)}".replace("all documents, ", "", 1))
    content: Properties = result.documents[0]
    return content
