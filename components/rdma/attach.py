"""A transform that attaches the fabric to the workloads of a Pulumi program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pulumi
from pulumi.runtime import rpc

from gpu_fabric.attach.attachment import AttachOptions, attach, is_for_gpus, reason_of_unknown_kind
from gpu_fabric.attach.kinds import spec_keys
from gpu_fabric.attach.place import AttachError
from gpu_fabric.contract import FabricContract, contract_of, read_contract
from gpu_fabric.contract.several import chosen_of
from gpu_fabric.findings import InputError
from gpu_fabric.spec.further_fabric import MAIN

from ..bases.arguments import as_written, is_known_later

Properties = dict[str, Any]
_FABRIC = "gpu-fabric:index:GpuFabric"
_REFUSED = "gpu-fabric.dev/refused"
_TAKEN = "the output `contract` of a GpuFabric, the output `fabric` of a stack, or its JSON text"


def fabric_transform(
    contract: pulumi.Input[FabricContract | Mapping[str, Any] | str | Sequence[Any]],
    options: AttachOptions | None = None,
) -> pulumi.ResourceTransform:
    """A transform that attaches the fabric to Kubernetes workloads whose containers ask for GPUs, or are named.

    For `transforms` of a resource or a component, or `pulumi.runtime.register_resource_transform`; every other resource
    stays as it is, and so does what a GpuFabric creates. `contract` is `fabric.contract` of a GpuFabric, the output
    `fabric` of another stack, its JSON text, or an Output of one of these: a workload is then registered when the
    contract is known, and depends on the same resources. Of a stack with several fabrics it is one of the output
    `fabrics`, or a list of a compute fabric's and those of storage fabrics on its nodes. What depends on values that a
    preview does not know is unknown there, without the name. Pod templates get the same stamp as from the command, so
    that `gpu-fabric detach` and `attach --check` work on a cluster's objects.

    A workload to which the fabric cannot be attached is refused with every reason, before it is created or changed.

    Raises:
        pulumi.RunError: the contract is not one, or of another version; where it is known only later, as a refusal.
    """
    stamping = replace(options or AttachOptions(), stamped=True)
    given = contract if _is_later(contract) else _checked(contract)

    async def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        parent = await args.opts.parent.urn.future() if args.opts.parent else None
        if not args.type_.startswith("kubernetes:") or _FABRIC in _types(parent):
            # What a GpuFabric creates has what it needs, and a contract may depend on it.
            return None
        seen = {key: await _seen(value) for key, value in args.props.items()}
        document = {key: value.content for key, value in seen.items()}
        # Asked first, so that a resource on which the contract depends does not wait for it.
        if is_for_gpus(document, None, stamping) is False:
            _warn_of_unknown_kind(args.name, document, stamping)
            return None
        if _is_refused(document):
            return None
        try:
            return await _transformed(args, seen, await _seen_whole(given), stamping)
        except AttachError as error:
            # A resource is one document, which needs no number.
            alone = [problem.model_copy(update={"document": 0}) for problem in error.problems]
            return _refused(args, parent, AttachError(alone).explanation(args.name))
        except pulumi.RunError as error:
            return _refused(args, parent, str(error))

    return transform


@dataclass(frozen=True)
class _Seen:
    """What is known of a value; the content of an unknown one is `pulumi.UNKNOWN`."""

    content: Any
    is_secret: bool = False
    after: frozenset[pulumi.Resource] = frozenset()

    @property
    def is_known(self) -> bool:
        return not pulumi.contains_unknowns(self.content)

    def write(self, content: Any) -> Any:
        """Another content in the place of this one, secret if this one is."""
        return pulumi.Output.secret(content) if self.is_secret else content


async def _seen(value: Any) -> _Seen:
    """What is known of a property; outputs inside of it stay outputs."""
    # Engines that do not support outputs in arguments pass secrets in a wrapper.
    if rpc.is_rpc_secret(value):
        return _Seen(rpc.unwrap_rpc_secret(value), is_secret=True)
    if not isinstance(value, pulumi.Output):
        return _Seen(value)
    content = await value.future(with_unknowns=True) if await value.is_known() else pulumi.UNKNOWN
    return _Seen(content, await value.is_secret(), frozenset(await value.resources()))


async def _seen_whole(value: Any) -> _Seen:
    """What is known of a value with all outputs inside of it."""
    return await _seen(pulumi.Output.from_input(value))


async def _transformed(
    args: pulumi.ResourceTransformArgs, seen: Mapping[str, _Seen], contract: _Seen, options: AttachOptions
) -> pulumi.ResourceTransformResult | None:
    """The workload with the fabric; None if it is not for the fabric's GPUs.

    Raises:
        AttachError: the fabric cannot be attached; with every reason.
        pulumi.RunError: the contract cannot be used.
    """
    document = {key: value.content for key, value in seen.items()}
    known = _checked(contract.content) if contract.is_known else None
    try:
        result = _unknown(document, known, options) if known is None else _attached(args.name, document, known, options)
    except AttachError:
        # What has to be read may be in an output.
        if known is None or not (_is_later(document) or pulumi.contains_unknowns(document)):
            raise
        whole = {key: await _seen_whole(value.write(value.content)) for key, value in seen.items()}
        if all(value.is_known for value in whole.values()):
            seen, document = whole, {key: value.content for key, value in whole.items()}
            result = _attached(args.name, document, known, options)
        else:
            result = _unknown(document, known, options)
    if result is None:
        return None
    changed = {key: seen.get(key, _Seen(None)) for key in result if result[key] != document.get(key)}
    written = {
        key: replace(old, is_secret=old.is_secret or contract.is_secret).write(result[key])
        for key, old in changed.items()
    }
    return pulumi.ResourceTransformResult({**args.props, **written}, _after(args.opts, contract))


def _after(opts: pulumi.ResourceOptions, contract: _Seen) -> Any:
    """The options with the contract's dependencies; None leaves all options as they are."""
    if not contract.after:
        return None
    opts.depends_on = [*(opts.depends_on or ()), *contract.after]  # type: ignore[misc]
    return opts


def _attached(name: str, document: Properties, contract: FabricContract, options: AttachOptions) -> Properties | None:
    """The workload with the fabric; None if it is not for the fabric's GPUs. Raises AttachError."""
    if is_for_gpus(document, contract, options) is False:
        return None
    result = attach([document], contract, options)
    for note in result.notes:
        pulumi.log.info(f"{name}: {note.model_copy(update={'document': 0}).text}")
    content: Properties = result.documents[0]
    return content


def _unknown(document: Properties, contract: FabricContract | None, options: AttachOptions) -> Properties:
    """The properties of a workload in a preview that does not know what attaching changes in them.

    What attaching leaves alone stays known: if the name or a selector were unknown, a preview would announce a
    replacement.
    """
    result = dict(document)
    spec, keys = document.get("spec"), spec_keys(document)
    parts = {**spec, **dict.fromkeys(keys, pulumi.UNKNOWN)} if isinstance(spec, dict) and keys else None
    result["spec"] = parts or pulumi.UNKNOWN
    queued = options.queue is not None or contract is None or contract.scheduler_hints.queue_of("kueue") is not None
    changed = (["annotations"] if document.get("kind") == "Pod" else []) + (["labels"] if queued else [])
    metadata = document.get("metadata") or {}
    if changed and isinstance(metadata, dict):
        result["metadata"] = {**metadata, **dict.fromkeys(changed, pulumi.UNKNOWN)}
    return result


def _is_later(value: Any) -> bool:
    """Whether a value is, or contains, one that is known only during the run."""
    if isinstance(value, Mapping):
        return any(map(_is_later, value.values()))
    return any(map(_is_later, value)) if isinstance(value, list | tuple) else is_known_later(value)


def _checked(value: Any) -> FabricContract:
    """The contract that a value is.

    Raises:
        pulumi.RunError: it is none, or of another version.
    """
    if isinstance(value, FabricContract):
        return value
    if isinstance(value, list | tuple) and value:
        first, *others = map(_checked, value)
        return _joint(first, others)
    try:
        return read_contract(value) if isinstance(value, str) else contract_of(as_written(value))
    except InputError as error:
        raise pulumi.RunError(f"fabric_transform: {error}\n  -> it takes {_TAKEN}") from None


def _joint(compute: FabricContract, storage: Sequence[FabricContract]) -> FabricContract:
    try:
        return chosen_of(
            {one.fabric or MAIN: one for one in (compute, *storage)},
            [one.fabric or MAIN for one in (compute, *storage)],
        )
    except InputError as error:
        raise pulumi.RunError(f"fabric_transform: {error}\n  -> it takes {_TAKEN}") from None


def _warn_of_unknown_kind(name: str, document: Properties, options: AttachOptions) -> None:
    """Say it where a resource asks for GPUs and gets no fabric, since its kind is not known."""
    if _has_gpus(document) and (problem := reason_of_unknown_kind(document, options)) is not None:
        pulumi.log.warn(f"{name}: gets no fabric: {problem.text}")


def _has_gpus(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(str(key).endswith("/gpu") or _has_gpus(inner) for key, inner in value.items())
    return isinstance(value, list | tuple) and any(map(_has_gpus, value))


def _types(urn: str | None) -> list[str]:
    """The type of a resource, behind those of the components that it is in."""
    return [] if urn is None else urn.split("::")[2].split("$")


def _refused(args: pulumi.ResourceTransformArgs, parent: str | None, reasons: str) -> pulumi.ResourceTransformResult:
    """The resource with a hook that ends its creation or update with the reasons.

    The error of a transform is shown with tracebacks, and as one of the program; that of a hook is shown as it is, at
    its resource. Nothing is changed but an annotation, so that hooks are called, and nothing is replaced before
    (docs/decisions/0037).
    """

    def refuse(_: pulumi.ResourceHookArgs) -> None:
        raise pulumi.RunError(reasons)

    # Each hook of a run has another name.
    inside = "" if _types(parent)[-1:] in ([], ["pulumi:pulumi:Stack"]) else f" in {str(parent).rpartition('::')[2]}"
    name = f"fabric for {args.type_} {args.name}{inside}"
    hook = pulumi.ResourceHook(name, refuse, pulumi.ResourceHookOptions(on_dry_run=True))
    hooks = args.opts.hooks or pulumi.ResourceHookBinding()
    hooks.before_create = [hook, *(hooks.before_create or ())]
    hooks.before_update = [hook, *(hooks.before_update or ())]
    args.opts.hooks = hooks
    kept = [key for key in args.props if key != "metadata"]
    args.opts.ignore_changes = [*(args.opts.ignore_changes or ()), *kept, "metadata.name", "metadata.namespace"]
    marked = pulumi.Output.from_input(args.props.get("metadata") or {}).apply(_marked)
    return pulumi.ResourceTransformResult({**args.props, "metadata": marked}, args.opts)


def _marked(metadata: Properties) -> Properties:
    return {**metadata, "annotations": {**(metadata.get("annotations") or {}), _REFUSED: "true"}}


def _is_refused(document: Properties) -> bool:
    """Whether another transform has refused the resource."""
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and _REFUSED in annotations
