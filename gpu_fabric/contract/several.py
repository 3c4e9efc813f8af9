"""The contracts of a stack with several fabrics, and the one contract of a pod that has compute and storage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpu_fabric.contract.fabric import FabricContract, contract_of, loaded, pod_template_patch
from gpu_fabric.findings import InputError
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION

RULE = "ATT031"

Contracts = Mapping[str, FabricContract]
"""The contracts of a stack by the names of its fabrics; one fabric alone has the empty name."""


def read_contracts(text: str) -> dict[str, FabricContract]:
    """The contracts in a JSON text, as `make outputs` prints them: the output `fabrics`, else the output `fabric`.

    Raises:
        InputError: the text is not JSON, has no contract, or one of another version.
    """
    found = loaded(text)
    several = found.get("fabrics") if isinstance(found, dict) else None
    if isinstance(several, dict) and several:
        return {str(name): contract_of(one) for name, one in several.items()}
    return {"": contract_of(found)}


def chosen_of(contracts: Contracts, names: Sequence[str]) -> FabricContract:
    """The contract of a pod that has the fabrics of these names; without names, of the stack's one compute fabric.

    Raises:
        InputError: there is no fabric of a name, or a pod cannot have these fabrics together.
    """
    compute = [name for name, one in contracts.items() if one.purpose is None]
    if not names:
        if len(compute) == 1:
            return contracts[compute[0]]
        raise InputError(RULE, f"the stack has several fabrics; choose one: {_options(compute)}")
    if "" in contracts:
        raise InputError(RULE, "the stack has one fabric; leave --group out")
    if unknown := [name for name in names if name not in contracts]:
        raise InputError(RULE, f"the stack has no fabric {unknown[0]}; choose of: {_options(contracts)}")
    chosen = {name: contracts[name] for name in names}
    both = [name for name in chosen if name in compute]
    if len(both) != 1:
        what = "are both compute fabrics, and a pod has" if both else "is for storage, and a pod has in addition to it"
        raise InputError(RULE, f"{' and '.join(both or chosen)} {what} one compute fabric: {_options(compute)}")
    for name, one in chosen.items():
        beside = one.beside or ()
        if one.purpose is not None and both[0] not in beside:
            raise InputError(RULE, f"{name} is not on the nodes of {both[0]}, but on those of {', '.join(beside)}")
    return joint_contract(contracts[both[0]], [one for one in chosen.values() if one.purpose is not None])


def _options(names: Iterable[str]) -> str:
    return ", ".join(f"--group {name}" for name in names)


def joint_contract(compute: FabricContract, storage: Sequence[FabricContract]) -> FabricContract:
    """The contract of a pod with a compute fabric and storage fabrics; all about NCCL and jobs is the first one's.

    Raises:
        InputError: no namespace offers all of them.
    """
    if not storage:
        return compute
    every = (compute, *storage)
    namespaces = tuple(name for name in compute.namespaces if all(name in one.namespaces for one in storage))
    if not namespaces:
        raise InputError(
            RULE, "no namespace offers all of these fabrics: add one to the namespaces of each in the stack"
        )
    contract = compute.model_copy(
        update={
            "namespaces": namespaces,
            "networks": tuple(network for one in every for network in one.networks),
            "annotations": {
                **{key: text for one in reversed(every) for key, text in one.annotations.items()},
                **_networks([one.annotations for one in every]),
            },
            "resources": {name: amount for one in every for name, amount in one.resources.items()},
            "capabilities": tuple(dict.fromkeys(name for one in every for name in one.capabilities)),
            "node_selector": {key: text for one in every for key, text in one.node_selector.items()},
            "tolerations": tuple(dict.fromkeys(entry for one in every for entry in one.tolerations)),
        }
    )
    return contract.model_copy(update={"pod_template_patch": pod_template_patch(contract)})


def _networks(annotations: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The annotation with the networks of all, in the form of each: a JSON list, or names with commas."""
    texts = [found[NETWORKS_ANNOTATION] for found in annotations if NETWORKS_ANNOTATION in found]
    if not texts:
        return {}
    if all(text.startswith("[") for text in texts):
        entries: list[Any] = [entry for text in texts for entry in json.loads(text)]
        return {NETWORKS_ANNOTATION: json.dumps(entries, separators=(",", ":"))}
    return {NETWORKS_ANNOTATION: ", ".join(texts)}
