"""A cluster with a fabric at DigitalOcean; the API token is a secret of the program's configuration."""

import pulumi

from gpu_fabric.components import DoksClusterArgs, DoksPoolArgs, GpuCluster, GpuClusterArgs, RangesArgs

cluster = GpuCluster(
    "train",
    GpuClusterArgs(
        doks=DoksClusterArgs(
            token=pulumi.Config().require_secret("token"),
            region="nyc2",
            version="1.36",
            pools=[DoksPoolArgs(name="gpu", shape="gpu-h200x8-1128gb-fabric-contracted", nodes=2)],
            ranges=RangesArgs(pods="10.156.0.0/16", services="10.157.0.0/19", nodes="10.158.0.0/20"),
        ),
    ),
)
pulumi.export("contract", cluster.contract)
pulumi.export("kubeconfig", cluster.kubeconfig)
