"""A Pulumi program of somebody who has installed the wheel: a planned fabric on a cluster of their own.

Pulumi's mocks take the place of its engine. Prints, as JSON, what was registered.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pulumi

import gpu_fabric.components
from gpu_fabric.components import ClusterHandle, fabric_transform, kubernetes_provider, register_steps
from gpu_fabric.components.automation import FabricStack
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file

registered: list[tuple[str, str]] = []
recorded: set[str] = set()


class Engine(pulumi.runtime.Mocks):
    """Answers every registration with its inputs."""

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        registered.append((args.typ, args.name))
        # A secret, as the engine is sent one.
        if "__provider" in args.inputs:
            recorded.add(base64.b64decode(args.inputs["__provider"]["value"]).decode("latin-1"))
        return f"{args.name}-id", args.inputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        return {}


pulumi.runtime.set_mocks(Engine(), preview=True)
plan = prepare(read_file(Path(sys.argv[1])), for_up=False).plan


@pulumi.runtime.test
def program() -> None:
    owner = pulumi.ComponentResource("example:cluster:Cluster", "mine")
    kubeconfig, identity = pulumi.Output.secret("the kubeconfig"), pulumi.Output.from_input("the cluster's own id")
    provider = kubernetes_provider("mine-kubernetes", kubeconfig, None, identity, owner)
    register_steps(plan, ClusterHandle(provider, identity, kubeconfig, context=None))


program()
assert callable(fabric_transform(plan.workload))
assert FabricStack(Path(sys.argv[1]), lambda plan: None).plan() == plan
print(
    json.dumps(
        {
            "registered": registered,
            "modules": sorted(name for name in sys.modules if name.partition(".")[0] == "components"),
            "recorded": sorted(recorded),
            "file": gpu_fabric.components.__file__,
        }
    )
)
