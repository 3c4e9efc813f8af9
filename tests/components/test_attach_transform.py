"""Workloads of a Pulumi program: the transform attaches the fabric to those that ask for GPUs, and to no other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pulumi
import pytest
from attached_pods import NETWORKS
from pulumi.runtime import rpc

from components.rdma.attach import fabric_transform
from gpu_fabric.attach.attachment import Wishes, attach, detach
from gpu_fabric.attach.stamp import STAMP
from gpu_fabric.contract import FabricContract
from gpu_fabric.prepare import prepare_stack

pytestmark = pytest.mark.components


@pytest.fixture(scope="module")
def contract() -> FabricContract:
    return prepare_stack("dev", Path(__file__).parents[2]).workload


def deployment(gpus: int | None, **container: Any) -> dict[str, Any]:
    asked = {} if gpus is None else {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "model"},
        "spec": {"template": {"spec": {"containers": [{"name": "main", **asked, **container}]}}},
    }


def transformed(
    contract: FabricContract,
    properties: Any,
    wishes: Wishes | None = None,
    type_: str = "kubernetes:apps/v1:Deployment",
) -> Any:
    """What the engine is told instead of the properties; None where nothing changes."""
    arguments = pulumi.ResourceTransformArgs(
        custom=True, type_=type_, name="model", props=properties, opts=pulumi.ResourceOptions(protect=True)
    )
    result: Any = fabric_transform(contract, wishes)(arguments)
    assert result is None or result.opts.protect
    return None if result is None else result.props


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
    """A property that was an output, once it is known."""

    value: Any
    secret: bool


def known_later(
    contract: FabricContract, outputs: dict[str, Callable[[Any], Any]], wishes: Wishes | None = None
) -> Any:
    """The properties of a Deployment of which some are outputs, once all are known; None where nothing changes."""

    async def run() -> Any:
        properties = deployment(gpus=8)
        properties |= {key: make(properties[key]) for key, make in outputs.items()}
        result = transformed(contract, properties, wishes)
        return result and {
            key: Known(await value.future(), await value.is_secret()) if isinstance(value, pulumi.Output) else value
            for key, value in result.items()
        }

    return asyncio.run(run())


def test_a_pod_template_that_waits_for_other_resources_is_attached_once_they_are_there(
    contract: FabricContract,
) -> None:
    result = known_later(contract, {"spec": pulumi.Output.from_input, "metadata": pulumi.Output.from_input})

    assert main_container({"spec": result["spec"].value})["resources"]["requests"]["nvidia.com/rail_15"] == "1"
    assert not result["spec"].secret


def test_a_name_is_known_in_a_preview_even_where_the_pod_template_is_not(contract: FabricContract) -> None:
    result = known_later(contract, {"spec": pulumi.Output.from_input})

    assert result["metadata"] == {"name": "model"}


def test_a_queue_is_written_where_the_pod_template_waits(contract: FabricContract) -> None:
    result = known_later(contract, {"spec": pulumi.Output.from_input}, Wishes(queue="team-a"))

    assert result["metadata"].value["labels"] == {"kueue.x-k8s.io/queue-name": "team-a"}
    assert stamp_of({"spec": result["spec"].value})["queue"] == "team-a"


@pytest.mark.parametrize("make", [pulumi.Output.secret, rpc.wrap_rpc_secret])
def test_what_holds_a_secret_stays_secret(contract: FabricContract, make: Make) -> None:
    result = known_later(contract, {"spec": make})

    assert result["spec"].secret
    assert NETWORKS in result["spec"].value["template"]["metadata"]["annotations"]
    assert result["metadata"] == {"name": "model"}


def test_what_cannot_be_attached_stops_the_program_with_every_reason(contract: FabricContract) -> None:
    properties = deployment(gpus=8)
    properties["metadata"]["namespace"] = "research"
    with pytest.raises(pulumi.RunError, match="the fabric is not offered in research"):
        transformed(contract, properties)
