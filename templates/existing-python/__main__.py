"""An RDMA fabric on the cluster of a kubeconfig, and a ConfigMap with what jobs must carry to use it."""

import pulumi
import pulumi_kubernetes as k8s

from gpu_fabric.components import AddressingArgs, FabricArgs, GpuFabric, GpuFabricArgs, GpuPoolArgs, RangesArgs

config = pulumi.Config()
kubeconfig = config.require_secret("kubeconfig")
fabric = GpuFabric(
    "fabric",
    GpuFabricArgs(
        kubeconfig=kubeconfig,
        pools=[GpuPoolArgs(name="gpu", shape=config.require("shape"), nodes=config.require_int("nodes"))],
        ranges=RangesArgs(
            pods=config.require("podRange"),
            services=config.require("serviceRange"),
            nodes=config.require("nodeRange"),
        ),
        fabric=FabricArgs(addressing=AddressingArgs(supernet=config.require("supernet"))),
        # Release line, charts and operators, as in the section `software` of a stack file.
        software={"releaseLine": "26.7", **(config.get_object("software") or {})},
    ),
)

# A resource of your own: `gpu-fabric attach --contract` reads it, to add the fabric to the manifest of a job. A
# workload of this program gets the fabric by the option transforms=[fabric_transform(fabric.contract)].
k8s.core.v1.ConfigMap(
    "contract",
    metadata={"name": "fabric-contract", "namespace": "default"},
    data={"fabric.json": pulumi.Output.json_dumps(fabric.contract)},
    opts=pulumi.ResourceOptions(provider=k8s.Provider("cluster", kubeconfig=kubeconfig)),
)
pulumi.export("fabric", fabric.contract)
