"""Workloads of a Pulumi program: the transform attaches the fabric to those that ask for GPUs, and to no other."""

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
from pulumi.runtime import rpc, settings
from stack_plans import stack_plan

from components.rdma.attach import fabric_transform
from gpu_fabric.attach.attachment import AttachOptions, attach, detach
from gpu_fabric.attach.stamp import STAMP
from gpu_fabric.contract import FabricContract

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
Make = Callable[[Any], Any]


@pytest.fixture(scope="module")
def contract() -> FabricContract:
    return stack_plan("dev", Path(__file__).parents[2]).workload


@pytest.fixture(autouse=True)
def _forgotten_outputs() -> Iterator[None]:
    """An output that a test leaves unfinished would end the program of another one."""
    yield
    settings.SETTINGS.outputs.clear()


def asking(gpus: float | None) -> dict[str, Any]:
    """A pod; numbers come from the engine as floats."""
    asked = {} if gpus is None else {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {"containers": [{"name": "main", **asked}]}


def deployment(gpus: float | None = 8.0, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "model", "namespace": namespace},
        "spec": {"template": {"spec": asking(gpus)}, **spec},
    }


async def result_of(transform: Any, properties: Any, type_: str = DEPLOYMENT, **options: Any) -> Any:
    """What a transform says to a resource."""
    opts = pulumi.ResourceOptions(**options)
    return await transform(
        pulumi.ResourceTransformArgs(custom=True, type_=type_, name="model", props=properties, opts=opts)
    )


def transformed(contract: Any, properties: Any, wishes: AttachOptions | None = None, type_: str = DEPLOYMENT) -> Any:
    """What the engine is told instead of the properties; None where nothing changes."""
    result = asyncio.run(result_of(fabric_transform(contract, wishes), properties, type_))
    assert result is None or result.opts is None
    return None if result is None else result.props


def stamp_of(properties: Any) -> Any:
    return json.loads(properties["spec"]["template"]["metadata"]["annotations"][STAMP])


@pytest.mark.parametrize("wishes", [None, AttachOptions(("main",)), AttachOptions(queue="team-a")])
def test_a_workload_that_asks_for_gpus_gets_the_fabric_and_the_stamp_that_the_command_writes(
    contract: FabricContract, wishes: AttachOptions | None
) -> None:
    stamping = replace(wishes or AttachOptions(), stamped=True)
    (commanded,) = attach([deployment(gpus=8)], contract, stamping).documents
    result = transformed(contract, deployment(None if wishes and wishes.containers else 8), wishes)

    assert NETWORKS in result["spec"]["template"]["metadata"]["annotations"]
    assert result["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    whole = transformed(contract, deployment(), wishes)
    assert stamp_of(whole) == stamp_of(commanded)
    assert detach([whole]) == (deployment(),)
    assert attach([whole], contract, stamping).documents == (whole,)


def test_every_other_resource_stays_as_it_is_and_an_unknown_kind_that_asks_for_gpus_is_said(
    contract: FabricContract,
) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "spec": {}}
    thing = {"apiVersion": "a.example/v1", "kind": "Thing", "spec": asking(None)}
    with patch("pulumi.log.warn") as warn:
        assert transformed(contract, deployment(gpus=None)) is None
        assert transformed(contract, service, type_="kubernetes:core/v1:Service") is None
        assert transformed(contract, thing, type_="kubernetes:a.example/v1:Thing") is None
        assert transformed(contract, {"image": "a"}, type_="docker:index/container:Container") is None
        assert not warn.called
        assert transformed(contract, {**thing, "spec": asking(8)}, type_="kubernetes:a.example/v1:Thing") is None

    (said,) = warn.call_args.args
    assert said.startswith("model: gets no fabric: error ATT006 kind: Thing of a.example/v1 makes pods")


# What is known later


@dataclass(frozen=True)
class Known:
    """A property that was an output, once it is known; the value of an unknown one is None."""

    value: Any
    secret: bool


async def settled(properties: Any) -> Any:
    """Properties whose outputs are known."""
    return {
        key: Known(await value.future(), await value.is_secret()) if isinstance(value, pulumi.Output) else value
        for key, value in properties.items()
    }


def unknown(_: Any = None) -> Any:
    """What a preview does not know."""
    return pulumi.Output(set(), asyncio.sleep(0, pulumi.UNKNOWN), asyncio.sleep(0, False))


def known_later(contract: Make, spec: Make, wishes: AttachOptions | None = None) -> Any:
    """The properties of a Deployment with a contract and a `spec` that are perhaps outputs, once all are known."""

    async def run() -> Any:
        properties = deployment()
        properties["spec"] = spec(properties["spec"])
        return await settled((await result_of(fabric_transform(contract(None), wishes), properties)).props)

    return asyncio.run(run())


def test_a_pod_template_that_waits_is_attached_and_its_queue_written_once_it_is_there(contract: FabricContract) -> None:
    result = known_later(lambda _: contract, pulumi.Output.from_input, AttachOptions(queue="team-a"))

    assert NETWORKS in result["spec"]["template"]["metadata"]["annotations"]
    assert result["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team-a"}
    assert stamp_of(result)["queue"] == "team-a"


def test_what_a_preview_does_not_know_of_the_pod_template_stays_unknown_and_the_name_known(
    contract: FabricContract,
) -> None:
    result = known_later(lambda _: contract, unknown)

    assert result["spec"] == Known(None, secret=False)
    assert result["metadata"] == deployment()["metadata"]


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
    selector = {"matchLabels": {"app": "a"}}
    result = known_later(lambda _: contract, lambda spec: {**hide(spec), "selector": selector})

    assert result["spec"]["template"] is pulumi.UNKNOWN
    assert result["spec"]["selector"] == selector


def nested_secret(spec: Any) -> Any:
    """A pod template whose list of containers is a secret."""
    return {"template": {"spec": {"containers": pulumi.Output.secret(spec["template"]["spec"]["containers"])}}}


@pytest.mark.parametrize("make", [pulumi.Output.secret, rpc.wrap_rpc_secret, nested_secret, None])
def test_what_is_read_of_a_secret_makes_the_pod_template_secret_and_nothing_else(
    contract: FabricContract, make: Make | None
) -> None:
    plain = lambda value: value  # noqa: E731
    given = (lambda _: contract) if make else (lambda _: pulumi.Output.secret(as_document(contract)))
    result = known_later(given, make or plain)

    assert result["spec"].secret
    assert NETWORKS in result["spec"].value["template"]["metadata"]["annotations"]
    assert result["metadata"] == deployment()["metadata"]


TASKS = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "model"},
    "spec": {"minAvailable": 2, "tasks": [{"name": "worker", "template": {"spec": asking(8)}}]},
}


@pytest.mark.parametrize(
    ("content", "type_", "hidden"),
    [
        (
            deployment(replicas=2, selector={"matchLabels": {"app": "a"}}),
            DEPLOYMENT,
            {"spec.template", "spec.strategy", "metadata.labels"},
        ),
        (TASKS, "kubernetes:batch.volcano.sh/v1alpha1:Job", {"spec.tasks", "spec.queue", "metadata.labels"}),
    ],
)
def test_a_contract_that_a_preview_does_not_know_leaves_known_what_it_does_not_change(
    content: dict[str, Any], type_: str, hidden: set[str]
) -> None:
    async def run() -> Any:
        return (await result_of(fabric_transform(unknown()), content, type_)).props

    result = asyncio.run(run())

    unknown_ones = {
        f"{key}.{inner}"
        for key, value in result.items()
        if isinstance(value, dict)
        for inner in value
        if value[inner] is pulumi.UNKNOWN
    }
    assert unknown_ones == hidden
    assert content["metadata"].items() <= result["metadata"].items()


def test_only_what_asks_for_accelerators_waits_for_a_contract() -> None:
    async def run() -> Any:
        transform = fabric_transform(pulumi.Output.from_input(asyncio.get_running_loop().create_future()))
        return await asyncio.wait_for(result_of(transform, deployment(gpus=None)), timeout=60)

    assert asyncio.run(run()) is None


# Contracts


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
    expected = known_later(lambda _: contract, lambda spec: spec)

    assert known_later(lambda _: make(given(contract)), lambda spec: spec) == expected


WRONG = {
    "nothing": (None, "there is no `fabric` with a schemaVersion"),
    "another output": ({"networks": ["rail-00"]}, "there is no `fabric` with a schemaVersion"),
    "a newer version": ({"schemaVersion": "v2"}, "schemaVersion 'v2' is not known here; known is 'v1'"),
    "a part of it": ({"schemaVersion": "v1", "stack": "dev"}, "wrong or missing: shape"),
    "no JSON": ("dev", "no JSON"),
}


@pytest.mark.parametrize(("value", "reason"), WRONG.values(), ids=WRONG)
def test_what_is_not_a_contract_is_refused_with_the_remedy_or_later_at_the_workload(value: Any, reason: str) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        fabric_transform(value)

    assert reason in str(refused.value)
    assert "\n  -> it takes the output `contract` of a GpuFabric" in str(refused.value)
    with pytest.raises(pulumi.RunError, match=re.escape(reason)):
        refusals(lambda: pulumi.Output.from_input(value), deployment())["before_create"].callback(None)


def refusals(contract: Callable[[], Any], properties: Any, transforms: int = 1) -> dict[str, Any]:
    """The hooks that refuse a resource, by when the engine calls them."""

    async def run() -> Any:
        given, hooks = properties, None
        for _ in range(transforms):
            with patch("pulumi.resource_hooks.register_resource_hook"):
                result = await result_of(fabric_transform(contract()), given, hooks=hooks)
            if result is not None:
                hooks = result.opts.hooks
                metadata = result.props["metadata"]
                given = {**result.props, "metadata": await pulumi.Output.from_input(metadata).future()}
        return hooks

    found = {key: value for key, value in vars(asyncio.run(run())).items() if value}
    return {key: hook for key, (hook,) in found.items()}


@pytest.mark.parametrize("transforms", [1, 2])
def test_what_cannot_be_attached_is_refused_once_before_it_is_created_or_changed(
    contract: FabricContract, transforms: int
) -> None:
    """An engine has each hook once by its name."""
    hooks = refusals(lambda: contract, deployment(namespace="research"), transforms)

    assert set(hooks) == {"before_create", "before_update"}
    for hook in hooks.values():
        assert hook.opts.on_dry_run
        with pytest.raises(pulumi.RunError, match="the fabric is not offered in research"):
            hook.callback(None)
