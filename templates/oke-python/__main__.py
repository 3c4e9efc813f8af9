"""A cluster with GPU nodes and an RDMA fabric at Oracle, and a ConfigMap with what jobs must carry to use it."""

import pulumi
import pulumi_kubernetes as k8s

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    GpuCluster,
    GpuClusterArgs,
    OkeClusterArgs,
    OkePoolArgs,
    RangesArgs,
)
from gpu_fabric.components.args import ApiEndpointArgs

config = pulumi.Config()
pool = OkePoolArgs(
    name="gpu",
    shape=config.require("shape"),
    nodes=config.require_int("nodes"),
    availability_domain=config.require("availabilityDomain"),
    image_id=config.require("imageId"),
)
cluster = GpuCluster(
    "gpu",
    GpuClusterArgs(
        oke=OkeClusterArgs(
            name=f"{pulumi.get_project()}-{pulumi.get_stack()}",
            region=config.require("region"),
            compartment_id=config.require("compartmentId"),
            tenancy_id=config.require("tenancyId"),
            version=config.require("kubernetesVersion"),
            pools=[pool],
            ranges=RangesArgs(
                pods=config.require("podRange"),
                services=config.require("serviceRange"),
                nodes=config.require("nodeRange"),
            ),
            endpoint=ApiEndpointArgs(public=True, allowed=config.require("apiRanges").split(",")),
            # In production True: some changes replace the whole cluster.
            protect=False,
        ),
        fabric=FabricArgs(addressing=AddressingArgs(supernet=config.require("supernet"))),
        # Release line, charts and operators, as in the section `software` of a stack file.
        software={"releaseLine": "26.7", **(config.get_object("software") or {})},
    ),
)

# A resource of your own: `gpu-fabric attach --contract` reads it, to add the fabric to the manifest of a job. A
# workload of this program gets the fabric by the option transforms=[fabric_transform(cluster.contract)].
k8s.core.v1.ConfigMap(
    "contract",
    metadata={"name": "fabric-contract", "namespace": "default"},
    data={"fabric.json": pulumi.Output.json_dumps(cluster.contract)},
    opts=pulumi.ResourceOptions(
        provider=k8s.Provider("cluster", kubeconfig=cluster.kubeconfig),
        depends_on=[cluster],
    ),
)
pulumi.export("fabric", cluster.contract)
pulumi.export("kubeconfig", cluster.kubeconfig)
