"""Workloads of a Pulumi program: the transform attaches the fabric to those that ask for GPUs, and to no other."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pulumi
import pytest
from attached_pods import NETWORKS
from pulumi.resource import DependencyResource
from pulumi.runtime import rpc, settings

from components.rdma.attach import fabric_transform
from gpu_fabric.attach.attachment import Wishes, attach, detach
from gpu_fabric.attach.stamp import STAMP
from gpu_fabric.contract import FabricContract
from gpu_fabric.prepare import prepare_stack

pytestmark = pytest.mark.components


@pytest.fixture(scope="module")
def contract() -> FabricContract:
    return prepare_stack("dev", Path(__file__).parents[2]).workload


@pytest.fixture(autouse=True)
def _forgotten_outputs() -> Iterator[None]:
    """An output that a test leaves unfinished would end the program of another one."""
    yield
    settings.SETTINGS.outputs.clear()


def deployment(gpus: int | None, **container: Any) -> dict[str, Any]:
    asked = {} if gpus is None else {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "model"},
        "spec": {"template": {"spec": {"containers": [{"name": "main", **asked, **container}]}}},
    }


def transformed(
    contract: Any,
    properties: Any,
    wishes: Wishes | None = None,
    type_: str = "kubernetes:apps/v1:Deployment",
) -> Any:
    """What the engine is told instead of the properties; None where nothing changes."""
    result = asyncio.run(result_of(fabric_transform(contract, wishes), properties, type_))
    assert result is None or result.opts is None
    return None if result is None else result.props


async def result_of(
    transform: Any, properties: Any, type_: str = "kubernetes:apps/v1:Deployment", **options: Any
) -> Any:
    """What a transform says to a resource."""
    opts = pulumi.ResourceOptions(**options)
    return await transform(
        pulumi.ResourceTransformArgs(custom=True, type_=type_, name="model", props=properties, opts=opts)
    )


def main_container(properties: Any) -> Any:
    return properties["spec"]["template"]["spec"]["containers"][0]


def test_a_workload_that_asks_for_gpus_gets_the_fabric(contract: FabricContract) -> None:
    # Numbers come from the engine as floats.
    result = transformed(contract, deployment(gpus=8.0))  # type: ignore[arg-type]

    assert NETWORKS in result["spec"]["template"]["metadata"]["annotations"]
    assert main_container(result)["resources"]["requests"]["nvidia.com/rail_15"] == "1"
    assert result["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def stamp_of(properties: Any) -> Any:
    return json.loads(properties["spec"]["template"]["metadata"]["annotations"][STAMP])


@pytest.mark.parametrize("wishes", [None, Wishes(("main",)), Wishes(queue="team-a")])
def test_a_workload_gets_the_stamp_that_the_command_writes(contract: FabricContract, wishes: Wishes | None) -> None:
    stamping = replace(wishes or Wishes(), stamped=True)
    (commanded,) = attach([deployment(gpus=8)], contract, stamping).documents
    result = transformed(contract, deployment(gpus=8), wishes)

    assert stamp_of(result) == stamp_of(commanded)
    assert detach([result]) == (deployment(gpus=8),)
    assert attach([result], contract, stamping).documents == (result,)


def test_every_other_resource_stays_as_it_is(contract: FabricContract) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "spec": {}}
    unknown = {"apiVersion": "a.example/v1", "kind": "Thing", "spec": {"containers": [{"name": "main"}]}}

    assert transformed(contract, deployment(gpus=None)) is None
    assert transformed(contract, service, type_="kubernetes:core/v1:Service") is None
    assert transformed(contract, unknown, type_="kubernetes:a.example/v1:Thing") is None
    assert transformed(contract, {"image": "a"}, type_="docker:index/container:Container") is None


def test_a_named_container_gets_the_fabric_without_asking(contract: FabricContract) -> None:
    result = transformed(contract, deployment(gpus=None), Wishes(("main",)))

    assert main_container(result)["resources"]["limits"]["nvidia.com/gpu"] == "8"


def test_values_of_other_resources_are_passed_on(contract: FabricContract) -> None:
    image, mode = object(), object()
    env = [{"name": "NCCL_IB_TC", "value": mode}]
    result = transformed(contract, deployment(gpus=8, image=image, env=env))

    assert main_container(result)["image"] is image
    assert main_container(result)["env"][0] == {"name": "NCCL_IB_TC", "value": mode}


Make = Callable[[Any], Any]


@dataclass(frozen=True)
class Known:
    """A property that was an output, once it is known; the value of an unknown one is None."""

    value: Any
    secret: bool


async def settled(properties: Any) -> Any:
    """Properties whose outputs are known."""
    return properties and {
        key: Known(await value.future(), await value.is_secret()) if isinstance(value, pulumi.Output) else value
        for key, value in properties.items()
    }


def known_later(contract: Any, outputs: dict[str, Callable[[Any], Any]], wishes: Wishes | None = None) -> Any:
    """The properties of a Deployment of which some are outputs, once all are known; None where nothing changes."""

    async def run() -> Any:
        properties = deployment(gpus=8)
        properties |= {key: make(properties[key]) for key, make in outputs.items()}
        result = await result_of(fabric_transform(contract, wishes), properties)
        return await settled(result and result.props)

    return asyncio.run(run())


def test_a_pod_template_that_waits_for_other_resources_is_attached_once_they_are_there(
    contract: FabricContract,
) -> None:
    result = known_later(contract, {"spec": pulumi.Output.from_input, "metadata": pulumi.Output.from_input})

    assert main_container(result)["resources"]["requests"]["nvidia.com/rail_15"] == "1"


def unknown(_: Any = None) -> Any:
    """What a preview does not know."""
    return pulumi.Output(set(), asyncio.sleep(0, pulumi.UNKNOWN), asyncio.sleep(0, False))


def test_what_a_preview_does_not_know_of_the_pod_template_stays_unknown_and_the_name_known(
    contract: FabricContract,
) -> None:
    result = known_later(contract, {"spec": unknown})

    assert result["spec"] == Known(None, secret=False)
    assert result["metadata"] == {"name": "model"}


@pytest.mark.parametrize(
    "hide",
    [
        lambda spec: {"template": {"spec": {"containers": unknown()}}},
        lambda spec: {"template": {**spec["template"], "metadata": {"annotations": unknown()}}},
    ],
    ids=["containers", "annotations"],
)
def test_what_attaching_must_read_and_a_preview_does_not_know_leaves_a_selector_known(
    contract: FabricContract, hide: Make
) -> None:
    result = known_later(contract, {"spec": lambda spec: {**hide(spec), "selector": {"matchLabels": {"app": "a"}}}})

    assert result["spec"]["template"] is pulumi.UNKNOWN
    assert result["spec"]["selector"] == {"matchLabels": {"app": "a"}}


def test_a_queue_is_written_where_the_pod_template_waits(contract: FabricContract) -> None:
    result = known_later(contract, {"spec": pulumi.Output.from_input}, Wishes(queue="team-a"))

    assert result["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team-a"}
    assert stamp_of(result)["queue"] == "team-a"


@pytest.mark.parametrize("make", [pulumi.Output.secret, rpc.wrap_rpc_secret])
def test_what_holds_a_secret_stays_secret(contract: FabricContract, make: Make) -> None:
    result = known_later(contract, {"spec": make})

    assert result["spec"].secret
    assert NETWORKS in result["spec"].value["template"]["metadata"]["annotations"]
    assert result["metadata"] == {"name": "model"}


def nested_secret(spec: Any) -> Any:
    """A pod template whose list of containers is a secret."""
    return {"template": {"spec": {"containers": pulumi.Output.secret(spec["template"]["spec"]["containers"])}}}


def test_a_secret_that_must_be_read_makes_the_pod_template_secret(contract: FabricContract) -> None:
    result = known_later(contract, {"spec": nested_secret})

    assert result["spec"].secret
    assert NETWORKS in result["spec"].value["template"]["metadata"]["annotations"]


def test_what_cannot_be_attached_is_refused_before_it_is_created_or_changed(contract: FabricContract) -> None:
    properties = deployment(gpus=8)
    properties["metadata"]["namespace"] = "research"

    hooks = refusals(contract, properties)

    assert set(hooks) == {"before_create", "before_update"}
    for hook in hooks.values():
        assert hook.opts.on_dry_run
        with pytest.raises(pulumi.RunError, match="the fabric is not offered in research"):
            hook.callback(None)


def refusals(contract: Any, properties: Any, transforms: int = 1) -> dict[str, Any]:
    """The hooks that refuse a resource, by when the engine calls them."""

    async def run() -> Any:
        given, hooks = properties, None
        for _ in range(transforms):
            with patch("pulumi.resource_hooks.register_resource_hook"):
                result = await result_of(fabric_transform(contract), given, hooks=hooks)
            if result is not None:
                hooks = result.opts.hooks
                given = {**result.props, "metadata": await result.props["metadata"].future()}
        return hooks

    found = {key: value for key, value in vars(asyncio.run(run())).items() if value}
    return {key: hook for key, (hook,) in found.items()}


def test_two_transforms_refuse_a_resource_once(contract: FabricContract) -> None:
    """An engine has each hook once by its name."""
    properties = deployment(gpus=8)
    properties["metadata"]["namespace"] = "research"

    assert set(refusals(contract, properties, transforms=2)) == {"before_create", "before_update"}


def as_document(contract: FabricContract) -> Any:
    """The contract as a stack's output; the engine sends every number as a floating-point one."""
    text = contract.model_dump_json(by_alias=True, exclude_none=True)
    return json.loads(text, parse_int=float)


@pytest.mark.parametrize(
    "given",
    [
        as_document,
        lambda contract: {"fabric": as_document(contract)},
        lambda contract: contract.model_dump_json(by_alias=True, exclude_none=True),
    ],
    ids=["a stack's output", "all outputs", "JSON"],
)
@pytest.mark.parametrize("make", [lambda value: value, pulumi.Output.from_input], ids=["plain", "output"])
def test_every_form_of_the_contract_attaches_the_same(contract: FabricContract, given: Make, make: Make) -> None:
    async def run(value: Callable[[], Any]) -> Any:
        return (await result_of(fabric_transform(value()), deployment(gpus=8))).props

    assert asyncio.run(run(lambda: make(given(contract)))) == asyncio.run(run(lambda: contract))


def test_a_secret_contract_makes_the_pod_template_secret(contract: FabricContract) -> None:
    async def run() -> Any:
        transform = fabric_transform(pulumi.Output.secret(as_document(contract)))
        return await settled((await result_of(transform, deployment(gpus=8))).props)

    result = asyncio.run(run())

    assert result["spec"].secret
    assert result["metadata"] == {"name": "model"}


@dataclass(frozen=True)
class Workload:
    """A workload before, and after attaching a contract that a preview does not know."""

    type_: str
    content: dict[str, Any]
    unknown: set[str]


POD = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}
NAMED = {"name": "model", "namespace": "default"}
WORKLOADS = {
    "Pod": Workload(
        "kubernetes:core/v1:Pod",
        {"apiVersion": "v1", "kind": "Pod", "metadata": NAMED, "spec": POD},
        {"spec", "metadata.annotations", "metadata.labels"},
    ),
    "Deployment": Workload(
        "kubernetes:apps/v1:Deployment",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": NAMED,
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": {"spec": POD}},
        },
        {"spec.template", "spec.strategy", "metadata.labels"},
    ),
    "MPIJob": Workload(
        "kubernetes:kubeflow.org/v2beta1:MPIJob",
        {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": NAMED,
            "spec": {"slotsPerWorker": 8, "mpiReplicaSpecs": {"Worker": {"template": {"spec": POD}}}},
        },
        {"spec.mpiReplicaSpecs", "metadata.labels"},
    ),
    "Volcano's Job": Workload(
        "kubernetes:batch.volcano.sh/v1alpha1:Job",
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": NAMED,
            "spec": {"minAvailable": 2, "tasks": [{"name": "worker", "template": {"spec": POD}}]},
        },
        {"spec.tasks", "spec.queue", "metadata.labels"},
    ),
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_contract_that_a_preview_does_not_know_leaves_known_what_it_does_not_change(kind: str) -> None:
    workload = WORKLOADS[kind]

    async def run() -> Any:
        return (await result_of(fabric_transform(unknown()), workload.content, workload.type_)).props

    result = asyncio.run(run())

    hidden = {
        key if value is pulumi.UNKNOWN else f"{key}.{inner}"
        for key, value in result.items()
        for inner in (value if isinstance(value, dict) else [""])
        if value is pulumi.UNKNOWN or (isinstance(value, dict) and value[inner] is pulumi.UNKNOWN)
    }
    assert hidden == workload.unknown
    assert NAMED.items() <= result["metadata"].items()


def test_only_what_asks_for_accelerators_waits_for_a_contract() -> None:
    async def run() -> Any:
        transform = fabric_transform(pulumi.Output.from_input(asyncio.get_running_loop().create_future()))
        service = {"apiVersion": "v1", "kind": "Service", "spec": {}}
        return [
            await asyncio.wait_for(result_of(transform, deployment(gpus=None)), timeout=60),
            await asyncio.wait_for(result_of(transform, service, "kubernetes:core/v1:Service"), timeout=60),
        ]

    assert asyncio.run(run()) == [None, None]


def test_a_workload_depends_on_what_its_contract_depends_on(contract: FabricContract) -> None:
    async def run() -> Any:
        ready, before = DependencyResource("urn:ready"), DependencyResource("urn:before")
        given = pulumi.Output({ready}, asyncio.sleep(0, as_document(contract)), asyncio.sleep(0, True))
        result = await result_of(fabric_transform(given), deployment(gpus=8), depends_on=[before], protect=True)
        assert result.opts.protect
        return [await resource.urn.future() for resource in result.opts.depends_on]

    assert asyncio.run(run()) == ["urn:before", "urn:ready"]


WRONG = {
    "nothing": (None, "there is no `fabric` with a schemaVersion"),
    "another output": ({"networks": ["rail-00"]}, "there is no `fabric` with a schemaVersion"),
    "a newer version": ({"schemaVersion": "v2"}, "schemaVersion 'v2' is not known here; known is 'v1'"),
    "a part of it": ({"schemaVersion": "v1", "stack": "dev"}, "wrong or missing: shape"),
    "no JSON": ("dev", "no JSON"),
}


@pytest.mark.parametrize(("value", "reason"), WRONG.values(), ids=WRONG)
def test_what_is_not_a_contract_is_refused_with_the_remedy(value: Any, reason: str) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        fabric_transform(value)

    assert reason in str(refused.value)
    assert "[ATT004]\n  -> it takes the output `contract` of a GpuFabric" in str(refused.value)


@pytest.mark.parametrize(("value", "reason"), WRONG.values(), ids=WRONG)
def test_what_is_no_contract_once_it_is_known_is_refused_at_the_workload(value: Any, reason: str) -> None:
    async def run() -> Any:
        with patch("pulumi.resource_hooks.register_resource_hook"):
            return await result_of(fabric_transform(pulumi.Output.from_input(value)), deployment(gpus=8))

    (hook,) = asyncio.run(run()).opts.hooks.before_create
    with pytest.raises(pulumi.RunError, match=re.escape(reason)):
        hook.callback(None)


def test_an_unknown_kind_that_asks_for_gpus_is_said(contract: FabricContract) -> None:
    thing = {"apiVersion": "a.example/v1", "kind": "Thing", "spec": POD}
    with patch("pulumi.log.warn") as warn:
        assert transformed(contract, thing, type_="kubernetes:a.example/v1:Thing") is None

    (said,) = warn.call_args.args
    assert said.startswith("model: gets no fabric: Thing of a.example/v1 makes pods (spec.containers)")
    assert said.endswith("[ATT006]")
