"""A cluster with GPU nodes and an RDMA fabric at DigitalOcean, and a ConfigMap with what jobs must carry to use it."""

import pulumi
import pulumi_kubernetes as k8s

from gpu_fabric.components import DoksClusterArgs, DoksPoolArgs, GpuCluster, GpuClusterArgs, RangesArgs

config = pulumi.Config()
cluster = GpuCluster(
    "gpu",
    GpuClusterArgs(
        doks=DoksClusterArgs(
            name=f"{pulumi.get_project()}-{pulumi.get_stack()}",
            token=config.require_secret("token"),
            region=config.require("region"),
            version=config.require("kubernetesVersion"),
            pools=[DoksPoolArgs(name="gpu", shape=config.require("shape"), nodes=config.require_int("nodes"))],
            ranges=RangesArgs(
                pods=config.require("podRange"),
                services=config.require("serviceRange"),
                nodes=config.require("nodeRange"),
            ),
            # In production True: some changes replace the whole cluster.
            protect=False,
        ),
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
